# forecast: programs of loops from their small recordings to large ones, recordings that were damaged,
# options, and what is printed. (What PyTorch did at larger sizes: unit/forecast_test.c.)
. "$HIGHWATER_SOURCE/tests/helpers.sh"
command -v python3 >/dev/null || exit 77
data=$HIGHWATER_SOURCE/tests/data/forecast

record() { # PROGRAM N…: PROGRAM_N.csv
    program=$1
    shift
    for n in "$@"; do
        [ -f "${program}_$n.csv" ] ||
            python3 "$data/programs.py" "$program" "$n" "${program}_$n.csv" || fail "$program $n"
    done
}
sources() { # PROGRAM N…: N=PROGRAM_N.csv …
    program=$1
    shift
    for n in "$@"; do echo "$n=${program}_$n.csv"; done
}

# equal PROGRAM AT N…: what is made from the small recordings replays as the large one itself
equal() {
    program=$1 at=$2
    shift 2
    [ $# = 2 ] || ! is_slow || return 0
    record "$program" "$at" "$@"
    rm -f made.csv
    # shellcheck disable=SC2046
    expect 0 forecast $(sources "$program" "$@") --at "$at" --write made.csv
    hasnt out irregular
    expect 0 replay made.csv -q
    mv out made
    expect 0 replay "${program}_$at.csv" -q
    cmp -s out made || fail "$program at $at from $*: $(diff out made | head -4)"
}
equal layers 30 2 3
equal layers 30 1 2
equal layers 12 2 3 5
equal foreach 24 1 2
equal foreach 24 2 3
equal foreach 24 2 4 6
equal checkpointing 24 2 3
equal microbatches 50 2 3
equal microbatches 9 3 4 6
equal tokens 100 6 8
equal tokens 60 3 5 8
equal static_cache 1000 4 8
equal static_cache 300 4 8 12
equal steps 12 3 4
equal context 2000 64 128
equal context 2000 64 128 192
equal halves 8 2 4 6

# refused PROGRAM AT WORDS N…
refused() {
    program=$1 at=$2 words=$3
    shift 3
    record "$program" "$@"
    # shellcheck disable=SC2046
    expect 1 forecast $(sources "$program" "$@") --at "$at"
    has err "$words"
    is_empty out
}
refused decreasing 8 "repeats less often at the larger value: decreasing_2.csv:3: in phase step" 2 3
refused squares 20 "not in a way that the recordings explain: squares_5.csv:" 4 5
refused random_frees 20 "follows no rule that the recordings share" 4 5
refused refused 9 "refused_2.csv:5: the recording shows a refused request" 2 3
refused same 9 "the dimension changed nothing" 2 3
refused shrinking 12 "shrinking_4.csv:3 shows would be negative" 2 3 4
refused halves 7 "halves_6.csv:3 shows would be no whole number" 2 4 6
refused steps 5 "the recordings part, and not by a repetition: steps_2.csv:" 1 2
refused layers 9 "one recording does not show what follows the dimension" 2

# --- damage: whatever is done to a recording, it is told and nothing is forecast
damaged() { # WORDS: 2=good.csv 3=bad.csv
    expect 1 forecast 2=good.csv 3=bad.csv --at 8
    has err "$1"
    is_empty out
}
cp "$data/tb_2.trace.csv" good.csv
whole=$data/tb_3.trace.csv
head -2000 "$whole" >bad.csv
damaged "the recordings part"
head -700 "$whole" >bad.csv
damaged "the recordings part"
awk 'NR <= 1500 || NR > 1800' "$whole" >bad.csv
damaged "bad.csv:"
awk -F, -v OFS=, '{ print } NR > 1 { line[NR] = $0 }
    END { for (i = 2; i in line; i++) { $0 = line[i]; if ($1 == "alloc" || $1 == "free") $2 += 100000; print } }' \
    "$whole" >bad.csv
damaged "phases"
awk -F, 'NR == 1 { print; next } $2 ~ /^forward_0/ { on = !on; held = held $0 "\n"; next }
    on { held = held $0 "\n"; next } { print } $1 == "end" && $2 == "inputs" { printf "%s", held; held = "" }
    END { printf "%s", held }' "$whole" >bad.csv
damaged ""
scramble() { # UP TO LINE
    awk -F, -v OFS=, -v last="$1" 'NR > 100 && NR < last && $1 == "alloc" { $3 = $3 * 7 % 999983 + 1 } { print }' \
        "$whole" >bad.csv
}
scramble 500
damaged "the recordings part"
scramble 103
expect 0 forecast 2=good.csv 3=bad.csv --at 8
has out "irregular: "
cp "$data/gb_2.trace.csv" bad.csv
damaged "the recordings part"
awk -F, -v OFS=, '{ print } NR > 1 { line[NR] = $0 }
    END { for (i = 2; i in line; i++) { $0 = line[i]; if ($1 == "alloc" || $1 == "free") $2 += 100000; print } }' \
    "$data/gb_2.trace.csv" >bad.csv
expect 1 forecast 1="$data/gb_1.trace.csv" 2=bad.csv --at 8
has err "phases of the same names repeat"
: >bad.csv
damaged "bad.csv:1: the file is empty"
# a retry shows in the segments beside the recording
record layers 2 3
cp layers_3.csv retried.csv
printf 'after_trace_line,action,bytes,stream,address\n1,segment_alloc,2097152,0,4096\n5,segment_free,2097152,0,4096\n' \
    >retried.segments.csv
expect 1 forecast 2=layers_2.csv 3=retried.csv --at 9
has err "retried.csv:7: the allocator gave memory back to serve this request"

# --- what is printed
two="2=$data/l_2.trace.csv 3=$data/l_3.trace.csv"
card="--capacity 150109880320 --outside 804061184"
# shellcheck disable=SC2086
expect 0 forecast --dimension batch $two --limit $card
has out "limit: batch 17 fits, 18 does not;"
has out "unchecked: a third recording would test it; batch 6 is worth recording"
has out "largest that fits: batch 17: fits (5.7 times the largest recorded)"
has out "refused in backward_1: 18912116736 bytes, by the device with 15218114560 free; 1 retry"
has out "computed from $data/l_2.trace.csv (2), $data/l_3.trace.csv (3)"
# shellcheck disable=SC2086
expect 0 forecast --dimension batch $two --at 17,18 $card --csv
has out '"asked","batch",17,,150109880320,804061184,"caching",,"fits",131115046912,131115046912,144783179776,144783179776'
has out '"asked","batch",18,,150109880320,804061184,"caching","backward_1","oom",'
has out '"computed"'
# shellcheck disable=SC2086
expect 0 forecast --dimension batch $two --at 17,18 --limit $card --json
has out '"verdict": "does not fit"'
has out '"worth_recording": 6'
has out '"failed_phase": "backward_1"'
python3 -m json.tool out >/dev/null || fail "no JSON"
# three: each from the others
mw="256=$data/mw_256.trace.csv 512=$data/mw_512.trace.csv 768=$data/mw_768.trace.csv"
# shellcheck disable=SC2086
expect 0 forecast --dimension width $mw --at 2048
has out "check: width 256 from the others: allocated exact (142669824), reserved exact (157286400), peak in update_0"
hasnt out "a third recording"
# an interval says so
expect 0 forecast 16="$data/rb_16.trace.csv" 32="$data/rb_32.trace.csv" --at 128 --capacity 3200000000
has out "value 128: may not fit"
has out "8 retries"
expect 0 forecast 16="$data/rb_16.trace.csv" 32="$data/rb_32.trace.csv" --at 128 --limit --capacity 16GiB
has out "value 705 fits in every version, 706 not in every one, 738 still in one"
has out "irregular: 6 requests"
has out " bytes = 5.00 GB to 5.65 GB"
# another allocator
# shellcheck disable=SC2086
expect 0 forecast $two --at 16 --allocator expandable
has out "allocator expandable"
# shellcheck disable=SC2086
expect 0 forecast $two --at 16 --allocator direct
has out "reserved peak  not known"

# --- cards
cat >cards.ini <<INI
[H200]
capacity = 150109880320B
outside  = 804061184B
from     = a run
[label 80GB]
capacity = 85520809984B
reserve  = 100MiB
read_by  = nvml
INI
# shellcheck disable=SC2086
expect 0 forecast $two --limit --cards cards.ini --outside 500MB
has out "card H200: 150109880320 bytes"
has out "limit: value 17 fits, 18 does not"
has out "card label 80GB: 85415952384 bytes"
has out "outside the allocator 500000000"
printf '[a]\ncapacity = 7x\nmemory = 5\n[b]\n' >bad.ini
# shellcheck disable=SC2086
expect 1 forecast $two --limit --cards bad.ini
has err "bad.ini:2: capacity"
has err "bad.ini:3: memory: a card has no such key"
has err "bad.ini:4: [b] has no capacity"

# --- what does not go together
wrong() { # WORDS OPTION…
    words=$1
    shift
    # shellcheck disable=SC2086
    expect 1 forecast $two "$@"
    has err "$words"
}
wrong "give --at or --limit"
wrong "--limit needs a card" --limit
wrong "exclude each other" --at 4 --capacity 1GiB --cards cards.ini
wrong "exclude each other" --at 4 --csv --json
wrong "one value" --at 4,5 --write x.csv
wrong "0 is no value" --at 0
wrong "--at:" --at 4,,5
wrong "--device is for a folder" --at 4 --device GPU-1
expect 1 forecast 2="$data/l_2.trace.csv" 2="$data/l_3.trace.csv" --at 4
has err "are both of the value 2"
expect 1 forecast x="$data/l_2.trace.csv" 2="$data/l_3.trace.csv" --at 4
has err "x=$data"
expect 1 forecast nowhere --at 4
has err nowhere
