# Each rank says what is true of its own card, a neighbour on one card hurts that one alone, and a
# card alone is what it is together with the others. Needs two GPUs.
"$HIGHWATER_BIN/highwater-workload" --describe | grep -q '"cuda"' ||
    { echo "skipped: built without CUDA"; exit 77; }
command -v nvidia-smi > /dev/null || { echo "skipped: no device"; exit 77; }
exec sh "$HIGHWATER_SOURCE/tests/bench/multi_gpu.sh" "$HIGHWATER_BUILD" lists neighbour alone
