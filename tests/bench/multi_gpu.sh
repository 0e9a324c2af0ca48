# Several GPUs of one host: does each rank say what is true of its own card, and what does it cost?
#
#     sh tests/bench/multi_gpu.sh [BUILD [PART…]]      default: build, all of
#                                                      lists neighbour alone time start
#
# Run in an empty folder: multi_gpu.txt (what is printed) and trimmed rows (*.csv) are left in it.
# Prints a line a fact, "ok" or "WRONG" in front of what is judged; exit 1 when something is wrong,
# 77 with fewer than two GPUs. About two minutes on two H200.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$source/build}" && pwd)
[ $# -gt 0 ] && shift
parts=${*:-lists neighbour alone time start}
bin=${MULTI_GPU_BIN:-$build/bin} cells=$build/tests/bin/cells
here=$PWD
folder=$(mktemp -d)
holder=
clean() {
    [ -z "$holder" ] || kill "$holder" 2> /dev/null
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 130' INT TERM
unset CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER HIGHWATER_TEST_CHILD
: > "$folder/wrong"
near=67108864 # bytes: how far a reading may be from an independent one

smi() { timeout 20 nvidia-smi "$@" --format=csv,noheader,nounits; }
say() { printf '%s\n' "$*" | tee -a "$here/multi_gpu.txt"; }
judge() { # CONDITION WORDS…: "yes" is right
    if [ "$1" = yes ]; then shift && say "ok    $*"; else
        shift
        say "WRONG $*"
        echo "$*" >> "$folder/wrong"
    fi
}
is() { if [ "$1" = "$2" ]; then echo yes; else echo no; fi; }
within() { # A B BYTES
    [ -n "$1" ] && [ -n "$2" ] && [ $(($1 - $2)) -le "$3" ] && [ $(($2 - $1)) -le "$3" ] &&
        echo yes || echo no
}

cards=$(smi --query-gpu=pci.bus_id,uuid,memory.total 2> /dev/null | sort | tr -d ' ')
count=$(printf '%s\n' "$cards" | grep -c '^[0-9A-F]*:')
[ "$count" -ge 2 ] || { echo "skipped: $count GPU, two are needed"; exit 77; }
uuid() { printf '%s\n' "$cards" | sed -n "$(($1 + 1))p" | cut -d, -f2; } # of the N-th by PCI address
pci() { printf '%s\n' "$cards" | sed -n "$(($1 + 1))p" | cut -d, -f1; }
total=$(printf '%s\n' "$cards" | cut -d, -f3 | sort -n | head -n 1) # MiB, of the smallest card
row=100870000                                                       # bytes a batch of the point takes
percent() { echo $((total * 1048576 / 100 * $1 / row)); }           # a batch that takes so much
every=$(seq 0 $((count - 1)))
last=$((count - 1))

: > "$here/multi_gpu.txt"
say "$(smi --query-gpu=name,driver_version | sort | uniq -c | sed 's/^ *//' | tr '\n' ';') $(nproc) cores," \
    "$(uname -r), $("$bin/highwater" --version), $(date -u +%F)"

cat > "$folder/study.ini" <<EOT
[study]
name = multi
question = Does each rank say what is true of its own card?
workload = dense
timeout = 60s
[launch]
ranks = per-device
settle = 10s
[device]
backend = cuda
[point]
batch = 1
context = 2048
width = 4096
dtype = bfloat16
warmup = 0
repeats = 1
EOT

# sweep NAME SECTION KEY… -- OPTION…: into $folder/NAME; its exit code in $code.
sweep() {
    name=$1
    shift
    { cat "$folder/study.ini"
      while [ $# -gt 0 ] && [ "$1" != -- ]; do printf '%s\n' "$1" && shift; done
    } > "$folder/$name.ini"
    while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
    [ $# -eq 0 ] || shift
    code=0
    timeout -k 5 100 "$bin/highwater" sweep "$folder/$name.ini" --results "$folder/$name" \
        --set launch.allow_root=yes "$@" < /dev/null > "$folder/$name.err" 2>&1 || code=$?
    [ $code = 0 ] || say "  $name ended with $code: $(tail -n 2 "$folder/$name.err" | tr '\n' ' ')"
}
of() { # NAME COLUMNS CONDITION…
    table=$1
    shift
    "$cells" "$folder/$table/rows.csv" "$@"
}
keep() { # NAME COLUMNS CONDITION…: trimmed rows into NAME.csv
    { echo "$2"
      of "$@" | tr '|' ','
    } > "$here/$1.csv"
}
most() { sort -n | tail -n 1; }
no_sums() { # NAME: neither what people read nor the table has a sum of the ranks' peaks
    "$bin/highwater" report "$folder/$1" > "$folder/report" 2>&1
    "$bin/highwater" status "$folder/$1" >> "$folder/report" 2>&1
    of "$1" run phase=run | sort -u > "$folder/runs"
    found=no
    while read -r run; do
        for column in allocated_peak_bytes reserved_peak_bytes; do
            sum=0 summands=0
            for rank in $every; do
                peak=$(of "$1" $column "run=$run" "rank=$rank" | most)
                [ -z "$peak" ] || { sum=$((sum + peak)) && summands=$((summands + 1)); }
            done
            if [ $summands -gt 1 ] && grep -qw "$sum" "$folder/report" "$folder/$1/rows.csv" "$folder/$1.err"; then
                found="$sum of $run"
            fi
        done
    done < "$folder/runs"
    judge "$(is "$found" no)" "$1: no sum of peaks in report, status, messages and rows ($found)"
}

# --- one run, a row set per card; who is on which card meanwhile ---

tree() { # PID: it and all below it
    echo "$1"
    for child in $(pgrep -P "$1"); do tree "$child"; done
}
foreign='libcuda\.|libcudart|libcublas|libcupti|libnvrtc|libnvidia'
cat > "$folder/nvml_brings.c" << 'EOT'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int (*init)(void) = nvml ? (int (*)(void))dlsym(nvml, "nvmlInit_v2") : NULL;
    char line[4096];
    FILE *maps = init && init() == 0 ? fopen("/proc/self/maps", "r") : NULL;
    while (maps && fgets(line, sizeof line, maps))
        fputs(line, stdout);
    return maps ? 0 : 1;
}
EOT
libraries() { grep -oE "[^/]*($foreign)[^ ]*" | sort -u; } # of maps on standard input
# nvmlInit of some drivers maps libcuda for itself, into every program that only initialises NVML.
${CC:-cc} -O2 "$folder/nvml_brings.c" -o "$folder/nvml_brings" -ldl &&
    "$folder/nvml_brings" | libraries > "$folder/nvml_own"
mapped() { # PID: what of CUDA it has mapped beside NVML and what NVML alone maps
    libraries < "/proc/$1/maps" 2> /dev/null | grep -vxFf "$folder/nvml_own" | tr '\n' ' '
}
ticks() { sed 's/.*) //' "/proc/$1/stat" 2> /dev/null | awk '{ print $12 + $13 }'; }

watch_run() { # PID of the sweep
    rm -f "$folder"/seen.* "$folder"/maps.*
    begin=$(date +%s%N)
    while kill -0 "$1" 2> /dev/null && [ $(($(date +%s%N) - begin)) -lt 60000000000 ]; do
        smi --query-gpu=pci.bus_id,memory.used | tr -d ' ' >> "$folder/seen.memory"
        smi --query-compute-apps=gpu_uuid,pid,process_name | tr -d ' ' > "$folder/apps"
        ls -d $(tree "$1" | sed 's,^,/proc/,') > "$folder/tree" 2> /dev/null
        for process in $(cat "$folder/tree"); do
            pid=${process#/proc/}
            program=$(cat "$process/comm" 2> /dev/null)
            # The driver's own question before the first run is over before there are ranks.
            ! grep -qs -e --describe "$process/cmdline" || continue
            case $program in
            highwater-workl*)
                # What has CUDA mapped is on the cards that it is shown: on one.
                if grep -q 'libcuda\.' "$process/maps" 2> /dev/null; then
                    cat "$process/environ" 2> /dev/null | tr '\0' '\n' | sed -n "s/^CUDA_VISIBLE_DEVICES=/$pid /p" \
                        >> "$folder/seen.children"
                    grep ",$pid," "$folder/apps" >> "$folder/seen.ours"
                fi ;;
            highwater*|mpirun)
                for library in $(mapped "$pid"); do
                    echo "$program $library" >> "$folder/maps.wrong"
                done
                echo "$program" >> "$folder/maps.seen"
                [ "$program" != highwater-rank ] ||
                    echo "$pid $(date +%s%N) $(ticks "$pid")" >> "$folder/seen.ticks"
                grep ",$pid," "$folder/apps" >> "$folder/seen.observers" ;;
            esac
        done
        cat "$folder/apps" >> "$folder/seen.apps"
    done
    touch "$folder/seen.memory" "$folder/seen.children" "$folder/seen.ours" "$folder/seen.observers" \
        "$folder/seen.apps" "$folder/seen.ticks" "$folder/maps.wrong" "$folder/maps.seen"
}

judge_watched() {
    for rank in $every; do
        here_uuid=$(uuid "$rank") here_pci=$(pci "$rank")
        judge "$(is "$(of long device_uuid,device_pci,host phase=run "rank=$rank")" \
            "$here_uuid|pci-$here_pci|h-$(uname -n)")" \
            "rank $rank: rows say $(of long device_uuid,device_pci,host phase=run "rank=$rank")"
        theirs=$(grep "^$here_pci," "$folder/seen.memory" | cut -d, -f2 | most)
        theirs=${theirs:+$((theirs * 1048576))}
        ours=$(of long device_sampled_peak_bytes "rank=$rank" | most)
        judge "$(within "$ours" "$theirs" "$near")" "rank $rank: device peak ${ours:-none} sampled," \
            "nvidia-smi by PCI address ${theirs:-none}, within $near"
        before=$(printf '%s\n' "$idle" | grep "^$here_pci," | cut -d, -f2)
        ours=$(of long device_used_before_bytes phase=run "rank=$rank")
        judge "$(within "$ours" $((before * 1048576)) "$near")" "rank $rank: device before ${ours:-none}," \
            "nvidia-smi $((before * 1048576)), within $near"
        pids=$(grep " $here_uuid\$" "$folder/seen.children" | sort -u | wc -l)
        judge "$(is "$pids" 1)" "card $rank: $pids process of ours with CUDA was shown it"
        if [ -s "$folder/seen.ours" ]; then
            pids=$(grep "^$here_uuid," "$folder/seen.ours" | sort -u | wc -l)
            judge "$(is "$pids" 1)" "card $rank: $pids compute process of ours by nvidia-smi"
        fi
    done
    [ -s "$folder/seen.ours" ] ||
        say "      nvidia-smi names no process of ours here (its list: $(sort -u "$folder/seen.apps" | wc -l))"
    judge "$(is "$(wc -l < "$folder/seen.observers")" 0)" "driver, mpirun and ranks are on no card"
    judge "$(is "$(sort -u "$folder/maps.wrong" | wc -l)$(sort -u "$folder/maps.seen" | tr '\n' ' ')" \
        "0highwater highwater-rank mpirun ")" "maps of $(sort -u "$folder/maps.seen" | tr '\n' ' '):" \
        "no CUDA but what NVML alone maps: $(tr '\n' ' ' < "$folder/nvml_own")($(sort -u "$folder/maps.wrong" |
            tr '\n' ';'))"
    awk -v hz="$(getconf CLK_TCK)" '{ if (!($1 in t)) { t[$1] = $2; c[$1] = $3 } e[$1] = $2; d[$1] = $3 }
        END { for (p in t) if (e[p] - t[p] > 2e9)
            printf "      a rank: %.2f %% of a core over %.1f s, samples included\n",
                   1e11 * (d[p] - c[p]) / hz / (e[p] - t[p]), (e[p] - t[p]) / 1e9 }' \
        "$folder/seen.ticks" | while read -r line; do say "      $line"; done
}

