# plan: computed, in order, the same every time; creates nothing.
. "$HIGHWATER_SOURCE/tests/helpers.sh"

cat >study.ini <<'INI'
[study]
name = planned
question = what will fit
workload = dense
trials = 2
[device]
backend = simulated
capacity = 1GiB, 24GiB
[launch]
ranks = 2
[point]
context = 128
width = 1024
dtype = float32
[input near]
batch = 2
[sweep batch]
values = 8, 2, 4096
INI

expect 0 plan study.ini
[ "$(ls)" = "$(printf 'err\nout\nstudy.ini')" ] || fail "plan created something: $(ls)"
is_empty err
has out "proves nothing about a language model"
has out "8 runs of 3 points, 2 trials each"
has out "assumed duration"
has out "predicted not to fit: 1 of 3 points"
has out "rank 0: capacity 1073741824 bytes = 1.07 GB = 1.00 GiB, configured"
# in listed order, each trial a run, a point that two ask for is a run of each
awk '/^ *[0-9]+  r-/ { print $2 }' out >order
printf 'r-%s\n' input-near-t1 input-near-t2 batch-8-t1 batch-8-t2 batch-2-t1 batch-2-t2 \
    batch-4096-t1 batch-4096-t2 >wanted
cmp -s order wanted || fail "not in the listed order: $(cat order)"
# 4096 rows need 4096*128*4*1024*4 bytes of hidden activation alone: 8 GiB
grep -E 'r-batch-4096-t1 .*rank 0 no: .*; rank 1 yes' out >/dev/null || fail "no verdict per rank"
grep -E 'r-batch-2-t1 .*rank 0 yes; rank 1 yes' out >/dev/null || fail "batch 2 fits nowhere"
mv out first
expect 0 plan study.ini
cmp -s out first || fail "the same plan twice is not the same"

# every phase has its counters; the hidden activation and the output are in the forward's peak
expect 0 plan study.ini --set launch.ranks=1 --set device.capacity=24GiB
awk '/^batch=2 / { mine = 1; next } /^batch=/ { mine = 0 } mine { print $1 }' out >phases
for phase in context libraries model_load inputs cold_forward warmup warm_forward; do
    grep -qx "$phase" phases || fail "phase $phase is missing"
done
line=$(awk '/^batch=2 / { mine = 1 } mine && /cold_forward/ { print $4, $3; exit }' out)
[ "$line" = "$((33554432 + 33554432 + 20480 + 1048576 + 4194304 + 1048576)) \
$((33554432 + 33554432 + 20480 + 1048576))" ] ||
    fail "cold_forward of batch 2: $line" # workspace, W1 and W2, biases, input; hidden, output

# peaks stand in bytes and in GiB; a phase that is refused has reached at least so much
expect 0 plan study.ini --capacity 8GiB
has out "     3  r-batch-8-t1                     sweep           92295168     0.09       111149056\
     0.10  yes"
has out "  cold_forward first              2214612992    >=2214612992   >=2.06               —\
      2216689664    >=2216689664   >=2.06               —  oom"

expect 0 plan study.ini --json
has out '"run_count": 8'
has out '"predicted_not_to_fit": 1'
has out '"evidence": "computed"'
has out '"status": "not_reached"'
# a phase that is not reached has no counters, not zeros
awk '/"status": "not_reached"/ { reached = 6; next } reached-- > 0 && !/: null/ { print; bad = 1 }
     END { exit bad }' out || fail "a phase that is not reached has counters"

# --capacity stands in for every card
expect 0 plan study.ini --capacity 80GiB
has out "ranks 0, 1: capacity 85899345920 bytes = 85.90 GB = 80.00 GiB, given with --capacity"
has out "instead of each rank's own"
has out "predicted not to fit: 0 of 3 points"
expect 1 plan study.ini --capacity 80gib
expect 1 plan study.ini --capacity 0
expect 1 plan study.ini --capacity 24
has err 'capacity: "24" is 24 bytes, and a capacity at least 1MiB; "24GiB"?'
expect 1 plan study.ini --capacity 44.3GiB
has err 'capacity: "44.3GiB" is not a whole number of bytes'
expect 0 plan study.ini --capacity 44.5GiB
has out "capacity 47781511168 bytes"

