# A driver that has too few descriptors to start anything: that is no end of a run. The study stops
# before the next launch with the reason, and --resume makes the rest. What mpirun cannot do with
# too few of them is the launcher's failure, as ever.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini '[sweep batch]' 'values = 1:4:+1'

# --- from the start: as few as are enough for everything before a launch ---
for most in 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    code=0
    swept=few-$most
    prlimit --nofile=$most "$bin/highwater" sweep s.ini --results $swept > $swept.out \
        2> $swept.err || code=$?
    code_is 1
    said 'Too many open files'
    if [ -e $swept/rows.csv ]; then break; fi
done
said 'r-batch-1-t1 was not started: cannot (make a pipe|open .*): Too many open files$'
[ -z "$(cells run phase=run)" ] || fail "a row of what was not started"
grep -q ' stopped: r-batch-1-t1 was not started: ' $swept/events.log ||
    fail "events.log does not tell: $(cat $swept/events.log)"
sweep s.ini $swept --resume
code_is 0
rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok
r-batch-3-t1|ok
r-batch-4-t1|ok' run,status phase=run

# --- in the middle: what was made stays ---
mkdir path
cat > path/mpirun <<EOF
#!/bin/sh
"$(command -v mpirun)" "\$@"
code=\$?
case "\$*" in *--batch=2*) prlimit --pid \$PPID --nofile=8 ;; esac
exit \$code
EOF
chmod +x path/mpirun
PATH=$PWD/path:$PATH sweep s.ini middle
code_is 1
said 'Too many open files$'
rows_match '^ok$' status phase=run
made=$(cells run phase=run | wc -l) # the second: whether it is written down depends on what is open
[ "$made" = 1 ] || [ "$made" = 2 ] || fail "$made runs"
"$bin/highwater" status middle > status.out
grep -q "^$made runs\? done, $((4 - made)) left\$" status.out || fail "status: $(cat status.out)"
sweep s.ini middle --resume
code_is 0
[ "$(cells run phase=run status=ok | sort -u | wc -l)" = 4 ] || fail "the rest was not made"
[ "$(cells run phase=run | wc -l)" = 4 ] || fail "a run is there twice"

# --- no more processes ---
if [ "$(id -u)" != 0 ]; then
    sed -i 's/--nofile=8/--nproc=1/' path/mpirun
    PATH=$PWD/path:$PATH sweep s.ini processes
    code_is 1
    said 'r-batch-3-t1 was not started: cannot fork: Resource temporarily unavailable$'
    rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok' run,status phase=run
fi
nothing_left
