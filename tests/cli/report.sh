# The report of studies that did not end, that skipped runs, and that searched on unlike devices:
# it says what is left, what was skipped, and whose a limit is.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
HIGHWATER_BIN=$HIGHWATER_TEST_BIN
HIGHWATER_TEST_INSTANT=1
export HIGHWATER_TEST_INSTANT
printf '%s\n' '[study]' 'name = small' 'question = test' 'workload = dense' '[launch]' \
    'allow_root = yes' '[device]' 'backend = simulated' 'capacity = 64MiB' '[point]' \
    'context = 8' 'width = 64' 'dtype = float32' 'warmup = 0' 'repeats = 1' > point.ini

# --- stopped at the second of thirteen; the other sweep is done ---
{
    cat point.ini
    printf '%s\n' '[sweep width]' 'values = 8' '[sweep batch]' \
        'values = 1, 90000, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11'
} > s.ini
expect 1 sweep s.ini --results part --stop-on-failure
expect 0 report part
has out 'part/rows.csv: 24 rows; 3 of 13 runs made, 10 left (--resume goes on)'
has out ' so far, runs are left: largest value that fits in every run: 1; smallest that does not: 90000'
has out ' largest value that fits in every run: 8; smallest that does not: —'
[ "$(grep -c 'so far' out)" = 1 ] || fail "what is done is called unfinished: $(cat out)"
expect 0 sweep s.ini --results part --resume
expect 0 report part
has out '; 13 of 13 runs made'
hasnt out 'so far'
hasnt out left

# --- skipped runs were not made ---
expect 0 sweep s.ini --results skipped --set study.after_oom=skip-larger \
    --set 'sweep batch.values=1,90000,90001,90002'
has err 'simulated: 3 of 5 runs made, 2 fitted, 1 failed, 2 skipped; skipped'
expect 0 report skipped
has out '; 3 of 5 runs made, 2 skipped'
has out '2 of 3 runs fitted; 2 skipped'

# --- a search on each of two unlike devices ---
{
    cat point.ini
    printf '%s\n' '[boundary batch]' 'to = 90000'
} > b.ini
unlike='--set launch.ranks=2 --set device.capacity=64MiB,128MiB --set study.phases=both'
# shellcheck disable=SC2086
expect 0 sweep b.ini --results alone $unlike --set launch.placement=alone
expect 0 report alone
! grep -q '^ largest' out || fail "a limit over both devices: $(cat out)"
for place in 1 2; do
    found=$(sed -n "s/^boundary batch on device $place: fits \([0-9]*\) .*, fails \([0-9]*\) .*/\1; smallest that does not: \2/p" out)
    [ -n "$found" ] || fail "device $place has no boundary: $(cat out)"
    for phases in split whole; do
        has out "  d$place, $phases: largest value that fits in every run: $found"
    done
done
# shellcheck disable=SC2086
expect 0 sweep b.ini --results together $unlike
expect 0 report together
first=$(sed -n 's/^boundary batch on rank 0: fits \([0-9]*\) .*, fails \([0-9]*\) .*/\1; smallest that does not: \2/p' out)
[ -n "$first" ] || fail "rank 0 has no boundary: $(cat out)"
has out " largest value that fits in every run: $first"

# --- a search that did not end: how much is left is a guess ---
expect 1 sweep b.ini --results search --stop-on-failure
expect 0 report search
grep -q ' of about [0-9]* runs made, about [0-9]* left (--resume goes on)$' out || fail "$(head -n 1 out)"
has out ' so far, runs are left: largest value that fits'

# --- one of a kind is not called several ---
expect 0 plan s.ini --set 'sweep batch.values=1' --set study.trials=1
has out '2 runs of 2 points, 1 trial each'
sed '/^\[sweep width/,$d' s.ini > one.ini
printf '%s\n' '[sweep batch]' 'values = 1' >> one.ini
expect 0 plan one.ini
has out '1 run of 1 point, 1 trial each'
has out '0 of 1 point'
hasnt out '1 points'
expect 0 sweep one.ini --results one
expect 0 status one
has out '1 run done, 0 left'
expect 0 report one
has out '; 1 of 1 run made'
expect 0 estimate --layers 1 --kv-heads 1 --head-dim 8 --context 1 --sequences 1 --kv-bits 8
has out 'x 1 layer x 1 KV head x 8 x 1 token x 1 sequence x 8 bits'
