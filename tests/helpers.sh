# What the test scripts share; sourced as . "$HIGHWATER_SOURCE/tests/helpers.sh".

fail() {
    echo "FAIL: $*"
    [ ! -s err ] || sed 's/^/  stderr: /' err
    exit 1
}
# is_slow: programs under the address sanitizer, which check an allocator after each operation: what
# takes them minutes is left to the other build.
is_slow() { nm "$HIGHWATER_BIN/highwater" | grep -q __asan_init; }
# expect CODE ARGUMENT…: highwater with these arguments ends with this code; leaves out and err.
expect() {
    wanted=$1
    shift
    code=0
    "$HIGHWATER_BIN/highwater" "$@" >out 2>err </dev/null || code=$?
    [ "$code" -eq "$wanted" ] || fail "highwater $*: exit code $code, not $wanted"
}
has() { grep -qF -- "$2" "$1" || fail "$1 lacks '$2' after highwater: $(cat "$1")"; }
hasnt() { ! grep -qF -- "$2" "$1" || fail "$1 has '$2'"; }
is_empty() { [ ! -s "$1" ] || fail "$1 is not empty: $(cat "$1")"; }

# Consent to mpirun as root, for sweep and for measure.
sweep_consent= measure_consent=
if [ "$(id -u)" = 0 ]; then
    sweep_consent="--set launch.allow_root=yes"
    measure_consent="--allow-root"
fi
