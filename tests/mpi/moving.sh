# Cards that change: memory of the run before, a neighbour who moves, a card that is lost.
# With a scripted libnvidia-ml.so.1. (cases 31, 32, 62)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
. "$HIGHWATER_SOURCE/tests/mpi/helpers/cards.sh"
cuda_study s.ini 'devices = 0' '[sweep batch]' 'values = 1, 2, 3, 4'
quarter=$((gib / 4))

# --- memory that is still held when a run was ended: the next one waits for the baseline ---
# The first run is ended at its deadline while it holds 30 GiB, which come back 2 s later.
cat > child.sh <<EOF
$speak
case "\$*" in
*--batch=1*)
    hello
    begin context
    live context
    take 4026001 $((30 * gib))
    : > "$PWD/holds"
    sleep 300 ;;
esac
all
bye
EOF
machine
rm -f holds
{
    until [ -e holds ]; do sleep 0.1; done
    sleep 3
    machine
} &
start=$(now)
sweep s.ini returns --set study.timeout=1s
wait
code_is 0
rows_are "r-batch-1-t1|timeout|$quarter
r-batch-2-t1|ok|$quarter
r-batch-3-t1|ok|$quarter
r-batch-4-t1|ok|$quarter" run,status,device_used_before_bytes phase=run
[ $(($(now) - start)) -ge 3000 ] || fail "nobody waited for the baseline"

# It never comes back: not judged, and no child was started on it.
machine
sweep s.ini dirty --set study.timeout=1s --set launch.settle=300ms
code_is 3
rows_match "^dirty\\|\\|$((30 * gib + quarter))\\|\\|\$" status,fits,device_used_before_bytes,\
exit_code,wall_ns phase=run run!=r-batch-1-t1
rows_match 'are in use on the card, 268435456 were when the study began' error phase=run status=dirty

# --- a neighbour gives back 7.23 GiB in the middle: nothing is subtracted, nothing blamed on us ---
cuda_study one.ini 'devices = 0'
before=$((10 * gib))
machine "process 0 4026001 $before"
cat > child.sh <<EOF
$speak
all
live warm_forward warm 2
give 4026001
take 4026001 $((before - 7763153387))
sleep 0.3
bye
EOF
sweep one.ini neighbour
code_is 0
rows_match "^ok\\|yes\\|$before\\|$((before - 7763153387))\\|use of the card by others moved" \
    status,fits,foreign_start_bytes,foreign_end_bytes,warning phase=run
cells driver_peak_bytes,device_sampled_peak_bytes,process_sampled_peak_bytes > numbers
if grep -q -- - numbers || grep -qE '[0-9]{15}' numbers; then fail "a negative number"; fi

# A refusal in such a run decides nothing.
machine "process 0 4026001 $before"
cat > child.sh <<EOF
$speak
hello
begin context
end context
take 4026002 $before
line 'fail\tstatus=oom\tphase=model_load\terror=refused\trefused_by=device\trefused_bytes=4096'
exit 3
EOF
sweep one.ini moved
code_is 3
rows_match '^dirty\|\|refused\|device\|4096$' status,fits,error,refused_by,refused_bytes phase=run
# Nor where processes are not told and only the card's own figure shows it.
machine 'no-processes 3' "process 0 4026001 $before"
sweep one.ini moved-unseen
rows_match '^dirty\|\|\|\|use of the card by others moved' \
    status,fits,foreign_start_bytes,foreign_end_bytes,warning phase=run

# --- a neighbour takes 30 GiB and gives them back before the end: both looks see nothing ---
# Seen in the samples, where processes are told; a process that has gone is nobody's.
sleep 60 &
neighbour=$!
machine
for pid in $neighbour 4026003; do
    cat > child.sh <<EOF
$speak
hello
begin context
end context
take $pid $((30 * gib))
sleep 0.5
line 'fail\tstatus=oom\tphase=model_load\terror=refused\trefused_by=device\trefused_bytes=4096'
give $pid
sleep 0.2
exit 3
EOF
    sweep one.ini "between-$pid"
    code_is 3
done
rows_match '^oom\|no\|' status,fits,warning phase=run
if [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then
    swept=between-$neighbour
    rows_match "^dirty\\|\\|0\\|0\\|use of the card by others moved during the run: 0 bytes, \
$((30 * gib)) while it ran" status,fits,foreign_start_bytes,foreign_end_bytes,warning phase=run
fi
kill $neighbour

# Seen by the child, where they are not: more is in use than it and its libraries hold.
machine 'no-processes 3'
cat > child.sh <<EOF
$speak
line "hello\tdevice_capacity_bytes=$((80 * gib))"
begin libraries
line "end\tphase=libraries\treserved_end_bytes=0\tdevice_used_end_bytes=$gib"
begin model_load
line 'fail\tstatus=oom\tphase=model_load\terror=refused\trefused_by=device\trefused_bytes=4096\
\treserved_peak_bytes=$((30 * gib))\tfree_bytes_at_failure=$((19 * gib))'
exit 3
EOF
sweep one.ini beside
code_is 3
rows_match "^dirty\\|\\|\\|use of the card by others moved during the run: $gib bytes, \
$((61 * gib - 30 * gib)) when it was refused" status,fits,foreign_end_bytes,warning phase=run

# --- a driver that lists a dead child a moment longer: an honest refusal stays one ---
machine
cat > child.sh <<EOF
$speak
hello
begin context
take 4026001 $((30 * gib))
line 'fail\tstatus=oom\tphase=context\terror=refused\trefused_by=device\trefused_bytes=4096'
exit 3
EOF
{
    until grep -q 'process 0 4026001' machine; do sleep 0.05; done
    sleep 0.2
    machine
} &
sweep one.ini slow
wait
code_is 3
rows_are 'oom|no|device|' status,fits,refused_by,warning phase=run

# --- one call that fails between two runs is no loss of the card ---
machine
cat > child.sh <<EOF
$speak
all
bye
EOF
mkdir busy
cat > busy/mpirun <<EOF
#!/bin/sh
"$(command -v mpirun)" "\$@"
code=\$?
case "\$*" in
*--batch=2*)
    echo 'fail 10' >> "$PWD/machine" ;;
