# What is installed runs from its prefix, without the build.
. "$HIGHWATER_SOURCE/tests/helpers.sh"

cmake --install "$HIGHWATER_BUILD" --prefix "$PWD/prefix" >install.log 2>&1 ||
    fail "cmake --install: $(cat install.log)"
for program in highwater highwater-rank highwater-workload; do
    [ -x prefix/bin/$program ] || fail "$program is not installed"
done
[ "$(ls prefix/bin | wc -l)" -eq 3 ] || fail "installed as well: $(ls prefix/bin)"
[ -s prefix/share/highwater/sweeps/quickstart.ini ] || fail "the shipped studies are missing"

# moved elsewhere and called through a link by a bare name: programs find each other
mv prefix moved
mkdir links
ln -s ../moved/bin/highwater links/highwater
HIGHWATER_BIN=$PWD/links
expect 0 --version
expect 0 plan moved/share/highwater/sweeps/quickstart.ini --capacity 24GiB
# shellcheck disable=SC2086
PATH="$PWD/links:$PATH" highwater sweep moved/share/highwater/sweeps/quickstart.ini \
    --results rows --set device.backend=simulated --set device.capacity=24GiB \
    --set 'sweep batch.values=1' --set 'sweep context.values=512' \
    --set 'sweep width.values=64' $sweep_consent >out 2>err || fail "the installed sweep failed"
[ "$(cat out)" = rows/rows.csv ] || fail "prints $(cat out)"

# the test hook is in no installed program
! grep -aq HIGHWATER_TEST_CHILD moved/bin/highwater-rank || fail "a test hook is installed"
