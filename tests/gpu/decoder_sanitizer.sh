# compute-sanitizer finds no access out of bounds and no race in the decoder, in any layout.
workload=$HIGHWATER_BIN/highwater-workload
PATH=$PATH:/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer
command -v compute-sanitizer > /dev/null || { echo "skipped: no compute-sanitizer"; exit 77; }
"$workload" --describe | grep -q '"cuda"' || { echo "skipped: built without CUDA"; exit 77; }
ls /dev/nvidia[0-9]* > /dev/null 2>&1 || { echo "skipped: no device"; exit 77; }

check() { # TOOL OPTION…
    tool=$1
    shift
    code=0
    compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 99 "$workload" decoder \
        --backend=cuda --warmup=1 --repeats=1 --batch=2 --sequences=2 --layers=2 --heads=6 \
        --kv-heads=2 --intermediate=100 --vocabulary=301 "$@" > log 2>&1 || code=$?
    if [ $code != 0 ]; then
        echo "FAILED $tool $*: exit $code"
        tail -40 log
        exit 1
    fi
    echo "clean: $tool $*"
}
for dtype in float32 bfloat16; do
    check memcheck --dtype=$dtype --width=96 --head-dim=64 --context=70 --generated=5
    check memcheck --dtype=$dtype --width=50 --head-dim=18 --context=33 --generated=20 \
        --kv-layout=paged --kv-window=37 --window=20 --qkv-bias=yes
    check memcheck --dtype=$dtype --width=96 --head-dim=160 --context=40 --generated=5 \
        --kv-layout=grow --tied-embeddings=yes
    check racecheck --dtype=$dtype --width=96 --head-dim=64 --context=70 --generated=3
done
