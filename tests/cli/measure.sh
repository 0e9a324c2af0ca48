# measure: one point, rows as JSON; the device before everything else.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
point="--workload dense --batch 2 --context 16 --width 64 --dtype float32 --warmup 1 --repeats 2"

# shellcheck disable=SC2086
expect 0 measure --device simulated --capacity 1GiB $point $measure_consent --output m.json
is_empty out
[ "$(ls m.json*)" = m.json ] || fail "something else was left behind"
has m.json '"schema": 1'
has m.json '"evidence": "computed"'
has m.json '"backend": "simulated"'
has m.json '"batch": 2'
has m.json '"device_used_before_bytes": null'
hasnt m.json '"evidence": "observed"'
# the rows have every column of the table, in its order, and nothing else
"$HIGHWATER_BIN/highwater" columns --json | sed -n 's/^ *"name": "\(.*\)",*/\1/p' |
    sed '/^ok$/,$d' >columns
awk '/^    \{/ { row++ } row == 1 && match($0, /"[a-z_]*":/) {
         print substr($0, RSTART + 1, RLENGTH - 3) }' m.json >cells
cmp -s columns cells || fail "a row has other columns: $(diff columns cells)"
# context, libraries, model_load, inputs, cold_forward, warmup, two warm_forward, and the run
[ "$(grep -c '"phase": ' m.json)" -eq 9 ] || fail "$(grep -c '"phase": ' m.json) rows, not 9"
[ "$(grep -c '"phase": "run"' m.json)" -eq 1 ] || fail "no closing row"
[ ! -e results ] || fail "measure made a results folder"

# the counters of simulated and host are the same bytes: the same code allocates
counters() { grep -E '"(allocated|reserved)_(start|peak|end)_bytes"' "$1"; }
# shellcheck disable=SC2086
expect 0 measure --device host --capacity 1GiB $point $measure_consent -o host.json
has host.json '"evidence": "computed"'
counters m.json >simulated.txt
counters host.json >host.txt
cmp -s simulated.txt host.txt || fail "host and simulated differ: $(diff simulated.txt host.txt)"
grep -q '"result_value": [0-9]' host.json || fail "the host computed no result"

# an existing output is refused and not touched
cp m.json before
# shellcheck disable=SC2086
expect 4 measure --device simulated --capacity 1GiB $point $measure_consent --output m.json
has err "nothing was measured" # refused before, not after, the run
cmp -s m.json before || fail "an existing output was touched"

# the capacity may also come as the study's own key
# shellcheck disable=SC2086
expect 0 measure --device simulated --set device.capacity=1GiB $point $measure_consent -o set.json
has set.json '"device_capacity_bytes": 1073741824'

# to standard output
# shellcheck disable=SC2086
expect 0 measure --device simulated --capacity 1GiB $point $measure_consent
has out '"rows": ['

# a run that fails is written, and is exit 3
# shellcheck disable=SC2086
expect 3 measure --device simulated --capacity 16MiB $point $measure_consent -o oom.json
has oom.json '"status": "oom"'
has oom.json '"fits": "no"'
has oom.json '"failed_phase": "libraries"'
has oom.json '"refused_by": "device"'
has oom.json '"refused_bytes": 33554432'
has err 'measure: oom in libraries: 33554432 bytes refused, 16777216 free'

# without a usable device: exit 2, a reason, no file; even when all else is wrong too
if [ -z "$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' 2>/dev/null)" ]; then
    # shellcheck disable=SC2086
    expect 2 measure --device cuda:0 $point $measure_consent --output cuda.json
    is_empty out
    [ -s err ] || fail "no reason was given"
    [ ! -e cuda.json ] || fail "an output without a measurement"
    expect 2 measure --device cuda:0 --workload dense --output m.json
    cmp -s m.json before || fail "an existing output was touched"
    expect 2 measure --device cuda:0 --workload nonsense
fi

# nothing is chosen silently, nothing is shrunk, nothing is left behind
# shellcheck disable=SC2086
refused() {
    expect 1 measure $measure_consent "$@" -o refused.json
    is_empty out
    [ ! -e refused.json ] || fail "measure $*: wrote a file"
}
refused --workload dense
refused --device simulated --capacity 1GiB
refused --device simulated --workload dense
for device in gpu cuda; do
    refused --device $device --workload dense
    has err "--device=$device is none of cuda:N, simulated, host; did you mean cuda:0"
done
refused --device cuda:x --workload dense
refused --device cuda:-1 --workload dense
refused --device simulated --capacity 1GiB --workload dence
has err dense
refused --device simulated --capacity 1GiB --workload dense --batch 0
has err "--batch=0: batch: "
hasnt err "--set"
refused --device simulated --workload dense
has err "measure: --capacity must be given: the size of the simulated device"
refused --device host --workload dense --batch 2
has err "measure: --capacity must be given: the size of the host device"
refused --device simulated --capacity 1GiB --workload dense --layers 3
refused --device simulated --capacity 1GiB --workload dense --dtype float8
refused --device simulated --capacity 1GiB --workload dense --batch '2
[sweep width]
values = 1,2'
refused --device simulated --capacity 1gib --workload dense
refused --device simulated --capacity 24 --workload dense
has err '--capacity=24: capacity: "24" is 24 bytes, and a capacity at least 1MiB; "24GiB"?'
refused --device simulated --capacity 1GiB --workload dense --set device.falt=x
has err "--set device.falt=x: unknown key"
if [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2086
    expect 1 measure --device simulated --capacity 1GiB $point -o refused.json
    has err root
fi

# nothing of a run is kept, so there is no place for a recording
# shellcheck disable=SC2086
expect 1 measure --device simulated --capacity 1GiB --workload dense $measure_consent \
    --set device.trace=always
has err "device.trace"
is_empty out

# What no study file can hold is refused as sweep refuses it, and blanks around a value do not count.
for odd in 'a ; b' 'a
b'; do
    # shellcheck disable=SC2086
    expect 1 measure --device simulated --capacity 1GiB $point $measure_consent --set "identity.input_set=$odd"
    has err 'cannot stand in a study file'
done
# shellcheck disable=SC2086
expect 0 measure --device simulated --capacity 1GiB $point $measure_consent '--max-split-size= 32MiB ' \
    --output blanks.json
has blanks.json 'max_split_size=33554432'
