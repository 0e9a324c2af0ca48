# Very many runs, launches stood in for: sh tests/bench/many_runs.sh BUILD [RUNS [REPEATS]]
#
# Appended in constant time each, resumed in seconds, with memory that does not grow with rows.
# Prints time per run over the first and the last tenth, the time to resume and the peak memory of
# the driver with one and with ten phases' rows a run.
set -eu
build=$(cd "${1:?usage: many_runs.sh BUILD [RUNS]}" && pwd)
runs=${2:-100000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
HIGHWATER_TEST_INSTANT=1
export HIGHWATER_TEST_INSTANT
study() { # FILE REPEATS
    printf '%s\n' '[study]' 'name = many' 'question = how many?' 'workload = dense' \
        "trials = $((runs / 10))" '[launch]' 'allow_root = yes' '[device]' \
        'backend = simulated' 'capacity = 1GiB' '[point]' 'context = 8' 'width = 64' \
        'dtype = float32' 'warmup = 0' "repeats = $2" '[sweep batch]' 'values = 1:10:+1' > "$1"
}
peak() { awk '/VmHWM/ { print $2 }' "/proc/$1/status" 2> /dev/null || true; }
# swept FILE DIR [OPTION…]: prints seconds and the peak memory in kB
swept() {
    file=$1 results=$2
    shift 2
    start=$(date +%s%3N)
    "$build/tests/bin/highwater" sweep "$file" --results "$results" "$@" > out 2> err &
    pid=$! most=0
    while kill -0 $pid 2> /dev/null; do
        now=$(peak $pid)
        [ -z "$now" ] || most=$now
        sleep 0.02
    done
    wait $pid || { tail -n 3 err >&2; exit 1; }
    echo "$(($(date +%s%3N) - start)) ms, driver's peak $most kB"
}
for repeats in ${3:-1 10}; do
    study "s$repeats.ini" $repeats
    took=$(swept "s$repeats.ini" "r$repeats" -q)
    echo "$runs runs, $repeats repeats: $took"
    awk -v runs=$runs '/ begin / { n++; t = $2; split(t, p, ":"); s = p[1] * 3600 + p[2] * 60 + p[3]
        if (n == 1) a = s; if (n == int(runs / 10)) b = s
        if (n == runs - int(runs / 10)) c = s; if (n == runs) d = s }
        END { printf "  the first tenth took %d s, the last tenth %d s\n", b - a, d - c }' \
        "r$repeats/events.log"
    echo "  rows.csv has $(wc -l < "r$repeats/rows.csv") lines, $(stat -c %s "r$repeats/rows.csv") bytes"
    took=$(swept "s$repeats.ini" "r$repeats" --resume)
    echo "  nothing to do: $took"
    truncate -s -100 "r$repeats/rows.csv"
    took=$(swept "s$repeats.ini" "r$repeats" --resume)
    echo "  a torn tail: $took"
done
