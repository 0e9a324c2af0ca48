# The ways to run a point: split and whole, with emptied caches, with recordings, up the ladder.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"

# agrees: the last sweep's counters are those of its plan, in every phase that ended.
agrees() {
    cells allocated_peak_bytes,reserved_peak_bytes phase!=run status=ok > real
    cells predicted_allocated_peak_bytes,predicted_reserved_peak_bytes phase!=run status=ok \
        > predicted
    cmp real predicted || fail "$swept: plan and run disagree"
}

# Both: two runs of a point, the whole one with one phase for all that comes after libraries.
study s.ini 'empty_cache = between-phases' '[sweep batch]' 'values = 1, 1000000'
sweep s.ini both --set study.phases=both --set study.trials=2
code_is 0
rows_are 'r-batch-1-t1|split|1
r-batch-1-t1-whole|whole|1
r-batch-1-t2|split|2
r-batch-1-t2-whole|whole|2
r-batch-1000000-t1|split|1
r-batch-1000000-t1-whole|whole|1
r-batch-1000000-t2|split|2
r-batch-1000000-t2-whole|whole|2' run,phases,trial phase=run
rows_are 'context|ok
libraries|ok
cycle|ok
run|ok' phase,status run=r-batch-1-t2-whole
rows_are 'context|ok||
libraries|ok||
cycle|oom||yes
run|oom|cycle|' phase,status,failed_phase,partial run=r-batch-1000000-t1-whole
rows_match '^between-phases$' empty_cache
rows_match '^[0-9]+\|$' tokens,result_value phase=cycle status=ok
agrees
nothing_left

# Every way on real memory, two ranks.
for cache in never between-repeats between-phases; do
    study h.ini '[sweep batch]' 'values = 4'
    sweep h.ini "host-$cache" --set study.phases=both --set device.backend=host \
        --set launch.ranks=2 --set device.empty_cache=$cache
    code_is 0
    rows_match "^$cache\$" empty_cache
    rows_match '^mean_square$' result_name phase=cycle
    rows_match '^yes$' fits phase=run
    agrees
    # one result, whichever way it was reached
    [ "$(cells result_value phase=cycle | sort -u)" = \
      "$(cells result_value repeat=2 | sort -u)" ] || fail "whole and split differ"
done

# A cache that grows by copies in little room: what is kept is given back and tried again.
cat > ladder.ini <<'EOF'
[study]
name = ladder
question = Does the plan climb the ladder as the run does?
workload = decoder
[launch]
allow_root = yes
[device]
backend = simulated
capacity = 116MiB
trace = always
[decoder]
kv_layout = grow
heads = 1
kv_heads = 1
head_dim = 128
vocabulary = 32
intermediate = 16
[point]
batch = 256
context = 84
generated = 40
width = 16
layers = 1
dtype = float32
warmup = 0
repeats = 1
[input little]
EOF
for backend in simulated host; do
    sweep ladder.ini ladder-$backend --set device.backend=$backend
    code_is 0
    rows_match '^yes\|yes$' fits,predicted_fits phase=run
    rows_match '^3$' alloc_retries phase=warm_decode
    agrees
done
cells phase,status,allocated_start_bytes,allocated_peak_bytes,allocated_end_bytes,\
reserved_start_bytes,reserved_peak_bytes,reserved_end_bytes,requested_peak_bytes phase!=run \
    > child
trace=$swept/runs/r-input-little-t1/trace.0
for how in '--device-total 116MiB' "--segments $trace.segments.csv"; do
    # shellcheck disable=SC2086
    "$bin/highwater" replay $trace.csv $how > replayed.csv
    tail -n +2 replayed.csv | cut -d, -f1-9 | tr , '|' | cmp - child ||
        fail "the replay $how differs"
done

# Recordings: always, for failed runs, never; of each rank.
study t.ini '[sweep batch]' 'values = 1, 1000000'
traces() { (cd "$swept/runs" && ls -d */trace.*) 2> /dev/null | tr '\n' ' '; }
sweep t.ini always --set device.trace=always --set launch.ranks=2
both="r-batch-1-t1/trace.0.csv r-batch-1-t1/trace.0.segments.csv"
failed="r-batch-1000000-t1/trace.0.csv r-batch-1000000-t1/trace.0.segments.csv "
all="$both $(echo "$both" | sed s/trace.0/trace.1/g)"
[ "$(traces)" = "$all $(echo "$all" | sed s/batch-1-/batch-1000000-/g) " ] ||
    fail "always: $(traces)"
rows_match '^trace=always$' options
sweep t.ini failed --set device.trace=on-failure
[ "$(traces)" = "$failed" ] || fail "on-failure: $(traces)"
[ "$(ls failed/runs)" = r-batch-1000000-t1 ] || fail "runs: $(ls failed/runs)"
"$bin/highwater" replay failed/runs/r-batch-1000000-t1/trace.0.csv --device-total 1GiB > out
grep -q '^cold_forward,oom,\|^inputs,oom,' out || fail "the failed run's recording: $(cat out)"
sweep t.ini kept --set device.trace=on-failure --keep-runs
[ "$(traces)" = "$failed" ] || fail "on-failure, kept: $(traces)"
sweep t.ini without
[ -z "$(traces)" ] || fail "never: $(traces)"

# The pasted command records anew.
sh always/runs/r-batch-1-t1/command || fail "the pasted command failed"
[ "$(tail -n 1 always/runs/r-batch-1-t1/shard.0)" = complete ] || fail "no complete shard"
nothing_left
