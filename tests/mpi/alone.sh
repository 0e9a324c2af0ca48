# placement = alone: a run of its own for each device, with the figures that it has together with
# the others; resumed, skipped, searched and planned by device.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"

# Of a rank together is what its device says alone, in everything that the device and the point
# decide.
facts=dimension,value,trial,phase,repeat,status,fits,allocated_peak_bytes,reserved_peak_bytes,\
device_capacity_bytes,predicted_allocated_peak_bytes,predicted_fits,refused_by,refused_bytes,\
free_bytes_at_failure,failed_phase
study s.ini '[sweep batch]' 'values = 1, 50000, 400000'
unlike='--set launch.ranks=per-device --set device.capacity=256MiB,1GiB'
sweep s.ini together $unlike
code_is 0
cells "$facts" rank=0 > together.1
cells "$facts" rank=1 > together.2
sweep s.ini alone $unlike --set launch.placement=alone
code_is 0
rows_are 'r-batch-1-t1-d1|0|1|1|ok|268435456
r-batch-1-t1-d2|0|1|2|ok|1073741824
r-batch-50000-t1-d1|0|1|3|oom|268435456
r-batch-50000-t1-d2|0|1|4|ok|1073741824
r-batch-400000-t1-d1|0|1|5|oom|268435456
r-batch-400000-t1-d2|0|1|6|oom|1073741824' \
    run,rank,ranks,order,status,device_capacity_bytes phase=run
for place in 1 2; do
    for run in 1 50000 400000; do
        cells "$facts" "run=r-batch-$run-t1-d$place"
    done > alone.$place
    cmp together.$place alone.$place || fail "device $place alone is not what it is together"
done

"$bin/highwater" report alone > report.out
grep -Eq '^ +50000 +1 0 d1 no ' report.out && grep -Eq '^ +50000 +1 0 d2 yes ' report.out ||
    fail "report: $(cat report.out)"

# --- resume: what is there stays, what is cut off is made again on its own device ---
cp alone/rows.csv whole.csv
from=$(grep -n 'r-batch-50000-t1-d2' whole.csv | head -n 1 | cut -d: -f1)
head -n $((from - 1)) whole.csv > alone/rows.csv
expected=$(cells run,order,device_capacity_bytes phase=run)
sweep s.ini alone $unlike --set launch.placement=alone --resume
code_is 0
said 'resumed: 3 runs are there'
[ "$(cells run,order,device_capacity_bytes phase=run | head -n 3)" = "$expected" ] ||
    fail "rows that were there changed"
for run in 1 50000 400000; do
    cells "$facts" "run=r-batch-$run-t1-d2"
done > alone.2
cmp together.2 alone.2 || fail "resumed: another table"
sweep s.ini alone $unlike --set launch.placement=alone --resume
said 'nothing to do'
"$bin/highwater" status alone > status.out
grep -qx '6 runs done, 0 left' status.out || fail "status: $(cat status.out)"
sweep s.ini alone $unlike --resume
code_is 1
said 'placement'

# --- skip-larger: only what failed on every device, as together ---
sweep s.ini skipped $unlike --set launch.placement=alone --set study.after_oom=skip-larger \
    --set 'sweep batch.values=50000,400000,500000'
rows_are 'r-batch-50000-t1-d1|oom
r-batch-50000-t1-d2|ok
r-batch-400000-t1-d1|oom
r-batch-400000-t1-d2|oom
r-batch-500000-t1-d1|skipped
r-batch-500000-t1-d2|skipped' run,status phase=run

# --- a fault names a device by its rank, as together ---
sweep s.ini fault --set launch.ranks=3 --set launch.placement=alone \
    --set 'sweep batch.values=1' --set device.fault=inputs:exit-3:1
code_is 0
rows_are 'r-batch-1-t1-d1|0|ok|
r-batch-1-t1-d2|0|error|inputs
r-batch-1-t1-d3|0|ok|' run,rank,status,failed_phase phase=run

