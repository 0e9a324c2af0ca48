# A whole simulated study: every run, rank, phase and repeat has its row, in plan order, closing
# row last; what was not measured is empty.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"

study s.ini '[sweep batch]' 'values = 1, 2, 8'
sweep s.ini out --set study.trials=2
code_is 0
nothing_left

phases='context||
libraries||
model_load||
inputs||
cold_forward|first|
warmup||
warm_forward|warm|1
warm_forward|warm|2
run||'
for run in 1-t1 1-t2 2-t1 2-t2 8-t1 8-t2; do
    rows_are "$phases" phase,pass,repeat run=r-batch-$run
done
rows_are '1|r-batch-1-t1
2|r-batch-1-t2
3|r-batch-2-t1
4|r-batch-2-t2
5|r-batch-8-t1
6|r-batch-8-t2' order,run phase=run
rows_match '^ok\|\|$' status,partial,error
rows_match '^computed\|simulated\|1\|0\|1073741824\|1\|split$' \
    evidence,backend,schema,rank,device_capacity_bytes,ranks,phases
rows_match '^yes\|yes\|0\|\|[0-9]+\|$' fits,predicted_fits,exit_code,signal,wall_ns,failed_phase \
    phase=run
rows_match '^\|\|$' fits,predicted_fits,wall_ns phase!=run

# Not one invented number: nothing was read from a device, no closing row has counters.
rows_match '^\|*$' device_used_before_bytes,device_sampled_peak_bytes,device_sample_count,\
process_sampled_peak_bytes,foreign_start_bytes,foreign_end_bytes,nvml_reserved_bytes,\
device_used_start_bytes,device_used_end_bytes,driver_peak_bytes,nvml_index,device_uuid,ecc,mig
rows_match '^\|*$' allocated_start_bytes,allocated_peak_bytes,allocated_end_bytes,\
reserved_peak_bytes,peak_weights_bytes,end_weights_bytes,duration_ns phase=run
rows_match '^[0-9]+\|[0-9]+$' allocated_peak_bytes,predicted_allocated_peak_bytes phase!=run

# The plan runs the same code, so it agrees to the byte.
cells allocated_peak_bytes,reserved_peak_bytes phase!=run > real
cells predicted_allocated_peak_bytes,predicted_reserved_peak_bytes phase!=run > predicted
cmp real predicted || fail "plan and run disagree"

# Runs that ended well leave nothing but their rows.
[ -z "$(ls out/runs)" ] || fail "runs/ holds $(ls out/runs)"
sweep s.ini kept --keep-runs
code_is 0
[ -f kept/runs/r-batch-8-t1/shard.0 ] || fail "--keep-runs kept nothing"

# The line in `command` repeats the run.
sh kept/runs/r-batch-8-t1/command || fail "the pasted command failed"
tail -n 1 kept/runs/r-batch-8-t1/shard.0 | grep -qx complete || fail "no complete shard"
memory=$(sed -n 's/^(mkdir -p \([^ ]*\) .*/\1/p' kept/runs/r-batch-8-t1/command)
[ -n "$memory" ] && [ ! -e "$memory" ] && [ ! -e "$(dirname "$memory")" ] || fail "$memory was left"
