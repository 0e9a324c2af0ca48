# GPU results equal the reference arithmetic within stated tolerances, odd sizes included.
test=$HIGHWATER_BUILD/tests/gpu-bin/dense_matches_host
[ -x "$test" ] || { echo "skipped: built without CUDA"; exit 77; }
ls /dev/nvidia[0-9]* > /dev/null 2>&1 || { echo "skipped: no device"; exit 77; }
exec "$test"
