# The allocator counters of every phase: simulated = GPU, to the byte, with every allocator.
test=$HIGHWATER_BUILD/tests/gpu-bin/counters_equal_plan
[ -x "$test" ] || { echo "skipped: built without CUDA"; exit 77; }
ls /dev/nvidia[0-9]* > /dev/null 2>&1 || { echo "skipped: no device"; exit 77; }
exec "$test"
