# A results folder in which a file is something else: a pipe, a folder, a device, nothing. Nobody
# waits for it, it is named, and nothing in the folder changes. And names of the folder itself.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
HIGHWATER_BIN=$HIGHWATER_TEST_BIN
HIGHWATER_TEST_INSTANT=1
export HIGHWATER_TEST_INSTANT
printf '%s\n' '[study]' 'name = small' 'question = test' 'workload = dense' '[launch]' \
    'allow_root = yes' '[device]' 'backend = simulated' 'capacity = 64MiB' '[point]' \
    'context = 8' 'width = 64' 'dtype = float32' 'warmup = 0' 'repeats = 1' '[sweep batch]' \
    'values = 1, 2' > s.ini

expect 0 sweep s.ini --results whole --set 'sweep batch.values=1'
is() { ls -lR --full-time odd; find odd -type f -exec cksum {} +; }
# odd NAME WORDS COMMAND [COMMAND…]: each says these words of odd/NAME, exit code 1.
odd() {
    name=$1 words=$2
    shift 2
    is > before
    for command; do
        code=0
        # shellcheck disable=SC2086
        timeout 20 "$HIGHWATER_BIN/highwater" $command > out 2> err || code=$?
        [ "$code" = 1 ] || fail "$command: exit code $code with $name: $(ls -ld odd/"$name")"
        grep -Eq "odd/$name: .*($words)" err || fail "$command says of $name: $(cat err)"
        is | cmp -s - before || fail "$command changed something beside $name"
    done
}
resume='sweep s.ini --results odd --resume'
for name in rows.csv study.ini environment.json events.log runs; do
    for kind in pipe folder full zero; do
        rm -rf odd
        cp -a whole odd
        rm -rf odd/$name
        words='no regular file|Not a directory'
        case $kind$name in
        pipe*) mkfifo odd/$name ;;
        folderruns) : > odd/runs ;;
        folder*) mkdir odd/$name && words='Is a directory' ;;
        *) ln -s /dev/$kind odd/$name ;;
        esac
        odd $name "$words" "$resume"
        case $name in
        rows.csv | study.ini) odd $name "$words" 'status odd' 'report odd' ;;
        *) # nothing in them is looked at
            expect 0 status odd
            expect 0 report odd
            ;;
        esac
    done
done

# What is not there any more is made again where nothing is lost by it.
rm -rf odd
cp -a whole odd
rm -rf odd/runs odd/events.log
expect 0 sweep s.ini --results odd --resume
grep -q 'resumed: 1 runs' odd/events.log || fail "no events: $(ls odd)"

# --- the folder's own name ---
expect 1 sweep s.ini --results ''
has err 'name is empty'
[ ! -e results ] || fail "the default folder was taken for an empty name"
expect 0 sweep s.ini --results slashes///
[ "$(cat out)" = slashes/rows.csv ] || fail "prints $(cat out)"
expect 4 sweep s.ini --results slashes//
has err 'slashes exists'
expect 0 sweep s.ini --results a/b/../c # of which no folder is there yet
[ -s a/c/rows.csv ] || fail "no a/c"
