# What a run costs beside the work itself. Medians of N interleaved repetitions, in milliseconds:
#
#     sh tests/bench/run_cost.sh [BUILD [N]]       default: build, 9
#
# With a GPU: a bare CUDA program of the same products, mpirun with its own settings and with ours,
# a whole highwater run (driver's share included), a torch process where torch is installed.
# Without one: the same with the simulated device, and the bare program is the workload alone.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$source/build}" && pwd)
times=${2:-9}
bin=$build/bin
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

batch=2 context=128 width=1024 warmup=3 repeats=5
point="--batch=$batch --context=$context --width=$width --sequences=1 --dtype=float32
    --warmup=$warmup
    --repeats=$repeats"
device=simulated
if command -v nvcc > /dev/null && nvidia-smi > /dev/null 2>&1; then
    device=cuda
    nvcc -O2 -arch=native "$source/tests/bench/bare.cu" -o bare -lcublas
fi

cat > study.ini <<EOF
[study]
name = cost
question = What does a run cost beside its work?
workload = dense
[launch]
ranks = 1
[device]
backend = $device
$([ $device = cuda ] || echo 'capacity = 80GiB')
[point]
context = $context
width = $width
dtype = float32
warmup = $warmup
repeats = $repeats
[sweep batch]
values = $batch
EOF

# took NAME COMMAND…: its milliseconds into NAME.ms.
took()
{
    name=$1
    shift
    start=$(date +%s%N)
    "$@" > /dev/null 2> "$name.err" < /dev/null || {
        echo "$name failed: $(cat "$name.err")" >&2
        exit 1
    }
    echo $((($(date +%s%N) - start) / 10000)) >> "$name.ms"
}

# sweep_of TRIALS
sweep_of()
{
    rm -rf results
    "$bin/highwater" sweep study.ini --results results --set "study.trials=$1" -q
}

median()
{
    sort -n "$1" | awk '{ a[NR] = $1 } END { printf "%.1f", a[int((NR + 1) / 2)] / 100 }'
}

bare()
{
    if [ $device = cuda ]; then
        ./bare $batch $context $width $((1 + warmup + repeats))
    else
        "$bin/highwater-workload" dense $point --backend=simulated --capacity=80GiB
    fi
}

ours()
{
    env HWLOC_SYNTHETIC="pack:1 core:$(nproc) pu:1" HWLOC_PLUGINS_PATH="$folder" \
        PMIX_MCA_gds=hash mpirun --oversubscribe --bind-to none --mca plm isolated --mca pml ob1 \
        --mca btl self,vader --mca orte_tmpdir_base "$folder" -n 1 true
}

torch='
import sys, torch
b, c, w, n = (int(a) for a in sys.argv[1:])
x = torch.randn(b, c, w, device="cuda")
m = torch.nn.Sequential(torch.nn.Linear(w, 4 * w), torch.nn.GELU(),
                        torch.nn.Linear(4 * w, w)).cuda()
with torch.no_grad():
    for i in range(n):
        m(x)
torch.cuda.synchronize()
print(torch.cuda.max_memory_allocated())'
has_torch=no
if [ $device = cuda ] && python3 -c 'import torch' 2> /dev/null; then has_torch=yes; fi

# The cost of one more run is that of a sweep of five less that of a sweep of one, by four.
for i in $(seq "$times"); do
    took bare bare
    took mpirun-default mpirun --oversubscribe -n 1 true
    took mpirun-ours ours
    took workload "$bin/highwater-workload" dense $point --backend=$device \
        $([ $device = cuda ] || echo --capacity=80GiB)
    took sweep-1 sweep_of 1
    took sweep-5 sweep_of 5
    echo $((($(tail -n 1 sweep-5.ms) - $(tail -n 1 sweep-1.ms)) / 4)) >> run.ms
    [ $has_torch = no ] || took torch python3 -c "$torch" $batch $context $width \
        $((1 + warmup + repeats))
done

line() { printf '%-44s %8s ms\n' "$1" "$(median "$2.ms")"; }
echo "device $device, dense batch $batch context $context width $width, medians of $times"
if [ $device = cuda ]; then line 'bare CUDA program' bare; else line 'workload alone' bare; fi
line 'mpirun -n 1 true, its own settings' mpirun-default
line 'mpirun -n 1 true, our settings' mpirun-ours
line 'highwater-workload alone' workload
line 'one more highwater run' run
line 'a whole sweep of one run (checks included)' sweep-1
[ $has_torch = no ] || line 'a torch process' torch
awk -v run="$(median run.ms)" -v bare="$(median bare.ms)" -v work="$(median workload.ms)" 'BEGIN {
    printf "run / bare %.2f; beside the workload %.1f ms a run\n", run / bare, run - work }'
[ $has_torch = no ] ||
    awk -v run="$(median run.ms)" -v torch="$(median torch.ms)" 'BEGIN {
        printf "points per hour: highwater %.0f, torch %.0f, ratio %.1f\n", 3600000 / run,
               3600000 / torch, torch / run }'
