# estimate: to the byte, as the manual says, and honest about what each figure is.
. "$HIGHWATER_SOURCE/tests/helpers.sh"

expect 0 estimate --parameters 7000000000 --bits 16 --reserve-gib 4
has out "14000000000 bytes = 14.00 GB = 13.04 GiB"
has out "18294967296 bytes = 18.29 GB = 17.04 GiB"
has out computed
has out hypothesis
has out "leaves out"
is_empty err

expect 0 estimate --layers 32 --kv-heads 8 --head-dim 128 --context 8192
has out "1073741824 bytes = 1.07 GB = 1.00 GiB"
expect 0 estimate --layers 32 --kv-heads 8 --head-dim 128 --context 8192 --sequences 4
has out "4294967296 bytes = 4.29 GB = 4.00 GiB"
expect 0 estimate --layers=32 --kv_heads=8 --head_dim=128 --context=8192 --kv-bits=8
has out "536870912 bytes"

# query heads are not KV heads; without KV heads there are as many as heads, and that is said
expect 0 estimate --layers 32 --heads 32 --kv-heads 8 --head-dim 128 --context 8192
has out "1073741824 bytes"
expect 0 estimate --layers 32 --heads 32 --head-dim 128 --context 8192
has out "4294967296 bytes"
has out "kv-heads not given: as many as heads"
expect 1 estimate --layers 32 --heads 32 --kv-heads 5 --head-dim 128 --context 8192
is_empty out

# both at once have a sum, which is a hypothesis only when a reserve is in it
expect 0 estimate --parameters 1000000000 --bits 8 --layers 1 --kv-heads 1 --head-dim 1 --context 1
has out "total     1000000004 bytes"
has out "computed: the sum"
hasnt out hypothesis

expect 0 estimate --parameters 7000000000 --bits 16 --reserve-gib 4 --json
has out '"bytes": 14000000000'
has out '"evidence": "computed"'
has out '"evidence": "assumed"'
has out '"leaves_out"'
expect 0 estimate --parameters 9007199254740993 --bits 8 --json
has out '"bytes": 9007199254740993' # one more than a double holds

# bad input: exit 1, a reason that names the option, nothing on standard output
for bad in "--parameters 7e9 --bits 16" "--parameters -1 --bits 16" "--parameters 0 --bits 16" \
    "--parameters 07 --bits 16" "--parameters 18446744073709551616 --bits 16" \
    "--parameters 18446744073709551615 --bits 16" "--parameters 7 --bits 65" "--parameters 7" \
    "--bits 16" "--reserve-gib 4" "--layers 32" "--sequences 4" \
    "--parameters 7 --bits 16 --reserve-gib 99999999999" \
    "--parameters 7 --bits 16 extra" "--layers 4294967296 --kv-heads 4294967296 --head-dim 1 \
    --context 1" ""; do
    # shellcheck disable=SC2086
    expect 1 estimate $bad
    is_empty out
    has err estimate
done

# what is to come says so
expect 1 estimate --layers 1 --kv-heads 1 --head-dim 1 --context 1 --model .
has err "not yet"
is_empty out

# layouts and windows: what is kept decides
expect 0 estimate --layers 32 --kv-heads 8 --head-dim 128 --context 8192 --window 4096
has out "536870912 bytes"
has out "4096 tokens (the window)"
expect 0 estimate --layers 32 --kv-heads 8 --head-dim 128 --context 8192 --window 8192
has out "1073741824 bytes"
expect 0 estimate --layers 32 --kv-heads 8 --head-dim 128 --context 8193 --kv-layout paged
has out "1075838976 bytes" # 513 pages
has out "8208 tokens (in whole pages of 16)"
expect 0 estimate --layers 1 --kv-heads 1 --head-dim 1 --context 100 --window 17 --kv-layout paged
has out "128 bytes"
has out "the window, in whole pages of 16"
expect 0 estimate --layers 32 --kv-heads 8 --head-dim 128 --context 8193 --kv-layout grow
has out "1073872896 bytes"
has out "there twice"
