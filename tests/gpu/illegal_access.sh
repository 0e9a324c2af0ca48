# An illegal access is an error of its phase, never "oom"; the next process finds a clean device.
workload=$HIGHWATER_BIN/highwater-workload
"$workload" --describe | grep -q '"cuda"' || { echo "skipped: built without CUDA"; exit 77; }
ls /dev/nvidia[0-9]* > /dev/null 2>&1 || { echo "skipped: no device"; exit 77; }

dense() {
    rm -f phases
    code=0
    HIGHWATER_PHASES=phases "$workload" dense --backend=cuda --batch=2 --context=16 --width=64 \
        --sequences=1 --warmup=1 --repeats=1 "$@" 2> error || code=$?
}
last() { tail -n 1 phases | tr '\t' '\n' | sed -n "s/^$1=//p"; }
fail() { echo "FAILED $1"; cat error; tail -n 1 phases; exit 1; }

for phase in context libraries model_load inputs cold_forward warmup warm_forward; do
    dense --fault=$phase:illegal-access
    [ $code = 3 ] || fail "$phase: exit $code"
    [ "$(last phase)" = $phase ] || fail "$phase: seen in $(last phase)"
    [ "$(last status)" = error ] || fail "$phase: status $(last status)"
    last error | grep -q cudaErrorIllegalAddress || fail "$phase: $(last error)"
    dense
    [ $code = 0 ] || fail "$phase: the run after it"
done

# A refusal that was dealt with leaves no stale error behind: the phase before it is ok, and the
# refused request is told with who refused and what was free.
dense --fault=inputs:oom
[ "$(last status)" = oom ] && [ "$(last refused_by)" = device ] || fail "oom"
rm -f phases
code=0
HIGHWATER_PHASES=phases "$workload" dense --backend=cuda --batch=64 --context=1048576 \
    --width=4096 --sequences=1 --dtype=bfloat16 2> error || code=$?
[ $code = 3 ] && [ "$(last status)" = oom ] && [ "$(last refused_by)" = device ] &&
    [ "$(last phase)" = inputs ] && [ "$(last refused_bytes)" = 549755813888 ] &&
    [ -n "$(last free_bytes_at_failure)" ] || fail "a real refusal"
dense --expect-uuid=GPU-00000000-0000-0000-0000-000000000000
[ $code = 3 ] && last error | grep -q "^device is GPU-.*, not GPU-0" || fail "another device"
uuid=$("$workload" --describe --measure | sed -n 's/.*"uuid": "\(.*\)".*/\1/p')
dense "--expect-uuid=$uuid"
[ $code = 0 ] || fail "expected device $uuid"
echo "illegal accesses, refusals and identity are told apart"
