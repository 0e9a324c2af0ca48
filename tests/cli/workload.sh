# highwater-workload as its rank calls it, and alone: exit codes, phase lines, standard error.
workload=$HIGHWATER_BIN/highwater-workload
fail() { echo "FAILED $1"; cat out error phases 2>/dev/null; exit 1; }
dense() {
    rm -f phases
    code=0
    HIGHWATER_PHASES=phases "$workload" dense --backend=host --capacity=256MiB --batch=2 \
        --context=8 --width=16 --sequences=2 --warmup=1 --repeats=2 "$@" > out 2> error || code=$?
}
verbs() { cut -f 1 phases | tr '\n' ' '; }
last() { tail -n 1 phases | tr '\t' '\n' | sed -n "s/^$1=//p"; }

# Well: one hello inside the first phase, every phase begun and ended, bye last, silent.
dense
[ $code = 0 ] && [ ! -s out ] && [ ! -s error ] || fail "a good run: exit $code"
[ "$(verbs)" = "begin hello end begin end begin end begin end begin end begin end begin end begin end bye " ] ||
    fail "verbs: $(verbs)"
grep '^hello' phases | tr '\t' '\n' | grep -qx 'evidence=computed' || fail "evidence"
[ "$(grep -c 'result_name=mean_square' phases)" = 3 ] || fail "results"
grep -q 'device_used' phases && fail "device columns on a host device"

# The same values again, and others with another seed.
result() { grep '^end' phases | tail -n 1 | tr '\t' '\n' | sed -n 's/^result_value=//p'; }
first=$(result)
dense
[ "$(result)" = "$first" ] || fail "the same run again: $(result), not $first"
dense --seed=8
[ "$(result)" != "$first" ] || fail "another seed gives the same values"

# Failures: exit 3, one reason on standard error, the fail line last.
dense --fault=cold_forward:oom
[ $code = 3 ] && [ "$(last phase)" = cold_forward ] && [ "$(last status)" = oom ] &&
    [ "$(last partial)" = yes ] && [ "$(last refused_by)" = device ] &&
    [ "$(last refused_bytes)" -gt 0 ] && [ "$(wc -l < error)" = 1 ] || fail "oom: exit $code"
[ -n "$(last allocated_peak_bytes)" ] && [ -z "$(last allocated_end_bytes)" ] || fail "oom: counters"
dense --fault=inputs:host_oom
[ $code = 3 ] && [ "$(last status)" = host_oom ] && [ "$(last refused_by)" = host ] || fail "host_oom"
dense --fault=inputs:illegal-access
[ $code = 3 ] && [ "$(last status)" = error ] && last error | grep -q 'illegal access' || fail "illegal access"
dense --capacity=20MiB
[ $code = 3 ] && [ "$(last phase)" = libraries ] && [ "$(last refused_bytes)" = 33554432 ] || fail "capacity"
dense --expect-uuid=GPU-1
[ $code = 3 ] && last error | grep -q 'not GPU-1' || fail "another device"

# Ends that say nothing more: the phase file stops behind a begin.
dense --fault=inputs:exit-7
[ $code = 7 ] && grep -q 'exit 7' error && [ "$(tail -n 1 phases | cut -f 1)" = begin ] || fail "exit-7: $code"
dense --fault=inputs:kill
[ $code = 137 ] && [ "$(last phase)" = inputs ] || fail "kill: $code"
dense --fault=warm_forward:segv
[ $code = 139 ] && [ "$(last phase)" = warm_forward ] && [ "$(last repeat)" = 1 ] || fail "segv: $code"

# A hang lasts, and leaves a process in a session of its own.
"$workload" dense --backend=host --capacity=256MiB --batch=1 --context=1 --width=8 --sequences=1 \
    --fault=inputs:setsid > out 2> error &
pid=$!
i=0
while [ -z "$(pgrep -P $pid -x sleep)" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
left=$(pgrep -P $pid -x sleep) || fail "setsid: no sleeping child"
[ "$(ps -o sid= -p "$left" | tr -d ' ')" = "$left" ] || fail "setsid: not a session of its own"
kill -0 $pid || fail "setsid: the workload did not hang"
kill -KILL $pid "$left"
wait $pid || true

# Bad words and broken bookkeeping: exit 1, one line.
dense --fault=nowhere:oom
[ $code = 1 ] && [ "$(wc -l < error)" = 1 ] && [ ! -e phases ] || fail "a bad fault: exit $code"
for words in "" "dens" "dense" "dense --backend=cuda:0" "--describe --measur"; do
    code=0
    # shellcheck disable=SC2086
    "$workload" $words > out 2> error || code=$?
    [ $code = 1 ] && [ ! -s out ] && [ "$(wc -l < error)" = 1 ] || fail "'$words': exit $code"
done
code=0
HIGHWATER_PHASES=nowhere/phases "$workload" dense --backend=simulated --capacity=1GiB --batch=1 \
    --context=1 --width=8 --sequences=1 > out 2> error || code=$?
[ $code = 1 ] && grep -q nowhere/phases error || fail "no phase file: exit $code"
code=0
HIGHWATER_LIVE=nowhere/live "$workload" dense --backend=simulated --capacity=1GiB --batch=1 \
    --context=1 --width=8 --sequences=1 > out 2> error || code=$?
[ $code = 1 ] && grep -q nowhere/live error || fail "no live page: exit $code"
if [ -c /dev/full ]; then
    code=0
    HIGHWATER_PHASES=/dev/full "$workload" dense --backend=simulated --capacity=1GiB --batch=1 \
        --context=1 --width=8 --sequences=1 > out 2> error || code=$?
    [ $code = 1 ] && [ "$(wc -l < error)" = 1 ] || fail "a full disk: exit $code"
fi

# Alone: a table for people.
"$workload" dense --backend=simulated --capacity=1GiB --batch=1 --context=1 --width=8 \
    --sequences=1 > out
grep -q 'simulated (computed)' out && grep -q '^warm_forward 5 *ok' out || fail "the table"
"$workload" --describe > out
grep -q '"backends"' out && grep -q '"simulated"' out && grep -q '"host"' out || fail "describe"
"$workload" --help | grep -q -- --expect-uuid || fail "help"
