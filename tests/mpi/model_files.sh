# A model's files that cannot be read, or that change while a study runs: refused before anything
# is created, or told in rows; nothing that was seen is thrown away.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
cp -r "$HIGHWATER_SOURCE/tests/data/models/tiny-llama" m
cat > s.ini << EOF
[study]
name = model
question = q
workload = decoder
timeout = 60s
[launch]
allow_root = yes
[device]
backend = host
capacity = 1GiB
[point]
dtype = float32
context = 8
generated = 2
warmup = 0
repeats = 1
[decoder]
model = $PWD/m
[sweep batch]
values = 1, 2
EOF
sweep s.ini whole
code_is 0
[ -z "$(cells warning 'phase=model_load' | tr -d '\n')" ] || fail "a warning without a reason"

truncate -s -1 m/model.safetensors
sweep s.ini broken
code_is 1
[ ! -e broken ] || fail "a folder was created"
grep -q truncated broken.err || fail "the reason: $(cat broken.err)"

# damaged behind the plan's back, before the second run: the runs are kept, the night goes on
cp "$HIGHWATER_SOURCE/tests/data/models/tiny-llama/model.safetensors" m/
cat > child << EOF
#!/bin/sh
"$HIGHWATER_BIN/highwater-workload" "\$@"
code=\$?
truncate -s 1000 "$PWD/m/model.safetensors"
exit \$code
EOF
chmod +x child
export HIGHWATER_TEST_CHILD=$PWD/child
sweep s.ini damaged
code_is 0
rows_are "1|ok
2|error" value,status phase=run
cells warning phase=run | grep -q . || fail "nothing is said of the prediction that is missing"

# a folder of config.json alone has generated weights, and says so
unset HIGHWATER_TEST_CHILD
rm m/model.safetensors
sweep s.ini generated
code_is 0
cells warning phase=warm_decode | grep -q "weights are generated" || fail "not told"
