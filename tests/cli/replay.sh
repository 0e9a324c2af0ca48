# replay: recordings against their expected figures, predictions, capacities, hostile files.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
traces=$HIGHWATER_SOURCE/tests/data/traces

# recorded NAME OPTION…: everything equal, and the output is the expected file itself
recorded() {
    name=$1
    shift
    expect 0 replay "$traces/$name.trace.csv" --segments "$traces/$name.segments.csv" \
        --check "$traces/$name.expected.csv" "$@"
    cmp -s out "$traces/$name.expected.csv" || fail "$name: the output is not the expected file"
    is_empty err
}
limit=9006592819
for name in dense_b2_c128_w1024 train_b2_c128_w1024 llama_train llama_gen fuzz_a; do
    recorded "$name"
done
recorded fuzz_oom --capacity $limit
recorded fuzz_gc --capacity $limit --garbage-collection-threshold 0.6
recorded fuzz_split64 --max-split-size 64MiB
recorded fuzz_round4 --roundup-power2-divisions=4
recorded fuzz_expandable --allocator expandable

# without addresses it is predicted, and said so
expect 0 replay "$traces/fuzz_a.trace.csv" --check "$traces/fuzz_a.expected.csv"
has err "chunk model"
expect 1 replay "$traces/llama_train.trace.csv" --check "$traces/llama_train.expected.csv"
has err "forward_1: allocated_peak is 1257759232, expected 1257234944"
hasnt err "reserved_peak"
expect 1 replay "$traces/fuzz_round4.trace.csv" --segments "$traces/fuzz_round4.segments.csv" \
    --check "$traces/fuzz_round4.expected.csv"
has err "differ from the recording; first: line "
has err "expected"

# a smaller card, as data; another allocator; what has no meaning is empty
expect 0 replay "$traces/fuzz_a.trace.csv" --capacity 2GiB
has err "were refused that the recording has granted, first at line 4265: \
33554432 bytes = 0.03 GB = 0.03 GiB, by the limit"
has out "p7,oom,"
expect 0 replay "$traces/fuzz_a.trace.csv" --allocator direct
grep -qE '^p0,ok,0,[0-9]+,[0-9]+,,,,[0-9]+,,,,,0$' out || fail "direct has figures it cannot have"
expect 0 replay --json "$traces/fuzz_a.trace.csv" --allocator async
has out '"evidence": "computed"'
has out '"inactive_split_end": null'

# the smallest capacity: it runs there, and one page below it does not
expect 0 replay --fit "$traces/fuzz_a.trace.csv"
IFS=, read -r fits refuses allocated fragmentation rest <<LINE
$(tail -1 out)
LINE
[ $((fits - refuses)) -eq 2097152 ] || fail "not one page: $fits $refuses"
[ $((fits - allocated)) -eq "$fragmentation" ] || fail "not the difference: $fragmentation"
expect 0 replay "$traces/fuzz_a.trace.csv" --capacity "$fits"
hasnt err refused
expect 0 replay "$traces/fuzz_a.trace.csv" --capacity "$refuses"
has err "was refused"
expect 0 replay --fit --json "$traces/fuzz_a.trace.csv"
has out "\"fits_at\": $fits"
hasnt err "left out"
expect 0 replay --fit "$traces/fuzz_gc.trace.csv"
has err "3 requests that the recording shows refused are left out, first at line 6474: 289695232 \
bytes = 0.29 GB = 0.27 GiB"
has err "fits in 8864661504 bytes = 8.86 GB = 8.26 GiB, and not in 2 MiB less"
expect 1 replay --fit "$traces/fuzz_a.trace.csv" --device-total 1GiB
has err "refused even by the whole device"

