# One driver in a results folder: by any path, started at the same moment, and at once again when
# one was killed. (case 76)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini '[sweep batch]' 'values = 1:4:+1'
child waits.sh <<EOF
$speak
: > "$PWD/started"
until [ -e "$PWD/go" ]; do sleep 0.05; done
all
bye
EOF

# background DIR: $driver.
background()
{
    rm -f started go
    HIGHWATER_MARK=$mark "$bin/highwater" sweep s.ini --results "$@" > first.out 2> first.err &
    driver=$!
    until [ -e started ]; do sleep 0.05; done
}

background used
ln -s used other
for folder in used other ./used/ "$PWD/other"; do
    for resume in '' --resume; do
        start=$(now)
        swept=second
        code=0
        "$bin/highwater" sweep s.ini --results "$folder" $resume > second.out 2> second.err ||
            code=$?
        code_is 4
        [ $(($(now) - start)) -lt 1000 ] || fail "the second driver took $(($(now) - start)) ms"
        said "in use by pid $driver\$"
    done
done
"$bin/highwater" status used > status.out
grep -q "in use by pid $driver" status.out || fail "status does not tell who is at work"
grep -q '^now r-batch-1-t1, since ' status.out || fail "status does not tell the current run"
grep -q '^0 runs done, 4 left' status.out || fail "status: $(cat status.out)"
"$bin/highwater" status used --json > status.json
grep -q '"current": "r-batch-1-t1"' status.json || fail "status --json: $(cat status.json)"
: > go
wait $driver || fail "the first driver was disturbed"
swept=used
rows_match '^ok$' status phase=run
"$bin/highwater" status used > status.out
grep -q 'nobody is at work' status.out || fail "somebody is still at work"
grep -q '^4 fitted, 0 failed, 0 skipped' status.out || fail "status: $(cat status.out)"

# A reader is no driver.
tail -f used/rows.csv > /dev/null &
reader=$!
sweep s.ini used --resume
code_is 0
said 'nothing to do'
kill $reader

# --- at the same moment: one works, the other leaves, one header; a folder is there as a whole ---
: > go
for round in 1 2 3 4 5; do
    swept=race-$round
    rm -f over
    while [ ! -e over ]; do
        if [ -e race-$round ] && [ ! -e race-$round/events.log ]; then echo half; fi
    done > half-made &
    onlooker=$!
    HIGHWATER_MARK=$mark "$bin/highwater" sweep s.ini --results race-$round > a.out 2> a.err &
    a=$!
    HIGHWATER_MARK=$mark "$bin/highwater" sweep s.ini --results race-$round > b.out 2> b.err &
    b=$!
    code_a=0 code_b=0
    wait $a || code_a=$?
    wait $b || code_b=$?
    : > over
    wait $onlooker
    [ ! -s half-made ] || fail "half of a folder was there"
    case $code_a$code_b in 04 | 40) ;; *) fail "codes $code_a and $code_b" ;; esac
    [ "$(cells run phase=run | wc -l)" = 4 ] || fail "not every run is there once"
    [ "$(grep -c '^evidence,' race-$round/rows.csv)" = 1 ] || fail "not one header"
    [ -z "$(ls -d race-*.new-* 2> /dev/null)" ] || fail "a half made folder was left"
done

# --- a driver that was killed leaves no lock, and one that goes on in its folder has its own ---
background killed
kill -KILL $driver
wait $driver || true
background killed --resume
for resume in '' --resume; do
    sweep s.ini killed $resume
    code_is 4
    said "in use by pid $driver\$"
done
: > go
wait $driver || fail "the driver that went on was disturbed"
[ "$(cells run phase=run | sort -u | wc -l)" = 4 ] || fail "the rest was not made"
nothing_left 5
