# Every shipped study opens with its question, can be planned without a device, and its plan holds
# what its comment promises.
export LC_ALL=C
highwater=$HIGHWATER_BIN/highwater
fail() { echo "$*" >&2; exit 1; }
simulated="--set device.backend=simulated --set device.capacity=140GiB"
# A sanitized build checks the allocator at every call: hundreds of requests would take minutes.
sanitized=no
nm "$highwater" | grep -q __asan_init && sanitized=yes
count=0
for study in "$HIGHWATER_SOURCE"/sweeps/*.ini; do
    name=$(basename "$study" .ini)
    count=$((count + 1))
    question=$(sed -n 's/^question  *= *//p' "$study")
    [ "$(head -n 1 "$study")" = "; $question" ] || fail "$name does not open with its question"
    grep -q "^; Expect: " "$study" || fail "$name does not say what to expect"
    grep -q "^; Run: " "$study" || fail "$name does not say how to run it"
    grep -q "^name  *= $name\$" "$study" || fail "$name has another name inside"
    set -- $simulated
    ! grep -q "^backend  *= simulated" "$study" || set --
    [ $sanitized = no ] || case $name in kv-sequences) continue ;; esac
    "$highwater" plan "$study" "$@" >"$name.txt" || fail "$name cannot be planned"
    caution="proves nothing about a language model"
    ! grep -q "^workload  *= decoder" "$study" || caution="decoder without a model: head_dim = 128"
    grep -q "$caution" "$name.txt" || fail "$name: no caution"
done
[ "$count" -ge 6 ] || fail "only $count studies"

has() { grep -Eq "$2" "$1.txt" || fail "$1: no line like $2"; }
has quickstart 'r-batch-256-t1 .* 26071834624 .* yes$'
has quickstart 'r-batch-4096-t1 .* no: cold_forward$'
[ "$(grep -c ' r-.* yes$' quickstart.txt)" -eq 10 ] || fail "quickstart: not ten that fit"
has dense-width 'r-width-131072-t1 .* no: model_load$'
has dense-limit 'r-batch-1408-t1 .* yes$'
has dense-limit 'r-batch-1536-t1 .* no: cold_forward$'
has kv-context 'r-context-131072-t1 .* yes$'
has kv-context 'r-context-1048576-t1 .* no: inputs$'
if [ $sanitized = no ]; then
    has kv-sequences 'r-sequences-96-t1 .* yes$'
    has kv-sequences 'r-sequences-128-t1 .* no: inputs$'
fi
has decoder-batch 'r-batch-80-t1 .* yes$'
has decoder-batch 'r-batch-96-t1 .* no: '
has decoder-batch 'r-batch-112-t1 .* no: cold_prefill$' # what batch costs that sequences do not
has decoder-width 'r-width-12288-t1 .* yes$'
has decoder-width 'r-width-16384-t1 .* no: model_load$'
for name in kv-context decoder-batch decoder-width; do
    [ "$(grep -c ' r-input-.* yes$' "$name.txt")" -eq 3 ] || fail "$name: not three inputs that fit"
done
has unlike-cards 'r-batch-128-t1 .* rank 0 yes; rank 1 yes$'
has unlike-cards 'r-batch-256-t1 .* rank 0 no: cold_forward; rank 1 yes$'
has unlike-cards 'r-batch-1024-t1 .* rank 0 no: cold_forward; rank 1 no: cold_forward$'

# the slopes that the comments state, in bytes: a row of 2048 tokens, a token
peak() { awk -v run="$2" '$2 == run { print $4; exit }' "$1.txt"; }
[ $(($(peak dense-batch r-batch-16-t1) - $(peak dense-batch r-batch-8-t1))) -eq \
    $((8 * 100663296)) ] || fail "dense-batch: another slope"
[ $(($(peak dense-context r-context-8192-t1) - $(peak dense-context r-context-4096-t1))) -eq \
    $((4096 * 49152)) ] || fail "dense-context: another slope"
[ $(($(peak kv-context r-context-131072-t1) - $(peak kv-context r-context-65536-t1))) -eq \
    $((65536 * 159748)) ] || fail "kv-context: another slope" # with 4 bytes of the prompt