part_lists() {
    idle=$(smi --query-gpu=pci.bus_id,memory.used | tr -d ' ')
    sweep long '[sweep batch]' "values = $(percent 45)" -- --set point.repeats=8 &
    job=$!
    sleep 0.2
    watch_run $job
    wait $job
    judge "$(is "$(of long status phase=run | sort -u)" ok)" "one run on $count cards, each its rows"
    judge_watched
    keep long run,rank,status,device_uuid,device_pci,nvml_index,device_used_before_bytes,device_sampled_peak_bytes,process_sampled_peak_bytes,foreign_start_bytes,foreign_end_bytes,device_sample_count,phase
    turned=$(seq $last -1 0 | tr '\n' ',' | sed 's/,$//')
    turned_uuids=$(for i in $(seq $last -1 0); do uuid "$i"; done | tr '\n' ',' | sed 's/,$//')
    for list in "$turned" "$last" "$turned_uuids" "$(uuid $last)"; do
        export CUDA_VISIBLE_DEVICES="$list"
        rm -rf "$folder/listed"
        sweep listed '[sweep batch]' 'values = 1'
        unset CUDA_VISIBLE_DEVICES
        expected=$(for word in $(echo "$list" | tr ',' ' '); do
            case $word in GPU-*) echo "$word|ok" ;; *) echo "$(uuid "$word")|ok" ;; esac
        done)
        judge "$(is "$(of listed device_uuid,status phase=run)" "$expected")" \
            "CUDA_VISIBLE_DEVICES=$list: rank by rank $(of listed device_uuid phase=run | cut -c 1-12 | tr '\n' ' ')"
    done
}

