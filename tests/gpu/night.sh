# A night's accidents on a real card: the boundary of batch with its probes, a run that is killed
# while it holds 100 GB and is followed at once by one that needs 120 GB, and a neighbour that takes
# and gives back 30 GB during a run. Written for cards of 130 GB and more.
bin=$HIGHWATER_BIN
"$bin/highwater-workload" --describe | grep -q '"cuda"' || { echo "skipped: built without CUDA"; exit 77; }
total=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits 2> /dev/null | head -n 1)
[ "${total:-0}" -ge 130000 ] || { echo "skipped: no device of 130 GB"; exit 77; }
cc -O2 -o cuda_card "$HIGHWATER_SOURCE/tests/bench/cuda_card.c" -ldl
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
driver=
fail() { echo "FAILED $*"; [ -z "$driver" ] || kill "$driver"; exit 1; }
# cell FOLDER RUN PHASE COLUMN: of the first such row
cell() {
    "$HIGHWATER_TEST_BIN/cells" "$1/rows.csv" "$4" run="$2" phase="$3" | head -n 1
}
used() { nvidia-smi -i 0 --query-gpu=memory.used --format=csv,noheader,nounits; } # MiB
until_used() { # MiB: waits at most 20 s
    tries=0
    while [ "$(used)" -lt "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || fail "the card never had $1 MiB in use"
        sleep 0.1
    done
}

study() { # NAME REPEATS SECTION…
    name=$1 repeats=$2
    shift 2
    cat << EOF
[study]
name = $name
question = What does the night do to it?
workload = dense
timeout = 120s
[device]
backend = cuda
[point]
batch = 1
context = 2048
width = 4096
dtype = bfloat16
warmup = 1
repeats = $repeats
EOF
    printf '%s\n' "$@"
}

study edge 1 '[boundary batch]' 'from = 1' 'to = 4096' 'confirm = 2' > edge.ini
"$bin/highwater" sweep edge.ini --results edge 2> edge.err || fail "the boundary: exit $?: $(cat edge.err)"
grep -i boundary edge/events.log || fail "events.log says nothing of the boundary"
"$HIGHWATER_TEST_BIN/cells" edge/rows.csv value,fits,failed_phase,refused_bytes,free_bytes_at_failure,role phase=run
"$HIGHWATER_TEST_BIN/cells" edge/rows.csv fits phase=run | grep -q no || fail "no failure was run"
runs=$("$HIGHWATER_TEST_BIN/cells" edge/rows.csv fits phase=run | wc -l)
echo "boundary: $runs runs"
[ "$runs" -le 30 ] || fail "too many probes"

study killed 40 '[sweep batch]' 'values = 1000, 1190' > killed.ini
"$bin/highwater" sweep killed.ini --results killed 2> killed.err &
driver=$!
until_used 95000 # MiB: 100 GB
pkill -9 -x highwater-workl || fail "no child to kill"
wait $driver || fail "killed: exit $?: $(cat killed.err)"
[ "$(cell killed r-batch-1000-t1 run status)" = crashed ] || fail "status $(cell killed r-batch-1000-t1 run status)"
[ "$(cell killed r-batch-1000-t1 run signal)" = 9 ] || fail "the signal"
[ "$(cell killed r-batch-1190-t1 run fits)" = yes ] || fail "the run after it: $(cell killed r-batch-1190-t1 run status)"
echo "killed in $(cell killed r-batch-1000-t1 run failed_phase), the next run with" \
    "$(cell killed r-batch-1190-t1 warm_forward allocated_peak_bytes) bytes fitted; used before it" \
    "$(cell killed r-batch-1190-t1 context device_used_before_bytes)"

study neighbour 100 '[sweep batch]' 'values = 400, 1400' > neighbour.ini
"$bin/highwater" sweep neighbour.ini --set launch.settle=3s --results neighbour 2> neighbour.err &
driver=$!
until_used 30000
sleep 30 | ./cuda_card hold 0 30000000000 held &
holder=$!
wait $driver || true
kill $holder 2> /dev/null || true
"$HIGHWATER_TEST_BIN/cells" neighbour/rows.csv value,status,fits,failed_phase,warning,foreign_start_bytes,foreign_end_bytes phase=run
status=$(cell neighbour r-batch-1400-t1 run status)
[ "$status" != ok ] || fail "1400 beside 30 GB of a neighbour cannot fit"
[ "$(cell neighbour r-batch-1400-t1 run fits)" != yes ] || fail "it was called a fit"
cat neighbour/events.log | tail -n 8
