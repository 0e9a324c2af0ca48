# forecast from a results folder: recordings of our own workloads forecast what plan predicts, in every
# byte of every phase; what does not belong together is refused.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
command -v python3 >/dev/null || exit 77

# study NAME WORKLOAD DIMENSION VALUES POINT…: a study of the simulated device, recorded
study() {
    name=$1 workload=$2 dimension=$3 values=$4
    kv=${kv:-static}
    shift 4
    {
        printf '[study]\nname = %s\nquestion = What does it need?\nworkload = %s\n' "$name" "$workload"
        printf '[device]\nbackend = simulated\ncapacity = 24GiB\ntrace = always\n'
        [ "$workload" = dense ] || printf '[decoder]\nkv_layout = %s\n' "$kv"
        printf '[point]\n'
        printf '%s\n' "$@"
        printf '[sweep %s]\nvalues = %s\n' "$dimension" "$values"
    } >"$name.ini"
    "$HIGHWATER_BIN/highwater" sweep "$name.ini" --results "$name" --set launch.allow_root=yes >said 2>err || [ -f "$name/rows.csv" ] || fail "$name: $(cat err)"
}
# same FOLDER DIMENSION VALUE: the forecast's phases are the rows of that value
same() {
    expect 0 forecast "$1" --at "$3" --csv
    python3 - "$1/rows.csv" "$2" "$3" out <<'PYTHON' || fail "$1: the forecast is not what was predicted"
import csv, sys
rows, dimension, value, forecast = sys.argv[1:]
wanted = [(r["phase"], r["allocated_peak_bytes"], r["reserved_peak_bytes"]) for r in csv.DictReader(open(rows))
          if r[dimension] == value and r["phase"] != "run"]
made = [(r["phase"], r["allocated_peak_least"], r["reserved_peak_most"]) for r in csv.DictReader(open(forecast))
        if r["phase"]]
assert wanted and made == wanted, (wanted, made)
PYTHON
}
forget() { # FOLDER DIMENSION VALUE: that run's recording
    rm -r "$1/runs/r-$2-$3-t1"
}

study dense dense batch "2, 3, 16" "width = 1024" "context = 128" "dtype = bfloat16"
forget dense batch 16
same dense batch 16
expect 0 forecast dense --limit
has out "forecast of batch, computed from dense/runs/r-batch-2-t1/trace.0.csv (2)"
has out "card 25769803776 bytes" # of the rows
has out "limit: batch "

expect 1 forecast dense --at 9 --dimension colour
has err "no dimension"

study decoder decoder batch "1, 2, 3, 9" "width = 256" "context = 64" "layers = 2" "generated = 4"
forget decoder batch 9
same decoder batch 9
study layers decoder layers "2, 3, 4, 12" "width = 256" "context = 64" "batch = 2" "generated = 4"
forget layers layers 12
same layers layers 12

for kv in grow paged; do # every token makes a cache anew; pages of 16 tokens
    study "tokens-$kv" decoder generated "16, 32, 48, 160" "width = 256" "context = 64" "layers = 2" "batch = 2"
    forget "tokens-$kv" generated 160
    same "tokens-$kv" generated 160
done

# a second dimension, too few of them, a run that failed
cp -r dense mixed
awk -F, 'NR > 1' decoder/rows.csv >>mixed/rows.csv
cp -r decoder/runs/* mixed/runs/
expect 1 forecast mixed --at 9
has err "vary: choose one with --dimension"
forget dense batch 3
expect 1 forecast dense --at 9
has err "dense: 1 recording of runs that ended well"
study small dense batch "2, 60000" "width = 1024" "context = 2048" "dtype = bfloat16" || true
expect 1 forecast small --at 9
has err "1 of runs that failed or retried are of no use"
