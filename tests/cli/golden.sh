# What the programs say, byte for byte, as it was: help texts, columns, the plans of the studies
# that are shipped, the phase lines of the workloads.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
. "$HIGHWATER_SOURCE/tests/golden.sh"
bin=$HIGHWATER_BIN

# tell NAME COMMAND…: what it prints, behind a line that names it.
tell() {
    title=$1
    shift
    echo "=== $title"
    code=0
    "$@" 2>&1 </dev/null || code=$?
    echo "=== exit code $code"
}

{
    tell "--help" "$bin/highwater" --help
    for command in $("$bin/highwater" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
        tell "$command --help" "$bin/highwater" "$command" --help
    done
    tell "highwater-workload --help" "$bin/highwater-workload" --help
} >help
[ "$(grep -c '^=== exit code 0' help)" -ge 12 ] || fail "commands are missing: $(grep === help)"
golden help.txt help

{
    tell columns "$bin/highwater" columns
    tell "columns --json" "$bin/highwater" columns --json
} >columns
golden columns.txt columns

# Plans: text of all, JSON of a small one of each workload and of all by its sum.
cp -r "$HIGHWATER_SOURCE/sweeps" .
: >plans
: >json
if ! is_slow; then
    for study in sweeps/*.ini; do
        set -- "$study" --set device.backend=simulated --set device.capacity=80GiB
        tell "plan $study" "$bin/highwater" plan "$@" >>plans
        "$bin/highwater" plan --json "$@" >one.json
        echo "$study $(cksum <one.json)" >>json
        case $study in */quickstart.ini | */decoder-width.ini) cat one.json >>json ;; esac
    done
    tell "plan, otherwise" "$bin/highwater" plan sweeps/unlike-cards.ini --set study.phases=both \
        --set study.trials=2 --set device.allocator=async --set device.overhead=1GiB \
        --set "boundary context.to=100000" --set study.order=shuffled >>plans
    golden plans.txt plans
    golden plans_json.txt json
fi

# Phase lines, without what is another each time.
varies=$("$bin/highwater" columns --json | awk -F'"' '
    $2 == "name" { name = $4 }
    $2 == "deterministic" && /false/ { printf "%s ", name }')
lines() { # WORKLOAD OPTION…
    : >phases
    echo "=== $*"
    code=0
    HIGHWATER_PHASES=$PWD/phases "$bin/highwater-workload" "$@" 2>&1 || code=$?
    awk -F'\t' -v varies="$varies framework_version program_version" '
        BEGIN { count = split(varies, name, " "); for (i = 1; i <= count; i++) skip[name[i]] = 1 }
        { line = $1
          for (i = 2; i <= NF; i++) {
              column = substr($i, 1, index($i, "=") - 1)
              if (!(column in skip)) line = line " " $i
          }
          print line }' phases
    echo "=== exit code $code"
}
for backend in simulated host; do
    small="--sequences=1 --batch=2 --context=8 --width=64 --dtype=float32 --warmup=1 --repeats=2"
    # shellcheck disable=SC2086
    {
        lines dense --backend=$backend --capacity=1GiB $small
        lines dense --backend=$backend --capacity=40MiB ${small#* } --sequences=100000
        lines dense --backend=$backend --capacity=1GiB $small --phases=whole --allocator=expandable
        lines dense --backend=$backend --capacity=1GiB $small --allocator=direct --seed=8 \
            --fault=warm_forward:oom
        lines dense --backend=$backend --capacity=1GiB $small --fault=inputs:exit-3
        lines decoder --backend=$backend --capacity=1GiB $small --generated=3 --layers=2 \
            --vocabulary=100 --kv-layout=grow --empty-cache=between-repeats
        lines decoder --backend=$backend --capacity=1GiB $small --generated=3 --layers=2 \
            --vocabulary=100 --kv-layout=paged --heads=4 --kv-heads=2 --head-dim=16
    }
done >phase_lines
[ "$(grep -c '^bye' phase_lines)" -ge 8 ] || fail "too few runs ended well"
golden phase_lines.txt phase_lines
