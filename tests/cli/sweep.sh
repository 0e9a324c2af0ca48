# sweep as a user sees it: folders, exit codes, messages. (What a run records is tests/mpi.)
. "$HIGHWATER_SOURCE/tests/helpers.sh"

cat >study.ini <<'INI'
[study]
name = small
question = does it run
workload = dense
[device]
backend = simulated
capacity = 64MiB
[point]
context = 16
width = 64
warmup = 1
repeats = 1
[sweep batch]
values = 1, 4, 100000
INI

# shellcheck disable=SC2086
expect 0 sweep study.ini $sweep_consent
[ "$(cat out)" = results/small.simulated/rows.csv ] || fail "prints $(cat out)"
for file in study.ini environment.json rows.csv events.log; do
    [ -s results/small.simulated/$file ] || fail "$file is missing"
done
has err "proves nothing about a language model"
has err "simulated 3/3 r-batch-100000-t1: oom in"
has err "3 of 3 runs made, 2 fitted, 1 failed"
[ "$(grep -c 'r-batch-' err)" -eq 3 ] || fail "not one line a run"

# the folder is never written twice
cp results/small.simulated/rows.csv before
# shellcheck disable=SC2086
expect 4 sweep study.ini $sweep_consent
is_empty out
cmp -s results/small.simulated/rows.csv before || fail "rows were touched"
# shellcheck disable=SC2086
expect 0 sweep study.ini -q --results here/deep $sweep_consent
is_empty err
[ -s here/deep/rows.csv ] || fail "--results is not the folder itself"
echo mine >file
# shellcheck disable=SC2086
expect 4 sweep study.ini -o file $sweep_consent
[ "$(cat file)" = mine ] || fail "a file was touched"

# every run failed: exit 3, and the rows are there
# shellcheck disable=SC2086
expect 3 sweep study.ini -o none --set 'sweep batch.values=100000' $sweep_consent
has err "1 of 1 run made, 0 fitted, 1 failed"
[ "$(grep -c ',"no",' none/rows.csv)" -ge 1 ] || fail "no closing row says no"

# what is asked for on the command line is in the frozen study
# shellcheck disable=SC2086
expect 0 sweep study.ini -o set --set point.width=32 --set 'sweep batch.values=1' $sweep_consent
grep -q '32' set/study.ini || fail "an override is not in the frozen study"

# refused before anything is created
refused() {
    code=$1
    shift
    # shellcheck disable=SC2086
    expect "$code" sweep "$@" $sweep_consent
    is_empty out
    [ ! -e refused ] || fail "sweep $*: created something"
}
refused 1 missing.ini -o refused
refused 1 study.ini -o refused --set point.widht=32
has err width
refused 1 study.ini -o refused --set nonsense
refused 1 study.ini -o refused --set 'sweep batch.values='
if [ "$(id -u)" = 0 ]; then
    expect 1 sweep study.ini -o refused
    has err root
    [ ! -e refused ] || fail "a refused study created something"
fi
if [ -z "$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' 2>/dev/null)" ]; then
    refused 2 study.ini -o refused --set device.backend=cuda --set device.capacity=
    [ -s err ] || fail "no reason was given"
fi

# the report of what was just run
expect 0 report results/small.simulated
has out "computed (nothing here was read from a device): study small"
has out "largest value that fits in every run: 4; smallest that does not: 100000"
hasnt out observed:
mv out folder
expect 0 report results/small.simulated/rows.csv
tail -n +2 out >one
tail -n +2 folder >other
cmp -s one other || fail "a folder and its rows.csv give different reports"
expect 0 report --help
has out "(text; the others not yet)"
expect 1 report nowhere
is_empty out
has err "nowhere: there is no such folder"
expect 1 report results/small
has err "results/small: there is no such folder; there is results/small.simulated"
expect 1 status results/small
has err "results/small: there is no such folder; there is results/small.simulated"
mkdir results/small
expect 1 report results/small/
has err "results/small/: no rows.csv in it; there is results/small.simulated"
expect 1 status results/small/
has err "results/small/: no study.ini in it; there is results/small.simulated"
rmdir results/small
: >empty.csv
expect 1 report empty.csv
is_empty out
has err "empty.csv: not a table of highwater"
