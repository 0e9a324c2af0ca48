# How fast replay is, and what a live block costs: sh tests/bench/replay.sh [BUILD]
#
# Events per second on one core (CPU time) for the recorded random traces, repeated in memory; then
# synthetic recordings of up to 10 million events over up to 100,000 live blocks; then the bytes that
# the caching allocator keeps per live block, its holder's pointer included. Without BUILD it builds
# what it needs in a folder of its own, optimised.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
if [ $# -gt 0 ]; then
    build=$1
else
    build=$(mktemp -d)
    trap 'rm -rf "$build"' EXIT
    cmake -S "$top" -B "$build" -DCMAKE_BUILD_TYPE=Release -DHIGHWATER_CUDA=OFF >/dev/null
    cmake --build "$build" --target replay_bench -j "$(nproc)" >/dev/null
fi
traces=$top/tests/data/traces
set -- "$traces/fuzz_a.trace.csv" "$traces/fuzz_oom.trace.csv" "$traces/fuzz_gc.trace.csv" \
    "$traces/fuzz_split64.trace.csv" "$traces/fuzz_round4.trace.csv" \
    "$traces/fuzz_expandable.trace.csv:expandable" "$traces/llama_gen.trace.csv"
"$build/tests/bench/replay_bench" "$@"
