# The decoder's kernels against plain arithmetic, and (HIGHWATER_BENCH=yes) how fast they are.
# Built here, for this machine's card: the programs are not part of an installation.
set -eu
command -v nvcc >/dev/null || exit 77
ls /dev/nvidia[0-9]* >/dev/null 2>&1 || exit 77
sources=
for name in launch launch_decoder attention_prompt attention_cache; do
    nvcc -std=c++17 -arch=native -O3 -I"$HIGHWATER_SOURCE" -c -o $name.o \
        "$HIGHWATER_SOURCE/kernels/cuda/$name.cu" &
    sources="$sources $name.o"
done
for name in decoder_kernels decoder_bench; do
    nvcc -std=c++17 -arch=native -O3 -I"$HIGHWATER_SOURCE" -c -o $name.o \
        "$HIGHWATER_SOURCE/tests/gpu/$name.cu" &
done
wait
# shellcheck disable=SC2086
nvcc -o decoder_kernels decoder_kernels.o $sources
# shellcheck disable=SC2086
nvcc -o decoder_bench decoder_bench.o $sources -lcublas

for dtype in 0 1 2; do
    { ./decoder_kernels $dtype >log.$dtype 2>&1 && echo ok >done.$dtype; } &
done
wait
cat log.0 log.1 log.2
[ -e done.0 ] && [ -e done.1 ] && [ -e done.2 ]
if [ "${HIGHWATER_BENCH:-no}" = yes ]; then
    ./decoder_bench
fi