esac
exit \$code
EOF
chmod +x busy/mpirun
{
    until grep -q '^fail' machine; do sleep 0.01; done
    sleep 0.1
    machine
} &
PATH=$PWD/busy:$PATH sweep s.ini busy-driver
wait
code_is 0
rows_match '^ok$' status phase=run
[ "$(cells run phase=run | wc -l)" = 4 ] || fail "the night ended with one failed call"

# --- rows that were not written yet are of the card that they were made on ---
machine
cuda_study any.ini '[sweep batch]' 'values = 1, 2, 3, 4'
CUDA_VISIBLE_DEVICES=GPU-aaaa1111-0 sweep any.ini other --keep-runs
code_is 0
head -n 1 other/rows.csv > header
cp header other/rows.csv
CUDA_VISIBLE_DEVICES=GPU-bbbb2222-0 sweep any.ini other --resume
code_is 0
rows_match '^GPU-bbbb2222-0\|Fast$' device_uuid,device_name phase=run
# What cannot be read is made again.
cp header other/rows.csv
rm -rf other/runs/r-batch-1-t1
mkdir other/runs/r-batch-1-t1
mkfifo other/runs/r-batch-1-t1/shard.0
CUDA_VISIBLE_DEVICES=GPU-bbbb2222-0 sweep any.ini other --resume
code_is 0
[ "$(cells run phase=run status=ok | sort -u | wc -l)" = 4 ] || fail "not every run is there"

# --- samples: of a phase are those that were taken while it ran ---
# The page still names the phase when it has failed and the process is leaving.
machine
cat > child.sh <<EOF
$speak
hello
begin context
live context
take 4026001 $((20 * gib))
sleep 0.5
end context
give 4026001
sleep 0.3
begin model_load
live model_load
line 'fail\tstatus=oom\tphase=model_load\terror=refused\trefused_by=device\trefused_bytes=4096'
sleep 0.5
exit 3
EOF
sweep one.ini samples
rows_match "^$((20 * gib + quarter))\\|[1-9]" device_sampled_peak_bytes,device_sample_count \
    phase=context
rows_are '|' device_sampled_peak_bytes,device_sample_count phase=model_load

# --- the card is another between two runs: said, and the boundary begins again (case N10) ---
{
    sed '/^\[sweep/,$d' one.ini
    printf '%s\n' '[boundary batch]' 'to = 8' 'confirm = 1'
} > boundary.ini
machine
echo $((80 * gib)) > capacity
cat > child.sh <<EOF
line() { printf "%b\n" "\$1" >> "\$HIGHWATER_PHASES"; }
line "hello\tframework=test\tdevice_capacity_bytes=\$(cat "$PWD/capacity")"
$speak
hello() { :; }
all
bye
echo $((79 * gib)) > "$PWD/capacity"
EOF
sweep boundary.ini split --set 'boundary batch.confirm=2'
code_is 0
rows_are "r-boundary-batch-8-t1|$((80 * gib))
r-boundary-batch-8-t2|$((79 * gib))
r-boundary-batch-8-t3|$((79 * gib))" run,device_capacity_bytes phase=run
said 'fits 8 \(2 of 2 runs\), the largest value asked for; since the card changed \(1 time\)'
grep -q "the card of rank 0 changed: device_capacity_bytes $((80 * gib)) is now $((79 * gib))" \
    split/events.log || fail "events.log does not tell"
sweep boundary.ini split --set 'boundary batch.confirm=2' --resume
code_is 0
said 'nothing to do'

# --- the card is lost: what is complete stays, the rest is left undone, exit 5 ---
machine
cat > child.sh <<EOF
$speak
case "\$*" in
*--batch=3*)
    hello
    begin context
    change append 'fail 15'
    echo 'CUDA error: unknown error' >&2
    exit 1 ;;
esac
all
bye
EOF
sweep s.ini lost-inside
code_is 5
rows_are 'r-batch-1-t1|ok|
r-batch-2-t1|ok|
r-batch-3-t1|device_lost|context' run,status,failed_phase phase=run
rows_match '^the device no longer answers$' warning phase=run status=device_lost

# Lost between two runs: the one that would be next leaves no row.
machine
cat > child.sh <<EOF
$speak
all
bye
EOF
mkdir path
cat > path/mpirun <<EOF
#!/bin/sh
"$(command -v mpirun)" "\$@"
code=\$?
case "\$*" in *--batch=2*) echo 'fail 999' >> "$PWD/machine" ;; esac
exit \$code
EOF
chmod +x path/mpirun
PATH=$PWD/path:$PATH sweep s.ini between
code_is 5
rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok' run,status phase=run
said 'Unknown Error'
grep -q 'device lost' between/events.log || fail "events.log does not tell"
nothing_left
