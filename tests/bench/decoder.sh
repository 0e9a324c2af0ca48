# The decoder of eight billion parameters on one card, and transformers where it is installed:
#     sh tests/bench/decoder.sh [BUILD]
# A table of Markdown: load, prefill and its peak, a decode step, and the least time in which its
# bytes can be read at the copy's bandwidth, which is measured first. STEPS, REPEATS and POINTS
# ("BATCHxCONTEXT …") may be set. 77: no device.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
workload=$build/bin/highwater-workload
steps=${STEPS:-16}
repeats=${REPEATS:-5}
ls /dev/nvidia[0-9]* > /dev/null 2>&1 || { echo "skipped: no device"; exit 77; }
"$workload" --describe | grep -q '"cuda"' || { echo "skipped: built without CUDA"; exit 77; }
# What another process does on the card would be in every figure.
busy() { nvidia-smi --query-compute-apps=pid --format=csv,noheader 2> /dev/null | grep -q .; }
waited=0
while busy && [ $waited -lt 60 ]; do
    sleep 1
    waited=$((waited + 1))
done
if busy; then echo "the card is in use by others: the figures below are not its own"; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/copy.cu" << 'CODE'
#include <cstdio>
int main()
{
    const size_t bytes = (size_t)4 << 30;
    char *memory;
    cudaEvent_t begin, end;
    float best = 1e9f, ms;
    if (cudaMalloc(&memory, 2 * bytes) != cudaSuccess)
        return 1;
    cudaEventCreate(&begin), cudaEventCreate(&end);
    for (int i = 0; i < 10; i++) {
        cudaEventRecord(begin);
        cudaMemcpyAsync(memory, memory + bytes, bytes, cudaMemcpyDeviceToDevice);
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&ms, begin, end);
        best = ms < best ? ms : best;
    }
    printf("%.0f\n", 2.0 * bytes / best * 1e3);
}
CODE
nvcc -arch=native -o "$folder/copy" "$folder/copy.cu"
rate=$("$folder/copy")
echo "copy: $rate bytes/s, both directions counted"
echo
echo "| point | side | load | prefill | allocated peak | decode step | bytes of a step / copy |"
echo "|---|---|---|---|---|---|---|"

median() { sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }
cell() { grep "^end" "$folder/phases" | grep "phase=$1" | tr '\t' '\n' | sed -n "s/^$2=//p" | median; }
theirs() { sed -n "s/^$1 //p" "$folder/torch" | median; }
line() { # POINT SIDE LOAD PREFILL PEAK STEP LEAST
    awk -v p="$1" -v s="$2" -v l="$3" -v f="$4" -v k="$5" -v d="$6" -v b="$7" 'BEGIN {
        printf "| %s | %s | %.3f s | %.4f s | %.0f | %.2f ms |", p, s, l / 1e9, f / 1e9, k, d / 1e6
        if (b) printf " %.2f ms, ratio %.2f", b / 1e6, d / b
        print " |" }'
}

for point in ${POINTS:-1x8192 8x8192 32x2048}; do
    batch=${point%x*} context=${point#*x}
    rm -f "$folder/phases"
    HIGHWATER_PHASES=$folder/phases "$workload" decoder --backend=cuda --batch="$batch" \
        --context="$context" --generated="$steps" --sequences=1 --width=4096 --layers=32 \
        --dtype=bfloat16 --warmup=1 --repeats="$repeats"
    # weights but the embedding, of which a step reads a row, and keys and values of all tokens
    least=$(awk -v b="$batch" -v c="$context" -v s="$steps" -v r="$rate" 'BEGIN {
        print ((8030261248 - 128256 * 4096) * 2 + b * (c + s / 2) * 131072) / r * 1e9 }')
    step=$(awk -v d="$(cell warm_decode duration_ns)" -v s="$steps" 'BEGIN { print d / s }')
    line "$point" highwater "$(cell model_load duration_ns)" "$(cell warm_prefill duration_ns)" \
        "$(cell warm_prefill allocated_peak_bytes)" "$step" "$least"
    python3 "$here/decoder_transformers.py" "$batch" "$context" "$steps" "$repeats" \
        > "$folder/torch" 2> "$folder/err" || continue
    line "$point" transformers "$(theirs load)" "$(theirs prefill)" "$(theirs peak)" \
        "$(theirs step)" ""
done
