# A night's accidents on a real card: the boundary of batch with its probes, a run that is killed
# while it holds 100 GB and is followed at once by one that needs 120 GB, and a neighbour that takes
# and gives back 30 GB during a run. Written for cards of 130 GB and more.
bin=$HIGHWATER_BIN
"$bin/highwater-workload" --describe | grep -q '"cuda"' || { echo "skipped: built without CUDA"; exit 77; }
total=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits 2> /dev/null | head -n 1)
[ "${total:-0}" -ge 130000 ] || { echo "skipped: no device of 130 GB"; exit 77; }
cc -O2 -o cuda_card "$HIGHWATER_SOURCE/tests/bench/cuda_card.c" -ldl
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
driver= on_card=
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

# What was found holds for plain runs too, each time. (case 57)
fit=$("$HIGHWATER_TEST_BIN/cells" edge/rows.csv value phase=run fits=yes | sort -n | tail -n 1)
study plain 1 '[sweep batch]' "values = $fit" > plain.ini
"$bin/highwater" sweep plain.ini --set study.trials=3 --results plain 2> plain.err || fail "plain: exit $?"
[ "$("$HIGHWATER_TEST_BIN/cells" plain/rows.csv value phase=run fits=yes | wc -l)" = 3 ] ||
    fail "$fit was found to fit and does not: $(cat plain.err)"

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

# hold FILE: 30 GB as soon as there is room for them; $holder lets go when it is killed.
hold() {
    rm -f "$1"
    sleep 200 | ./cuda_card hold 0 30000000000 "$1" &
    holder=$!
}
until_held() {
    tries=0
    until [ -s "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "the neighbour never had its 30 GB"
        sleep 0.1
    done
}
moved='use of the card by others moved during the run'

# A neighbour comes and goes while a run has room for both: it fits, and says what was beside it.
study beside 60 '[sweep batch]' 'values = 400' > beside.ini
"$bin/highwater" sweep beside.ini --results beside 2> beside.err &
driver=$!
until_used 30000
# The observers are not on the card that they observe. (cases 33, N2)
for pid in $(nvidia-smi --query-compute-apps=pid --format=csv,noheader); do
    [ "$(cat "/proc/$pid/comm")" = highwater-workl ] || fail "on the card: $(cat "/proc/$pid/comm")"
    on_card=$pid
done
[ -n "$on_card" ] || fail "nobody is on the card"
hold held
until_held held
sleep 1
kill $holder
wait $driver || fail "beside: exit $?: $(cat beside.err)"
"$HIGHWATER_TEST_BIN/cells" beside/rows.csv status,fits,foreign_start_bytes,foreign_end_bytes,wall_ns,warning phase=run
[ "$(cell beside r-batch-400-t1 run fits)" = yes ] || fail "it did not fit beside 30 GB"
cell beside r-batch-400-t1 run warning | grep -q "$moved" || fail "nobody saw the neighbour"

# One takes the room between two repeats of the first probe: its refusal decides nothing, the next
# one waits for a clean card, and the boundary is the one that was found alone.
study taken 20 '[boundary batch]' 'from = 1' 'to = 4096' 'confirm = 2' > taken.ini
"$bin/highwater" sweep taken.ini --set device.empty_cache=between-repeats --results taken 2> taken.err &
driver=$!
until_used 100000
hold held
until_held held
sleep 6
kill $holder
wait $driver || fail "taken: exit $?: $(cat taken.err)"
"$HIGHWATER_TEST_BIN/cells" taken/rows.csv value,trial,status,fits,failed_phase,refused_by,foreign_start_bytes,foreign_end_bytes,warning phase=run
first=$("$HIGHWATER_TEST_BIN/cells" taken/rows.csv run phase=run | head -n 1)
[ "$(cell taken "$first" run status)" = dirty ] || fail "$first: $(cell taken "$first" run status)"
[ -z "$(cell taken "$first" run fits)" ] || fail "$first was judged"
[ "$(cell taken "$first" run refused_by)" = device ] || fail "$first was not refused"
cell taken "$first" run warning | grep -q "$moved" || fail "nobody saw the neighbour"
answer() { grep -o 'fits [0-9]* ([^)]*), fails [0-9]* ([^)]*)' "$1/events.log" | tail -n 1; }
grep boundary taken/events.log | tail -n 1
[ "$(answer edge)" = "$(answer taken)" ] && [ -n "$(answer edge)" ] ||
    fail "alone: $(answer edge); beside a neighbour: $(answer taken)"