# --- a neighbour on one card ---

part_neighbour() {
    ${CC:-cc} -O2 -D_GNU_SOURCE "$source/tests/bench/cuda_card.c" -o "$folder/cuda_card" -ldl || return
    bytes=60000000000
    mkfifo "$folder/stdin"
    CUDA_DEVICE_ORDER=PCI_BUS_ID timeout 200 "$folder/cuda_card" hold 0 $bytes "$folder/held" \
        < "$folder/stdin" &
    holder=$!
    exec 8> "$folder/stdin"
    for i in $(seq 100); do [ -s "$folder/held" ] || sleep 0.1; done
    judge "$(is "$(cat "$folder/held" 2> /dev/null)" "$(uuid 0)")" "a neighbour holds $bytes bytes on card 0"
    big=$(percent 65)
    sweep neighbour '[sweep batch]' "values = 1, $big"
    judge "$(is "$(of neighbour status,refused_by phase=run rank=0 "value=$big")" 'oom|device')" \
        "beside it rank 0: $(of neighbour status,failed_phase phase=run rank=0 "value=$big")," \
        "$(of neighbour refused_bytes,free_bytes_at_failure rank=0 status=oom phase!=run) refused|free"
    judge "$(is "$(of neighbour status,fits phase=run rank!=0 | sort -u)" 'ok|yes')" \
        "the others end well with" \
        "$(of neighbour phase status=ok rank!=0 phase!=run "value=$big" | wc -l) rows of phases"
    no_sums neighbour
    keep neighbour run,rank,device_uuid,phase,status,fits,allocated_peak_bytes,reserved_peak_bytes,refused_bytes,free_bytes_at_failure,foreign_start_bytes,foreign_end_bytes
    top=$(($(percent 100) / 100 * 100 + 200))
    sweep neighbour-boundary '[boundary batch]' 'from = 100' "to = $top" 'step = 100' 'confirm = 1'
    grep -o 'boundary batch on .*' "$folder/neighbour-boundary.err" | while read -r line; do
        say "      $line"
    done
    answers=$(sed -n 's/.*boundary batch on .*: fits \([0-9]*\).*fails \([0-9]*\).*/\1 \2/p' \
        "$folder/neighbour-boundary.err")
    judge "$(printf '%s\n' "$answers" | awk -v n="$count" 'NR == 1 { a = $1 } NR > 1 && $1 > a { more++ }
        END { print (NR == n && more == n - 1 ? "yes" : "no") }')" \
        "a boundary for each card, smaller on card 0 ($(of neighbour-boundary run phase=run | sort -u | wc -l) runs)"
    no_sums neighbour-boundary
    keep neighbour-boundary run,order,rank,device_uuid,value,status,fits,failed_phase,foreign_start_bytes phase=run
    exec 8>&-
    wait $holder
    judge "$(is $? 0)" "the neighbour let go"
    holder=
    left=$(smi --query-gpu=pci.bus_id,memory.used | tr -d ' ' | grep "^$(pci 0)," | cut -d, -f2)
    judge "$([ "$left" -lt 10000 ] && echo yes || echo no)" "card 0 has $left MiB in use afterwards"
}

