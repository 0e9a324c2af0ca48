# compute-sanitizer finds nothing in dense, and finds the access that is illegal on purpose.
workload=$HIGHWATER_BIN/highwater-workload
PATH=$PATH:/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer
command -v compute-sanitizer > /dev/null || { echo "skipped: no compute-sanitizer"; exit 77; }
"$workload" --describe | grep -q '"cuda"' || { echo "skipped: built without CUDA"; exit 77; }
ls /dev/nvidia[0-9]* > /dev/null 2>&1 || { echo "skipped: no device"; exit 77; }

check() {
    compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 99 "$workload" dense --backend=cuda \
        --warmup=1 --repeats=1 "$@" > log 2>&1 || code=$?
}
for dtype in float32 float16 bfloat16; do
    for width in 17 128; do
        code=0
        check --batch=2 --context=3 --width=$width --sequences=2 --dtype=$dtype
        if [ $code != 0 ] || ! grep -q "ERROR SUMMARY: 0 errors" log; then
            echo "FAILED $dtype width $width: exit $code"; tail -40 log; exit 1
        fi
        echo "clean: $dtype width $width"
    done
done
code=0
check --batch=1 --context=1 --width=8 --sequences=1 --fault=inputs:illegal-access
grep -q "Invalid __global__ write" log || { echo "FAILED: the planted fault was not found"; tail -40 log; exit 1; }
echo "the planted fault is found"
