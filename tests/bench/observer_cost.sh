# What watching costs while a child lives:
#
#     sh tests/bench/observer_cost.sh [BUILD [SECONDS]]     default: build, 20
#
# 1. CPU time of driver, rank and mpirun from the child's start to its end, as a share of one core.
#    The goal for driver and rank together is below 1 %; exit 1 when it is missed.
# 2. The child's own time with and without highwater, in pairs.
#
# With a GPU the card is sampled every 100 ms, as in every cuda study; without one there is nothing
# to sample. The child of part 1 sleeps: its own CPU time would only hide ours.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$source/build}" && pwd)
seconds=${2:-20}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
device=simulated
if nvidia-smi > /dev/null 2>&1; then device=cuda; fi
test_bin=$build/tests/bin

cat > study.ini <<EOF
[study]
name = observer
question = What does watching cost?
workload = dense
[launch]
allow_root = yes
ranks = 1
[device]
backend = $device
$([ $device = cuda ] || echo 'capacity = 80GiB')
[point]
dtype = float32
[sweep batch]
values = 1
EOF

# cpu PID: ticks of user and system time, all threads.
cpu()
{
    sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

cat > child <<EOF
#!/bin/sh
: > "$folder/started"
sleep $seconds
until [ -e "$folder/seen" ]; do sleep 0.05; done
EOF
chmod +x child
HIGHWATER_TEST_CHILD=$folder/child "$test_bin/highwater" sweep study.ini --results out -q \
    > out.log 2>&1 &
driver=$!
until [ -e started ]; do
    kill -0 $driver 2> /dev/null || { cat out.log >&2; exit 1; }
    sleep 0.05
done
launcher=$(pgrep -P $driver mpirun)
rank=$(pgrep -P "$launcher" highwater-rank)
sleep 0.5 # the child's start is over
from="$(cpu $driver) $(cpu "$rank") $(cpu "$launcher")"
sleep $((seconds - 1))
to="$(cpu $driver) $(cpu "$rank") $(cpu "$launcher")"
: > seen
wait $driver || true
echo "device $device, child of $seconds s, $(getconf CLK_TCK) ticks a second"
echo "$from $to" | awk -v seconds=$((seconds - 1)) -v hz="$(getconf CLK_TCK)" '{
    split("driver rank mpirun", name, " ")
    for (i = 1; i <= 3; i++) {
        share[i] = 100 * ($(i + 3) - $i) / hz / seconds
        printf "%-8s %6.3f %% of one core\n", name[i], share[i]
    }
    printf "driver and rank together %.3f %%\n", share[1] + share[2]
    exit share[1] + share[2] >= 1 }' || missed=yes

# --- paired runs: the same work, started by hand and by highwater ---
if [ $device = cuda ]; then
    capacity= work='context = 4096|width = 4096|repeats = 60'
    words="--context=4096 --width=4096 --repeats=60 --backend=cuda"
else
    capacity='capacity = 8GiB' work='context = 128|width = 512|repeats = 6'
    words="--context=128 --width=512 --repeats=6 --backend=host --capacity=8GiB"
fi
backend=${words#*--backend=}
cat > pair.ini <<EOF
[study]
name = pair
question = Does watching slow the child?
workload = dense
[launch]
allow_root = yes
ranks = 1
[device]
backend = ${backend%% *}
$capacity
[point]
dtype = float32
$(echo "$work" | tr '|' '\n')
[sweep batch]
values = 1
EOF
for i in 1 2 3 4 5; do
    rm -rf pair phases
    HIGHWATER_PHASES=$folder/phases "$build/bin/highwater-workload" dense --batch=1 --sequences=1 \
        --dtype=float32 --warmup=3 --seed=7 $words
    sed -n 's/^end.*phase=warm_forward.*duration_ns=\([0-9]*\).*/\1/p' phases >> alone
    "$build/bin/highwater" sweep pair.ini --results pair -q > pair.log 2>&1 ||
        { cat pair.log >&2; exit 1; }
    "$test_bin/cells" pair/rows.csv duration_ns phase=warm_forward >> watched
done
median() { sort -n "$1" | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
awk -v alone="$(median alone)" -v watched="$(median watched)" 'BEGIN {
    printf "warm phase alone %.3f ms, watched %.3f ms, ratio %.3f (medians of 5 pairs)\n",
           alone / 1e6, watched / 1e6, watched / alone }'
[ -z "${missed:-}" ]