# --- together against alone ---

facts=device_uuid,value,trial,phase,pass,repeat,status,fits,allocated_peak_bytes,reserved_peak_bytes,allocated_end_bytes,reserved_end_bytes,predicted_allocated_peak_bytes,predicted_fits,failed_phase,refused_by,refused_bytes,device_capacity_bytes
part_alone() {
    for how in together alone; do
        begin=$(date +%s%N)
        sweep "$how" '[sweep batch]' "values = 1, 64, $(percent 40), $(percent 130)" -- \
            --set launch.placement=$how
        say "      capacity sweep $how: $(of $how run phase=run | sort -u | wc -l) runs in" \
            "$((($(date +%s%N) - begin) / 1000000)) ms"
        of $how "$facts" | sort > "$folder/$how.facts"
    done
    judge "$(is "$(of alone rank,ranks | sort -u)" '0|1')" "alone every run has one rank, 0"
    lines=$(wc -l < "$folder/together.facts")
    different=$(diff "$folder/together.facts" "$folder/alone.facts" | grep -c '^[<>]')
    judge "$([ "$lines" -gt 0 ] && is "$different" 0)" \
        "together and alone: $lines rows each, $different of them different in allocator, plan and verdict"
    [ "$different" = 0 ] || diff "$folder/together.facts" "$folder/alone.facts" | head -n 6
    for column in device_used_end_bytes free_bytes_at_failure; do
        for how in together alone; do
            of $how device_uuid,value,phase,pass,repeat,$column | sort > "$folder/$how.used"
        done
        say "      $column, largest difference: $(paste -d'|' "$folder/together.used" "$folder/alone.used" |
            awk -F'|' '$6 != "" && $12 != "" { d = $6 - $12; d = d < 0 ? -d : d; if (d > m) m = d; n++ }
                END { printf "%d bytes in %d pairs", m, n }')"
    done
    no_sums together
    for how in together alone; do
        keep $how run,order,rank,device_uuid,value,status,fits,failed_phase,refused_bytes,free_bytes_at_failure,wall_ns phase=run
        begin=$(date +%s%N)
        sweep "boundary-$how" '[boundary batch]' 'from = 1' "to = $(percent 130)" 'step = 2' \
            'confirm = 1' -- \
            --set launch.placement=$how
        say "      boundary $how: $(of "boundary-$how" run phase=run | sort -u | wc -l) runs in" \
            "$((($(date +%s%N) - begin) / 1000000)) ms"
        sed -n 's/.*boundary batch on [a-z]* [0-9]* (\(GPU-[^)]*\)): fits \([0-9]*\).*fails \([0-9]*\).*/\1 fits \2 fails \3/p' \
            "$folder/boundary-$how.err" > "$folder/$how.answers"
        keep "boundary-$how" run,order,rank,device_uuid,value,status,fits,failed_phase,refused_bytes,free_bytes_at_failure phase=run
    done
    while read -r line; do say "      $line"; done < "$folder/together.answers"
    judge "$([ "$(wc -l < "$folder/together.answers")" = "$count" ] &&
        cmp -s "$folder/together.answers" "$folder/alone.answers" && echo yes || echo no)" \
        "the same boundary of each card together and alone: $(tr '\n' ';' < "$folder/alone.answers")"
}

