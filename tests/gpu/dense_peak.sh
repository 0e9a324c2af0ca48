# The goal of dense: batch 8, context 4096, width 4096, float32 needs at most 4.3 GB (PyTorch
# 5.94 GB), and is no slower than PyTorch where that is installed (2 % for noise).
workload=$HIGHWATER_BIN/highwater-workload
"$workload" --describe | grep -q '"cuda"' || { echo "skipped: built without CUDA"; exit 77; }
ls /dev/nvidia[0-9]* > /dev/null 2>&1 || { echo "skipped: no device"; exit 77; }
HIGHWATER_PHASES=phases "$workload" dense --backend=cuda --batch=8 --context=4096 --width=4096 \
    --sequences=1 --dtype=float32 --warmup=1 --repeats=2
peak=$(grep '^end' phases | grep 'phase=warm_forward' | tr '\t' '\n' |
       sed -n 's/^allocated_peak_bytes=//p' | sort -n | tail -n 1)
echo "warm allocated peak $peak bytes"
[ "$peak" -gt 3700000000 ] && [ "$peak" -le 4300000000 ] || { echo "FAILED: the goal is 4.3 GB"; exit 1; }

code=0
PAIRS=2 sh "$HIGHWATER_SOURCE/tests/bench/dense.sh" float32 > line || code=$?
cat line
[ $code = 77 ] && exit 0
[ $code = 0 ] || { echo "FAILED: the bench"; exit 1; }
ratio=$(sed -n 's/.*ratio \([0-9.]*\);.*/\1/p' line)
awk -v r="$ratio" 'BEGIN { exit !(r > 0 && r <= 1.02) }' || { echo "FAILED: slower than PyTorch"; exit 1; }