# the host is assumed to make the allocated peak at 0.1 GB/s and to compute at 4 GFLOP/s: two
# products of 1024 tokens, 512 and 2048 features, in 1 + 3 + 5 executions
sed 's/^backend.*/backend = host/; s/^capacity.*/capacity = 1GiB/; s/^width.*/width = 512/
    /^trials/d; /^ranks/d; /^\[input/,/^batch/d; s/^values.*/values = 8/' study.ini >host.ini
expect 0 plan host.ini --json
peak=$(sed -n 's/^ *"allocated_peak_bytes": \([0-9]*\),*$/\1/p' out | sort -n | tail -1)
has out "\"assumed_duration_ns\": $((500000000 + 10 * peak + 9 * 2 * 2 * 1024 * 512 * 2048 / 4)),"
# of a run that will not fit nothing is assumed to be computed
expect 0 plan host.ini --json --capacity 32MiB
has out "\"assumed_duration_ns\": $((500000000 + 10 * 33554432)),"

# a boundary is part of the plan, and what is predicted of it is what a run says
sed '/^\[input/,$d' study.ini >boundary.ini
printf '[boundary batch]\nfrom = 1\nto = 1000\nstep = 3\nconfirm = 3\n' >>boundary.ini
expect 0 plan boundary.ini
hasnt out "0 runs of 0 points"
has out "boundary batch: searched for from 1 to 1000 step 3, confirm 3, at most 44 runs"
grep -q '^  predicted last fit: rank 0 [0-9]*; rank 1 1000, the largest asked for$' out ||
    fail "no predicted last fit: $(cat out)"
fits=$(sed -n 's/^  predicted last fit: rank 0 \([0-9]*\);.*/\1/p' out)
printf '[sweep batch]\nvalues = %d, %d\n' "$fits" $((fits + 3)) >>boundary.ini
expect 0 plan boundary.ini
grep -q "r-batch-$fits-t1 .* rank 0 yes;" out || fail "the last fit $fits does not fit"
grep -q "r-batch-$((fits + 3))-t1 .* rank 0 no: " out || fail "$((fits + 3)) fits, too"
has out "assumed duration without the boundaries' runs: "
expect 0 plan boundary.ini --json
has out "\"predicted_last_fit\": $fits"
has out '"most_runs": 44'
expect 0 plan boundary.ini --capacity 64MiB
has out "predicted last fit: none, not even the first"
expect 0 plan boundary.ini --capacity 64MiB --set study.phases=both
has out "at most 88 runs"

# nothing is judged where there is no device to ask
if [ -z "$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' 2>/dev/null)" ]; then
    sed 's/^backend.*/backend = cuda/; /^capacity/d' boundary.ini >real.ini
    expect 0 plan real.ini
    has out "predicted not to fit: not judged"
    has out "predicted last fit: not judged"
    expect 0 plan real.ini --json
    has out '"predicted_not_to_fit": null'
fi

# errors name file and line, all at once, and nothing is printed as a result
printf '[study]\nnmae = x\n[sweep batch]\nvalues = 0\n' >bad.ini
expect 1 plan bad.ini
is_empty out
has err "bad.ini:2"
has err "bad.ini:4"
expect 1 plan missing.ini
has err missing.ini

# ten thousand points take seconds
cat >large.ini <<'INI'
[study]
name = large
question = how long is a plan
workload = dense
[device]
backend = simulated
capacity = 24GiB
[sweep batch]
values = 1:10000:+1
INI
times >before # processor time of this script's children is in the second line
expect 0 plan large.ini
times >after
seconds=$(awk 'FNR == 2 { split($1, user, /[ms]/); last = now; now = 60 * user[1] + user[2] }
    END { printf "%d", now - last }' before after)
[ "$(grep -c '^ *[0-9]*  r-batch-' out)" -eq 10000 ] || fail "not 10,000 runs"
limit=2
! nm "$HIGHWATER_BIN/highwater" | grep -q __asan_init || limit=40
[ "$seconds" -lt $limit ] || fail "10,000 points took $seconds s of processor time"
