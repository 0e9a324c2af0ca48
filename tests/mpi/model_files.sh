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

# damaged behind the plan's back, during the first run: that run proves nothing of the model that
# the study began with, and none is started with what is there now
cp "$HIGHWATER_SOURCE/tests/data/models/tiny-llama/model.safetensors" m/
replace() { # COMMAND: done to the model when a run has ended
    cat > child << EOF
#!/bin/sh
"$HIGHWATER_BIN/highwater-workload" "\$@"
code=\$?
cd "$PWD/m" && $1
exit \$code
EOF
    chmod +x child
    export HIGHWATER_TEST_CHILD=$PWD/child
}
changed='files changed while the study ran: m-[0-9a-f]{16} of [^ ]*/m is now '
left=': no further run is started, the rest is left for --resume'
replace 'truncate -s 1000 model.safetensors'
sweep s.ini damaged
code_is 1
said "$changed.*model.safetensors: .*$left"
rows_are '1|error|' value,status,fits phase=run
rows_match "^$changed" error phase=run
[ "$(cells predicted_allocated_peak_bytes,predicted_fits,estimated_weights_bytes | sort -u)" = '||' ] ||
    fail "predictions of another model: $(cells predicted_allocated_peak_bytes)"
rows_match '^[1-9]' allocated_peak_bytes phase=model_load # what was seen is kept
grep -q 'stopped: files changed' damaged/events.log || fail "not in the log"

# with its own model again the study goes on
unset HIGHWATER_TEST_CHILD
cp "$HIGHWATER_SOURCE/tests/data/models/tiny-llama/model.safetensors" m/
sweep s.ini damaged --resume --retry error
code_is 0
rows_are '1|error
1|ok
2|ok' value,status phase=run

# a folder of config.json alone has generated weights, and says so
rm m/model.safetensors
sweep s.ini generated
code_is 0
cells warning phase=warm_decode | grep -q "weights are generated" || fail "not told"

# another model in the same folder: between two nights, while a run goes on, or none
cp m/config.json kept
other='s/"vocab_size": *[0-9]*/"vocab_size": 500/'
sed -i "$other" m/config.json
before=$(cksum generated/rows.csv)
sweep s.ini generated --resume --set 'sweep batch.values=1, 2, 3'
code_is 1
said 'files: "m-[0-9a-f]{16} of .*/m" is now "m-[0-9a-f]{16} of .*/m"'
[ "$before" = "$(cksum generated/rows.csv)" ] || fail "rows were touched"
cp kept m/config.json
replace "sed -i '$other' config.json"
sweep s.ini swapped
code_is 1
said "${changed}m-.*$left"
rows_are '1|error' value,status phase=run
cells estimated_weights_bytes | grep -q . && fail "an estimate for another model"
cp kept m/config.json
replace 'rm config.json'
sweep s.ini gone
code_is 1
said "$changed.*config.json.*$left"
rows_are '1|error' value,status phase=run
