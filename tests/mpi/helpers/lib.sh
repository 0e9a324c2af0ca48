# Helpers of the scripts in tests/mpi; sourced by each of them.
#
# The sweeps run the programs with test hooks: HIGHWATER_TEST_CHILD names another program to run
# as the child. Everything a sweep starts carries a mark in its environment, so that whatever is
# left behind can be found wherever it has gone.
bin=$HIGHWATER_TEST_BIN
mark=highwater-test-$$

fail()
{
    echo "FAILED: $*" >&2
    exit 1
}

# study FILE [LINE…]: a small simulated study; the lines are put behind [device].
study()
{
    file=$1
    shift
    {
        printf '%s\n' '[study]' 'name = test' 'question = test' 'workload = dense' \
            'timeout = 20s' '[launch]' 'allow_root = yes' '[point]' 'context = 8' 'width = 64' \
            'dtype = float32' 'warmup = 1' 'repeats = 2' '[device]' 'backend = simulated' \
            'capacity = 1GiB'
        for line; do printf '%s\n' "$line"; done
        grep -q '^\[sweep' <<-EOF || printf '%s\n' '[sweep batch]' 'values = 1'
			$(printf '%s\n' "$@")
		EOF
    } > "$file"
}

# sweep FILE DIR [OPTION…]: keeps the exit code in $code, messages in DIR.err.
sweep()
{
    swept=$2
    file=$1
    shift 2
    code=0
    HIGHWATER_MARK=$mark "$bin/highwater" sweep "$file" --results "$swept" "$@" \
        > "$swept.out" 2> "$swept.err" || code=$?
}

# code_is N: of the last sweep.
code_is()
{
    [ "$code" = "$1" ] || fail "exit code $code instead of $1: $(cat "$swept.err")"
}

# cells COLUMNS [CONDITION…]: of the last sweep's rows.
cells()
{
    "$bin/cells" "$swept/rows.csv" "$@"
}

# rows_are EXPECTED COLUMNS [CONDITION…]: the printed rows, one a line.
rows_are()
{
    expected=$1
    shift
    found=$(cells "$@")
    [ "$found" = "$expected" ] || fail "cells $*:
$found
instead of
$expected"
}

# rows_match PATTERN COLUMNS [CONDITION…]: every row matches the extended pattern, and there is one.
rows_match()
{
    pattern=$1
    shift
    found=$(cells "$@")
    [ -n "$found" ] || fail "cells $*: no rows, expected $pattern"
    bad=$(printf '%s\n' "$found" | grep -Ev -e "$pattern" || true)
    [ -z "$bad" ] || fail "cells $*: $bad does not match $pattern"
}

# said PATTERN: the last sweep's messages have it.
said()
{
    grep -Eq -e "$1" "$swept.err" || fail "no \"$1\" in: $(cat "$swept.err")"
}

# marked: processes of our sweeps that are alive (zombies are not).
marked()
{
    for environ in $(grep -lszx "HIGHWATER_MARK=$mark" /proc/[0-9]*/environ || true); do
        pid=${environ#/proc/}
        pid=${pid%/environ}
        grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" && echo "$pid" || true
    done
}

# nothing_left [SECONDS]: within that time (default: at once).
nothing_left()
{
    left=$(marked)
    tries=$((${1:-0} * 10))
    while [ -n "$left" ] && [ "$tries" -gt 0 ]; do
        sleep 0.1
        tries=$((tries - 1))
        left=$(marked)
    done
    for pid in $left; do
        echo "left behind: $pid $(tr '\0' ' ' < "/proc/$pid/cmdline")" >&2
    done
    [ -z "$left" ] || fail "processes were left behind"
}

# child NAME: a child program out of the script on standard input, in $HIGHWATER_TEST_CHILD.
child()
{
    { echo '#!/bin/sh'; cat; } > "$1"
    chmod +x "$1"
    HIGHWATER_TEST_CHILD=$PWD/$1
    export HIGHWATER_TEST_CHILD
}

# Words for child scripts: hello; begin PHASE; end PHASE; bye.
speak='
line() { printf "%b\n" "$1" >> "$HIGHWATER_PHASES"; }
hello() { line "hello\tframework=test"; }
begin() { line "begin\tphase=$1"; }
end() { line "end\tphase=$1\tstatus=ok${2:+\t$2}"; }
bye() { line bye; }
all() { hello; for p in context libraries model_load inputs; do begin $p; end $p; done
    line "begin\tphase=cold_forward\tpass=first"; line "end\tphase=cold_forward\tpass=first"
    begin warmup; end warmup
    for r in 1 2; do line "begin\tphase=warm_forward\tpass=warm\trepeat=$r"
        line "end\tphase=warm_forward\tpass=warm\trepeat=$r"; done; }
'

# now: milliseconds.
now()
{
    date +%s%3N
}