# --- a search per device, fed by its own runs, the same answer as together ---
study b.ini '[boundary batch]' 'from = 1' 'to = 400000' '[sweep width]' 'values = 8'
for how in together alone; do
    sweep b.ini "b-$how" $unlike --set launch.placement=$how
    code_is 0
    sed -n 's/^.*boundary batch on [a-z]* [0-9]*: //p' "b-$how.err" |
        grep -o 'fits [0-9]* .*fails [0-9]*' | sed 's/ (.*),/,/' > answers.$how
    [ "$(wc -l < answers.$how)" = 2 ] || fail "no two boundaries: $(cat "b-$how.err")"
done
cmp answers.together answers.alone || fail "boundaries: $(cat answers.together answers.alone)"
said 'boundary batch on device 2: fits'
rows_match '^r-boundary-batch-[0-9]+-t[12]-d1\|268435456$|-d2\|1073741824$' \
    run,device_capacity_bytes role=boundary
"$bin/highwater" status b-alone > status.out
grep -q ' 0 left$' status.out && grep -q '^boundary batch on device 2: fits' status.out ||
    fail "status: $(cat status.out)"

# --- plan: as many runs, each judged on its own device ---
"$bin/highwater" plan s.ini $unlike --set launch.placement=alone > plan.out
grep -q '^6 runs of 3 points' plan.out || fail "plan: $(cat plan.out)"
grep -q '^placement alone: a run of its own on each of 2 devices$' plan.out || fail "plan"
grep -Eq 'r-batch-50000-t1-d1 .* no: ' plan.out || fail "plan: $(cat plan.out)"
grep -Eq 'r-batch-50000-t1-d2 .* yes$' plan.out || fail "plan: $(cat plan.out)"
nothing_left

# --- cards: one after the other, each by its own UUID; one listed twice is not shared then ---
. "$HIGHWATER_SOURCE/tests/mpi/helpers/cards.sh"
machine
cat > child.sh <<EOT
$speak
echo "\$CUDA_VISIBLE_DEVICES \$*" >> "$PWD/given"
all
bye
EOT
cuda_study cards.ini 'ranks = per-device' 'placement = alone'
CUDA_VISIBLE_DEVICES=1,0 sweep cards.ini turned --set device.capacity=1GiB,2GiB
code_is 0
rows_are "r-batch-1-t1-d1|0|GPU-bbbb2222-0|pci-00000000:3B:00.0|$gib|
r-batch-1-t1-d2|0|GPU-aaaa1111-0|pci-00000000:17:00.0|$((2 * gib))|" \
    run,rank,device_uuid,device_pci,allocator_limit_bytes,shared_device phase=run
grep -q "^GPU-bbbb2222-0 .*--capacity=$gib .*--expect-uuid=GPU-bbbb2222-0" given ||
    fail "$(cat given)"
grep -q "^GPU-aaaa1111-0 .*--capacity=$((2 * gib)) .*--expect-uuid=GPU-aaaa1111-0" given ||
    fail "$(cat given)"
cuda_study twice.ini 'ranks = per-device' 'placement = alone' 'devices = 1,1'
sweep twice.ini twice
rows_are 'r-batch-1-t1-d1|GPU-bbbb2222-0|
r-batch-1-t1-d2|GPU-bbbb2222-0|' run,device_uuid,shared_device phase=run
"$bin/highwater" plan cards.ini > plan.out
grep -q '^2 runs of 1 point,' plan.out || fail "plan asks for the cards: $(cat plan.out)"
"$bin/highwater" status turned > status.out
grep -qx '2 runs done, 0 left' status.out || fail "status: $(cat status.out)"

# A machine with fewer cards, or another one in that place, is another machine.
CUDA_VISIBLE_DEVICES=1 sweep cards.ini turned --set device.capacity= --resume
code_is 1
CUDA_VISIBLE_DEVICES=1,0 sweep cards.ini same
for visible in 1 0,1; do
    CUDA_VISIBLE_DEVICES=$visible sweep cards.ini same --resume --set 'sweep batch.values=1,2'
    code_is 1
    said 'device'
done
nothing_left
