# What becomes of everything when a program is killed: the whole process tree is looked at.
# Rows within 2 s of a child's death; the timeout and 5 s; nothing alive 5 s after SIGKILL of driver
# or launcher; no half run; a status that does not lie. (cases 65, 78, 79)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini '[sweep batch]' 'values = 1, 2'

# A tree that does what it can to stay: ignores signals, has sessions of its own, forks twice, is
# stopped, holds its output open, floods it.
stays="
trap '' TERM INT HUP
setsid sh -c 'trap \"\" TERM; sleep 300 & sleep 300' &
(setsid sh -c 'sleep 300 & exec sleep 300' &)
sh -c 'kill -STOP \$\$; sleep 300' &
(yes flood | head -c 3000000 >&2; exec sleep 300) &
"
child tree.sh <<EOF
$speak
case "\$*" in
*--batch=1*)
    hello
    begin context
    end context 'allocated_peak_bytes=4096'
    begin model_load
    $stays
    sleep 0.3
    echo \$\$ > "$PWD/child"
    echo \$PPID > "$PWD/rank"
    while :; do sleep 300; done ;;
esac
all
bye
EOF

# begin DIR [OPTION…]: in the background, in its first run; $driver, $launcher, $rank, $victim.
begin()
{
    rm -f child rank
    swept=$1
    shift
    HIGHWATER_MARK=$mark "$bin/highwater" sweep s.ini --results "$swept" "$@" \
        > "$swept.out" 2> "$swept.err" &
    driver=$!
    until [ -s rank ]; do sleep 0.02; done
    rank=$(cat rank) victim=$(cat child)
    launcher=$(pgrep -P $driver mpirun)
    start=$(now)
}
# row_within MS: the first run's row is there. Here and in ended() a busy machine is given 10 s more;
# what is left behind stays 300 s.
row_within()
{
    until grep -q ',"run",' "$swept/rows.csv" && [ -n "$(cells run phase=run)" ]; do
        [ $(($(now) - start)) -lt $(($1 + 10000)) ] || fail "$swept: no row after $1 ms"
        sleep 0.02
    done
}
ended() # CODE MS
{
    code=0
    wait $driver || code=$?
    took=$(($(now) - start))
    code_is "$1"
    [ $took -lt $(($2 + 10000)) ] || fail "$swept took $took ms instead of $2"
    nothing_left
}

begin child-killed
kill -KILL "$victim"
row_within 2500
ended 0 5000
rows_match '^crashed\|model_load\|9\|' status,failed_phase,signal,exit_code phase=run run=r-batch-1-t1
rows_match '^4096$' allocated_peak_bytes phase=context run=r-batch-1-t1
rows_match '^ok$' status phase=run run=r-batch-2-t1

begin at-the-deadline --set study.timeout=2s
row_within 7000
ended 0 9000
rows_match '^timeout\|model_load$' status,failed_phase phase=run run=r-batch-1-t1

begin rank-killed
kill -KILL "$rank"
row_within 7000
ended 0 9000
rows_match '^crashed\|rank lost\|\|model_load$' status,error,fits,failed_phase phase=run \
    run=r-batch-1-t1
rows_match '^4096$' allocated_peak_bytes phase=context run=r-batch-1-t1
rows_match '^yes$' partial phase=model_load run=r-batch-1-t1
rows_match '^ok$' status phase=run run=r-batch-2-t1

begin launcher-killed
kill -KILL "$launcher"
row_within 7000
ended 0 9000
rows_match '^stopped\|\|ended by us' status,fits,error phase=run run=r-batch-1-t1

begin driver-killed
kill -KILL $driver
wait $driver || true
nothing_left 5
[ "$(wc -l < driver-killed/rows.csv)" = 1 ] || fail "half a run was written"
# What the ranks wrote when their driver was gone is no end: the run is made again.
cat > quick.sh <<EOF
#!/bin/sh
$speak
all
bye
EOF
chmod +x quick.sh
HIGHWATER_TEST_CHILD=$PWD/quick.sh sweep s.ini driver-killed --resume
code_is 0
rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok' run,status phase=run
! grep -q 'taken over' driver-killed.err || fail "a stopped run was taken over"

# Nobody is left who could end it: the child itself dies with its rank.
child alone.sh <<EOF
$speak
hello
echo \$\$ > "$PWD/child"
echo \$PPID > "$PWD/rank"
trap '' TERM INT HUP
exec sleep 300
EOF
begin all-killed
kill -KILL "$rank" "$launcher" $driver
wait $driver || true
nothing_left 1
HIGHWATER_TEST_CHILD=$PWD/tree.sh

for signal in INT TERM HUP; do
    begin "signal-$signal"
    kill -$signal $driver
    case $signal in INT) ended 130 5000 ;; TERM) ended 143 5000 ;; HUP) ended 129 5000 ;; esac
    [ "$(wc -l < "$swept/rows.csv")" = 1 ] || fail "half a run was written"
done
