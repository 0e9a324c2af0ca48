# What the card says beside what the allocator says: a tensor of 1 GiB shows on the device as
# 1 GiB (to one 2 MiB page), and context and libraries are steps of their own.
workload=$HIGHWATER_BIN/highwater-workload
"$workload" --describe | grep -q '"cuda"' || { echo "skipped: built without CUDA"; exit 77; }
ls /dev/nvidia[0-9]* > /dev/null 2>&1 || { echo "skipped: no device"; exit 77; }

cell() { grep "^end" phases | grep "phase=$1	" | head -n 1 | tr '\t' '\n' | sed -n "s/^$2=//p"; }
fail() { echo "FAILED $allocator: $1"; cut -c 1-300 phases; exit 1; }
near() { # A - B is $3, to one page
    off=$(($1 - $2 - $3))
    [ ${off#-} -le 2097152 ] || fail "$4: off by $off bytes"
}
for allocator in caching direct; do
    rm -f phases
    HIGHWATER_PHASES=phases "$workload" dense --backend=cuda --batch=1 --context=65536 \
        --width=4096 --sequences=1 --dtype=float32 --warmup=0 --repeats=1 "--allocator=$allocator"
    grep '^hello' phases | tr '\t' '\n' | grep -qx evidence=observed || fail "not observed"
    [ -z "$(cell context device_used_start_bytes)" ] || fail "a use before the context"
    context=$(cell context device_used_end_bytes)
    libraries=$(cell libraries device_used_end_bytes)
    model=$(cell model_load device_used_end_bytes)
    inputs=$(cell inputs device_used_end_bytes)
    [ "$context" -gt 0 ] && [ "$libraries" -gt $((context + 33554432)) ] || fail "libraries"
    near "$inputs" "$model" 1073741824 "the input"
    near "$(cell inputs allocated_end_bytes)" "$(cell inputs allocated_start_bytes)" 1073741824 "allocated"
    echo "$allocator: device used $context (context), $libraries (libraries), $model (model_load)," \
        "$inputs (inputs)"
done
