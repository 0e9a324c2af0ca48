# Disks that fill up or cannot be written: the study stops before the next launch with the file's
# name, what was written stays whole, and the same command goes on when there is room again.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini '[sweep batch]' 'values = 1:400:+1'
# on DIR [OPTION…]: a sweep whose messages are not on that disk; nothing is launched.
on()
{
    swept=$1
    shift
    code=0
    HIGHWATER_TEST_INSTANT=1 "$bin/highwater" sweep s.ini --results "$swept" "$@" \
        > messages.out 2> messages.err || code=$?
    cat messages.err > "$(basename "$swept").said"
}
says() { grep -Eq "$1" messages.err || fail "no \"$1\" in: $(tail -n 3 messages.err)"; }

# --- files may not grow beyond a limit ---
(
    ulimit -f 200
    on limited
    [ "$code" = 1 ] || fail "exit code $code at a limit of file sizes: $(tail -n 1 messages.err)"
)
says 'limited/rows.csv: (File too large|No space left on device)'
swept=limited
made=$(cells run phase=run | wc -l)
[ "$made" -gt 2 ] && [ "$made" -lt 400 ] || fail "$made runs below a limit"
on limited --resume
[ "$code" = 0 ] || fail "exit code $code without the limit: $(tail -n 1 messages.err)"
[ "$(cells run phase=run | wc -l)" = 400 ] || fail "not every run is there once"

# --- a rank's disk is full: no outcome of its run, and no further launch ---
study three.ini '[sweep batch]' 'values = 1, 2, 4'
for from in 1 2 4; do # the line of its start, of its child's start, of a row
    FULL_DISK=r-batch-2-t1/shard.0 FULL_DISK_FROM=$from \
        LD_PRELOAD=$HIGHWATER_BUILD/tests/fake/full_disk.so sweep three.ini rank-$from
    code_is 1
    said 'could not write rank-.*/r-batch-2-t1/shard.0: .*No space left on device$'
    rows_are 'r-batch-1-t1|ok' run,status phase=run
    [ ! -e rank-$from/runs/r-batch-4-t1 ] || fail "launched on a full disk"
    sweep three.ini rank-$from --resume
    code_is 0
    rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok
r-batch-4-t1|ok' run,status phase=run
done

mkdir small
if ! mount -t tmpfs -o size=400k tmpfs small 2> mount.err; then
    echo "skipped: no small file system can be mounted here: $(cat mount.err)"
    exit 77
fi
trap 'umount small 2> /dev/null || umount -l small' EXIT

# --- it fills up in the middle of the night ---
on small/full
[ "$code" = 1 ] || fail "exit code $code on a full disk"
says 'small/full/[a-z/.0-9-]+: No space left on device'
made=$(cells run phase=run | wc -l)
[ "$made" -gt 2 ] && [ "$made" -lt 400 ] || fail "$made runs on a small disk"
tail -c 1 small/full/rows.csv | od -c | grep -q '\\n' || fail "a torn row was left"
on small/full --resume
[ "$code" = 1 ] || fail "exit code $code on a disk that is still full"
[ "$(cells run phase=run | wc -l)" -ge "$made" ] || fail "rows were lost"
mount -o remount,size=64m small
on small/full --resume
[ "$code" = 0 ] || fail "exit code $code with room: $(tail -n 1 messages.err)"
[ "$(cells run phase=run | sort -u | wc -l)" = 400 ] || fail "not every run is there"
[ "$(cells run phase=run | wc -l)" = 400 ] || fail "a run is there twice"

# --- there is no room from the start: nothing is left ---
mount -o remount,size=4k small 2> /dev/null || true
mkdir tiny
mount -t tmpfs -o size=8k tmpfs tiny
on tiny/none
umount tiny
[ "$code" = 1 ] || fail "exit code $code without any room"
says 'No space left on device'

# --- it cannot be written ---
mount -o remount,ro small
on small/new
[ "$code" = 1 ] || fail "exit code $code on a read-only disk"
says 'small/new.*: Read-only file system'
on small/full --resume
[ "$code" = 1 ] || fail "exit code $code resuming on a read-only disk"
says 'small/full/rows.csv: Read-only file system'
"$bin/highwater" status small/full > status.out || fail "status needs to write"
grep -q '^400 runs done, 0 left' status.out || fail "status: $(cat status.out)"
