# dense against PyTorch on one card, in alternating processes: dense.sh [DTYPE…]
# HIGHWATER_BIN names the programs' folder; POINT="BATCH CONTEXT WIDTH", PAIRS, REPEATS may be set.
# A line a dtype: medians over all repeats, their ratio, warm allocated peaks. 77: no PyTorch.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
workload=$HIGHWATER_BIN/highwater-workload
point=${POINT:-8 4096 4096}
pairs=${PAIRS:-3}
repeats=${REPEATS:-10}
python3 -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null || {
    echo "skipped: no PyTorch with a device"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
set_point() { batch=$1 context=$2 width=$3; }
# shellcheck disable=SC2086
set_point $point

ours() {
    rm -f "$folder/phases"
    HIGHWATER_PHASES=$folder/phases "$workload" dense --backend=cuda "--batch=$batch" \
        "--context=$context" "--width=$width" --sequences=1 "--dtype=$1" --warmup=3 \
        "--repeats=$repeats"
    grep '^end' "$folder/phases" | grep 'phase=warm_forward' | tr '\t' '\n' > "$folder/warm"
    sed -n 's/^duration_ns=//p' "$folder/warm" >> "$folder/ours"
    sed -n 's/^allocated_peak_bytes=//p' "$folder/warm" | sort -n | tail -n 1 > "$folder/our_peak"
}
theirs() {
    python3 "$here/dense_torch.py" "$batch" "$context" "$width" "$1" 3 "$repeats" > "$folder/out"
    grep -v peak "$folder/out" >> "$folder/theirs"
    sed -n 's/^peak \([0-9]*\) .*/\1/p' "$folder/out" > "$folder/their_peak"
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

for dtype in "${@:-float32}"; do
    rm -f "$folder/ours" "$folder/theirs"
    i=0
    while [ $i -lt "$pairs" ]; do
        ours "$dtype"
        theirs "$dtype"
        i=$((i + 1))
    done
    a=$(median "$folder/ours") b=$(median "$folder/theirs")
    awk -v d="$dtype" -v p="$batch x $context x $width" -v a="$a" -v b="$b" \
        -v x="$(cat "$folder/our_peak")" -v y="$(cat "$folder/their_peak")" 'BEGIN {
        printf "%s %s: highwater %.3f ms, torch %.3f ms, ratio %.4f; peak %.0f against %.0f bytes\n",
            d, p, a / 1e6, b / 1e6, a / b, x, y }'
done
