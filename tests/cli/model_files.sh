# Model files that disagree with their index or with config.json: told before anything runs, each
# tensor by name; what can be used nevertheless is warned of.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
cp -r "$HIGHWATER_SOURCE/tests/data/models/tiny-llama" m
cat >study.ini <<'INI'
[study]
name = model
question = what do its files say
workload = decoder
[device]
backend = simulated
capacity = 1GiB
[point]
context = 8
generated = 2
[decoder]
model = m
[sweep batch]
values = 1
INI
rule="decoder without a model: head_dim"
point="--workload decoder --model m --context 8 --generated 2"

# index TENSOR…: an index of m's one file with these tensors
index() {
    for tensor in "$@"; do printf '%s"%s": "model.safetensors"' "$comma" "$tensor" && comma=,; done
}
write_index() { # TOTAL TENSOR…
    total=$1 comma=
    shift
    printf '{"metadata": {"total_size": %s}, "weight_map": {%s}}' "$total" "$(index "$@")" \
        >m/model.safetensors.index.json
}
all=$(tr '{' '\n' <m/model.safetensors | sed -n 's/.*"\([a-z][a-z_.0-9]*\)":$/\1/p')
bytes=$(($(wc -c <m/model.safetensors) - 8 - $(od -An -N4 -tu4 m/model.safetensors)))
[ "$(echo "$all" | wc -l)" -eq 21 ] || fail "the tensors of the model: $all"

# nothing to complain of: the model is described, and the rule is not
expect 0 plan study.ini
has out "decoder of m: LlamaForCausalLM, width 64, 2 layers, 4 heads and 2 key-value heads of 16"
has out "125248 parameters, read from 1 file"
hasnt out "$rule"
hasnt out warning
# shellcheck disable=SC2086
expect 0 sweep study.ini $sweep_consent
has err "decoder of m: "
hasnt err "$rule"
# its results can be read when the model has gone, or from another folder
mv m gone
expect 0 status results/model.simulated
has out "1 fitted"
expect 0 report results/model.simulated
mv gone m
# without a model the rule is said, and the network that it makes at the point
expect 0 plan study.ini --set decoder.model=
has out "$rule"
has out "layers: width 4096, 32 layers, 32 heads and 8 key-value heads of 128, intermediate 14336"
has out "vocabulary 128256: 8030261248 parameters"
without="--set decoder.model= --set decoder.heads=4 --set decoder.vocabulary=100"
# shellcheck disable=SC2086
expect 0 sweep study.ini -o without $sweep_consent $without --set point.width=64 \
    --set point.layers=2
has err "layers: width 64, 2 layers, 4 heads and 1 key-value heads of 64, intermediate 256"
# shellcheck disable=SC2086
expect 0 measure --device simulated --capacity 1GiB $point $measure_consent -o whole.json
has err "decoder of m: "

# a folder without config.json, or a key that the model decides: said of that key, and only there
for wrong in 'model=nowhere: model: cannot open nowhere/config.json' \
    'heads=3: heads: the model.s folder decides it'; do
    expect 1 plan study.ini --set "decoder.${wrong%%:*}"
    grep -q "^highwater: --set decoder.$wrong" err || fail "it does not say $wrong: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "more than one line: $(cat err)"
done

# warned WORDS…: it runs, and plan, sweep and rows say these
warned() {
    expect 0 plan study.ini
    has out "warning: $*"
    expect 0 plan study.ini --json
    has out "\"warning: $*"
    rm -rf warned
    # shellcheck disable=SC2086
    expect 0 sweep study.ini -o warned $sweep_consent
    has err "highwater: warning: $*"
    has warned/rows.csv "$*"
}
# refused WORDS…: nothing runs, nothing is created
refused() {
    expect 1 plan study.ini
    is_empty out
    has err "$*"
    # shellcheck disable=SC2086
    expect 1 sweep study.ini -o refused $sweep_consent
    [ ! -e refused ] || fail "$*: created something"
    has err "$*"
    # shellcheck disable=SC2086
    expect 1 measure --device simulated --capacity 1GiB $point $measure_consent -o refused
    [ ! -e refused ] || fail "$*: wrote something"
    has err "$*"
}

# --- index and shards
# shellcheck disable=SC2086
write_index "$bytes" $all
expect 0 plan study.ini
hasnt out warning
# shellcheck disable=SC2086
write_index $((bytes + bytes / 10)) $all
warned "model.safetensors.index.json: its total_size is $((bytes + bytes / 10)) bytes, the \
shards hold $bytes"
# shellcheck disable=SC2046
write_index "$bytes" $(echo "$all" | grep -v up_proj)
warned "tensor 'model.layers.0.mlp.up_proj.weight' is not in the index but in \
'm/model.safetensors'"
has err "tensor 'model.layers.1.mlp.up_proj.weight' is not in the index"
# shellcheck disable=SC2086
write_index "$bytes" $all model.layers.2.mlp.up_proj.weight model.layers.3.mlp.up_proj.weight
refused "tensor 'model.layers.2.mlp.up_proj.weight' is indexed but not in 'model.safetensors'"
has err "'model.layers.3.mlp.up_proj.weight' is indexed but not in"
rm m/model.safetensors.index.json

# --- files and config.json
config() { sed "$1" m/config.json >new && mv new m/config.json; }
config 's/"num_hidden_layers": 2/"num_hidden_layers": 1/'
refused "m/model.safetensors: tensor model.layers.1.input_layernorm.weight belongs to no part of"
has err "tensor model.layers.1.self_attn.v_proj.weight belongs to no part"
config 's/"num_hidden_layers": 1/"num_hidden_layers": 3/'
refused "m: tensor model.layers.2.mlp.up_proj.weight is missing"
has err "tensor model.layers.2.self_attn.v_proj.weight is missing"
config 's/"num_hidden_layers": 3/"num_hidden_layers": 60/'
refused "and 502 more" # 58 layers of 9 tensors, 20 of them named
config 's/"num_hidden_layers": 60/"num_hidden_layers": 2/'

# a head that is tied and there, untied and missing
config 's/"tie_word_embeddings": false/"tie_word_embeddings": true/'
warned "m/model.safetensors: tensor lm_head.weight is not used: config.json ties the head"
LC_ALL=C sed 's/"lm_head.weight"/"im_head.weight"/' m/model.safetensors >headless
mv headless m/model.safetensors
config 's/"tie_word_embeddings": true/"tie_word_embeddings": false/'
refused "m: tensor lm_head.weight is missing, and config.json does not tie it to the embedding"
has err "tensor im_head.weight belongs to no part"

# --- numbers that cannot be computed with
LC_ALL=C sed 's/"im_head.weight":{"dtype":"F32"/"lm_head.weight":{"dtype":"I32"/' \
    m/model.safetensors >integers && mv integers m/model.safetensors
refused "m/model.safetensors: tensor lm_head.weight: weights of dtype I32 cannot be computed with"
