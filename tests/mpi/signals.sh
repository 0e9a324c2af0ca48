# Signals to a driver, and the death of each program: the sweep ends in time, what was complete is
# kept, the run in progress has no half rows, no process is left, the exit code says which signal.
# (case 78)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini '[sweep batch]' 'values = 1, 2, 3, 4'

# Hangs at batch 3 with a tree of its own, and says so.
child third.sh <<EOF
$speak
case "\$*" in
*--batch=3*)
    hello
    begin context
    setsid sh -c 'sleep 300 & sleep 300' &
    sleep 300 &
    : > "$PWD/third"
    wait
    ;;
esac
all
bye
EOF

# begin NAME: a sweep in the background, in a process group of its own, in its third run; $driver.
begin()
{
    rm -f third
    swept=$1
    HIGHWATER_MARK=$mark setsid sh -c 'echo $$ > pid; exec "$@"' sh \
        "$bin/highwater" sweep s.ini --results "$1" > "$1.out" 2> "$1.err" &
    shell=$!
    until [ -e third ]; do sleep 0.05; done
    driver=$(cat pid)
    start=$(now)
}

# finish CODE: it has ended with this code, asked and not killed, which would take 4 s longer.
finish()
{
    code=0
    wait $shell || code=$?
    took=$(($(now) - start))
    code_is "$1"
    [ $took -lt 4000 ] || fail "$swept took $took ms"
    nothing_left
    rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok' run,status phase=run
    rows_are '' run run=r-batch-3-t1
    [ -z "$(ls -d /dev/shm/highwater-"$driver"-* 2> /dev/null)" ] || fail "/dev/shm was littered"
}

for signal in INT TERM HUP; do
    begin "driver-$signal"
    kill -$signal "$driver"
    case $signal in INT) finish 130 ;; TERM) finish 143 ;; HUP) finish 129 ;; esac
    grep -q "interrupted by signal [0-9]* (SIG$signal)\$" \
        "driver-$signal/events.log" || fail "events.log: $(cat "driver-$signal/events.log")"
    tail -n 1 "driver-$signal.err" | grep -q \
        '; interrupted: 2 runs are left, the same command with --resume goes on$' ||
        fail "the last line does not tell: $(tail -n 1 "driver-$signal.err")"
done

# measure has no folder to go on with: that it was interrupted is all there is to say.
rm -f third
HIGHWATER_MARK=$mark setsid sh -c 'echo $$ > pid; exec "$@"' sh "$bin/highwater" measure \
    --device simulated --capacity 1GiB --workload dense --batch 3 --context 8 --width 64 \
    --allow-root > measure.out 2> measure.err &
shell=$!
until [ -e third ]; do sleep 0.05; done
kill -INT "$(cat pid)"
code=0
wait $shell || code=$?
[ $code -eq 130 ] || fail "measure: exit code $code"
[ ! -s measure.out ] || fail "measure: $(cat measure.out)"
grep -q 'measure: interrupted; nothing was measured' measure.err || fail "$(cat measure.err)"
nothing_left

# The terminal's Ctrl-C reaches the driver's group; its children have groups of their own.
begin group-INT
kill -INT -"$driver"
finish 130

# A second signal ends the patience.
begin twice
kill -INT "$driver"
sleep 0.2
kill -INT "$driver"
finish 130
[ $took -lt 3000 ] || fail "two signals took $took ms"

# --- the driver is killed: everything else ends by itself ---
begin driver-KILL
kill -KILL "$driver"
wait $shell || true
nothing_left 5
rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok' run,status phase=run
folder=$(ls -d /dev/shm/highwater-"$driver"-* 2> /dev/null) || fail "no folder in memory was used"

# Its folder in memory is a leftover that the next driver removes, once it is old enough.
touch -d '1 minute ago' "$folder"
unset HIGHWATER_TEST_CHILD
sweep s.ini after
code_is 0
[ ! -e "$folder" ] || fail "the leftover $folder is still there"
HIGHWATER_TEST_CHILD=$PWD/third.sh
export HIGHWATER_TEST_CHILD

# --- the launcher is killed: the run is a row, and the study goes on ---
begin mpirun-KILL
kill -KILL $(pgrep -P "$driver" mpirun)
code=0
wait $shell || code=$?
code_is 0
rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok
r-batch-3-t1|stopped
r-batch-4-t1|ok' run,status phase=run
rows_match '^ended by us: launcher ended by signal 9$' error phase=run run=r-batch-3-t1
nothing_left

# --- whoever starts us may ignore SIGCHLD: the ends of children are seen all the same ---
unset HIGHWATER_TEST_CHILD
(
    trap '' CHLD
    exec "$bin/highwater" sweep s.ini --results ignoring > ignoring.out 2> ignoring.err
) || fail "SIGCHLD ignored: exit code $?: $(tail -n 1 ignoring.err)"
swept=ignoring
rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok
r-batch-3-t1|ok
r-batch-4-t1|ok' run,status phase=run