# --- time per point by number of ranks: between the ends of runs that follow each other ---

stamped() { while read -r line; do echo "$(date +%s%N) $line"; done; }
part_time() {
    { cat "$folder/study.ini"; echo '[sweep batch]'; echo 'values = 8'; } > "$folder/time.ini"
    sizes=1
    for ranks in 2 4 8; do [ $ranks -gt "$count" ] || sizes="$sizes $ranks"; done
    for round in 1 2 3; do
        for ranks in $sizes; do
            rm -rf "$folder/time"
            timeout -k 5 60 "$bin/highwater" sweep "$folder/time.ini" --results "$folder/time" \
                --set launch.allow_root=yes --set "launch.ranks=$ranks" --set study.trials=4 \
                2>&1 < /dev/null | stamped | grep ' r-batch.*: ok$' |
                awk 'NR > 1 { print int(($1 - t) / 10000) } { t = $1 }' >> "$folder/time.$ranks"
            [ "$(of time status phase=run | sort | uniq -c | tr -d ' ')" = "$((4 * ranks))ok" ] ||
                judge no "a run of $ranks ranks did not end well"
        done
    done
    for ranks in $sizes; do
        say "      $ranks rank$([ "$ranks" = 1 ] || echo s): $(sort -n "$folder/time.$ranks" | awk -v one="${one:-0}" '
            { a[NR] = $1 } END { m = a[int((NR + 1) / 2)] / 100
                printf "%.1f ms a point (median of %d, %.1f to %.1f)", m, NR, a[1] / 100, a[NR] / 100
                if (one > 0) printf ", %.3f times one rank", m / one }')"
        median=$(sort -n "$folder/time.$ranks" | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] / 100 }')
        [ "$ranks" = 1 ] && one=$median
        [ "$ranks" = 1 ] || judge "$(awk -v m="$median" -v o="$one" 'BEGIN {
            print (o > 0 && m / o <= 1.2 ? "yes" : "no") }')" "$ranks ranks within 1.2 times one"
    done
}