# a recording that ended in a refusal needs at least what it was refused
cat >ended.csv <<'TRACE'
op,id,bytes,stream,address
begin,step,,,
alloc,1,104857600,0,
alloc,2,52428800,0,
oom,,209715200,0,
free,2,,,
end,step,,,
TRACE
expect 0 replay --fit ended.csv
has err "needs at least 367001600 bytes"
has err "209715200 bytes = 0.21 GB = 0.20 GiB were refused (line 5), which is counted"
hasnt err "fits in"
[ "$(tail -1 out | cut -d, -f1,3,6)" = 367001600,367001600,yes ] || fail "not counted: $(cat out)"
expect 0 replay --fit --json ended.csv
has out '"at_least": true'
printf 'alloc,3,1024,0,\n' >>ended.csv # it went on: the refusal is the program's business
expect 0 replay --fit ended.csv
has err "fits in 157286400 bytes"
[ "$(tail -1 out | cut -d, -f6)" = no ] || fail "still at least: $(cat out)"

# a table of settings, the smallest capacity first; the best of them does run there
expect 0 replay --settings "$traces/llama_train.trace.csv"
[ "$(wc -l <out)" -eq 199 ] || fail "$(wc -l <out) lines"
tail -n +2 out | cut -d, -f1 | sort -n -c || fail "not sorted"
sed -n 2p out | grep -q '^1432354816,no,39845888,.*"expandable_segments:True"$' || fail "first: $(sed -n 2p out)"
grep -q ',"max_split_size_mb:32,roundup_power2_divisions:4,garbage_collection_threshold:0.8"$' out ||
    fail "not as PyTorch spells it"
default=$(grep ',caching,0,,0,""$' out | cut -d, -f1)
grep -q "^$default,no,0," out || fail "the default saves something"
expect 0 replay --fit "$traces/llama_train.trace.csv"
[ "$(tail -1 out | cut -d, -f1)" = "$default" ] || fail "--fit says otherwise"
expect 0 replay -q --allocator expandable --capacity 1432354816 "$traces/llama_train.trace.csv"
hasnt out ",oom,"
expect 0 replay --settings --json "$traces/dense_b2_c128_w1024.trace.csv"
has out '"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"'
expect 1 replay --settings --fit "$traces/fuzz_a.trace.csv"
has err "--settings stands alone"

# what does not go together, and what no allocator was asked
expect 1 replay --fit "$traces/fuzz_a.trace.csv" --segments "$traces/fuzz_a.segments.csv"
has err "leave --segments out"
expect 1 replay "$traces/fuzz_a.trace.csv" --ties recorded
has err "needs --segments"
expect 1 replay "$traces/fuzz_a.trace.csv" --allocator direct --segments x
has err "caching allocator"
expect 1 replay "$traces/fuzz_a.trace.csv" --max-split-size 1MiB
has err "max_split_size"
expect 1 replay "$traces/fuzz_a.trace.csv" --roundup-power2-divisions 3
has err "power of two"
expect 1 replay "$traces/fuzz_a.trace.csv" --garbage-collection-threshold 1
has err "garbage_collection_threshold"
expect 1 replay "$traces/fuzz_a.trace.csv" --garbage-collection-threshold 0.5x
expect 1 replay "$traces/fuzz_a.trace.csv" --roundup-power2-division 4
has err "roundup-power2-divisions"
expect 1 replay "$traces/fuzz_a.trace.csv" --capacity 24
has err 'capacity: "24" is 24 bytes, and a capacity at least 1MiB; "24GiB"?'
expect 1 replay "$traces/fuzz_a.trace.csv" --device-total 80
has err '"80GiB"?'
expect 1 replay nothing.csv
has err nothing.csv
hostile() { # LINE WORDS CONTENTS
    printf 'op,id,bytes,stream,address\n%b' "$3" >hostile.csv
    expect 1 replay hostile.csv
    has err "hostile.csv:$1: "
    has err "$2"
    is_empty out
}
hostile 2 "not live" 'free,9,,,\n'
hostile 4 "not live" 'alloc,9,1,0,\nfree,9,,,\nfree,9,,,\n'
hostile 2 "0 bytes" 'alloc,9,0,0,\n'
hostile 2 "2^60" 'alloc,9,1152921504606846976,0,\n'
hostile 2 "2^60" 'alloc,9,18446744073709551615,0,\n'
hostile 3 "fields" 'alloc,9,1,0,\nalloc,10,44'
hostile 2 "NUL" 'alloc,9,1\0000,0,\n'