# --- what starting CUDA and asking NVML takes ---

middle() { sort -n | awk '{ a[NR] = $1 } END { printf "%.1f", a[int((NR + 1) / 2)] / 1e6 }'; }
part_start() {
    [ -x "$folder/cuda_card" ] ||
        ${CC:-cc} -O2 -D_GNU_SOURCE "$source/tests/bench/cuda_card.c" -o "$folder/cuda_card" -ldl || return
    for i in 1 2 3 4 5; do
        CUDA_VISIBLE_DEVICES=$(uuid 0) timeout 20 "$folder/cuda_card" start >> "$folder/start.one"
        timeout 20 "$folder/cuda_card" start >> "$folder/start.all"
    done
    for seen in one all; do
        say "      $(tail -n 1 "$folder/start.$seen" | cut -d' ' -f3) visible:" \
            "cuInit $(cut -d' ' -f1 "$folder/start.$seen" | middle) ms," \
            "context $(cut -d' ' -f2 "$folder/start.$seen" | middle) ms (medians of $(wc -l < "$folder/start.$seen"))"
    done
    judge "$(is "$(cut -d' ' -f3 "$folder/start.one" "$folder/start.all" | sort -nu | tr '\n' ' ')" "1 $count ")" \
        "one card visible, then all"
    ${CC:-cc} -std=gnu11 -O2 -D_GNU_SOURCE "-I$source" "$source/tests/bench/nvml_cost.c" \
        "$source/harness/nvml/nvml.c" "$source/harness/base/text.c" -o "$folder/nvml_cost" -ldl || return
    for i in 1 2 3 4 5; do timeout 20 "$folder/nvml_cost" "$(uuid $last)" >> "$folder/nvml"; done
    for what in open find_by_uuid one_sample close; do
        say "      NVML $what: $(grep "^$what " "$folder/nvml" | sort -n -k 2 | sed -n 3p |
            awk '{ printf "%.1f us, of them CPU %.1f us", $2, $3 }') (median of 5)"
    done
    judge "$(is "$(grep -c '^one_sample ' "$folder/nvml")" 5)" "NVML was asked"
}

for part in $parts; do
    began=$(date +%s)
    say "== $part"
    "part_$part"
    say "== $part took $(($(date +%s) - began)) s"
done
say "$(wc -l < "$folder/wrong") wrong"
[ ! -s "$folder/wrong" ]
