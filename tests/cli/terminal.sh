# What strangers wrote, a user's own text, a model's file, a trace or somebody's rows.csv, is shown
# but never acts on a terminal: no controls beyond the newline, no override of direction.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
export LC_ALL=C
esc=$(printf '\033[2J') c1=$(printf '\302\233') rlo=$(printf '\342\200\256')
zero=$(printf '\342\200\213')

# quiet FILE…: nothing hidden in them
quiet() {
    for file in "$@"; do
        tr -d '\n\40-\176\200-\377' <"$file" >controls
        [ ! -s controls ] || fail "$file has controls: $(cat -v "$file")"
        ! grep -q "$(printf '\302[\200-\237]\|\342\200[\213\216\217\250-\256]')" "$file" ||
            fail "$file has hidden characters: $(cat -v "$file")"
    done
}
# shown COMMAND WORDS…: ends well, with nothing hidden and these words in its output
shown() {
    words=$1
    shift
    expect 0 "$@"
    quiet out err
    has out "$words"
}

mkdir "m$rlo" && cp "$HIGHWATER_SOURCE/tests/data/models/tiny-llama/config.json" "m$rlo"
cat >study.ini <<INI
[study]
name = hidden
question = Which${rlo}batch fits?
workload = decoder
[identity]
model_revision = a${zero}b
[device]
backend = simulated
capacity = 1GiB
[point]
context = 8
generated = 1
[decoder]
model = m$rlo
[sweep batch]
values = 1
INI
shown 'Which\xe2\x80\xaebatch fits?' plan study.ini
has out 'decoder of m\xe2\x80\xae: '
shown 'Which\u202ebatch fits?' plan study.ini --json
# shellcheck disable=SC2086
shown hidden/rows.csv sweep study.ini -o hidden $sweep_consent
has err 'decoder of m\xe2\x80\xae: '
quiet hidden/rows.csv hidden/environment.json hidden/events.log
has hidden/rows.csv 'a\xe2\x80\x8bb'
shown hidden status hidden
shown hidden report hidden
# shellcheck disable=SC2086
shown 'a\\xe2\\x80\\x8bb' measure --device simulated --capacity 1GiB --workload decoder --context 8 \
    --generated 1 --model "m$rlo" --set "identity.model_revision=a${zero}b" $measure_consent

# what cannot be done is said as quietly
expect 1 plan "no${esc}such$c1"
quiet err
has err 'no\x1b[2Jsuch\xc2\x9b'
expect 1 "$esc"
quiet err
expect 1 plan study.ini --set "study.question=a$c1"
quiet err
has err 'question=a\xc2\x9b: cannot stand in a study file'
expect 1 plan study.ini "--${rlo}json"
quiet err
expect 1 plan study.ini --set "decoder.model=none$rlo"
quiet err

# somebody's rows
sed "s/\"sweep\",\"batch\"/\"sw${rlo}eep\",\"ba${c1}tch\"/; s/\"cold_prefill\"/\"co${zero}ld\"/" \
    hidden/rows.csv >rows.csv
shown 'sw\xe2\x80\xaeeep of ba\xc2\x9btch' report rows.csv

# a trace
phase="p$esc$c1$rlo"
{
    echo op,id,bytes,stream,address
    printf 'begin,"%s",,,\nalloc,1,512,0,\nend,"%s",,,\nbegin,"-1",,,\nend,"-1",,,\n' \
        "$phase" "$phase"
} >trace.csv
shown '"p\x1b[2J\xc2\x9b\xe2\x80\xae",ok,0,512,512,' replay trace.csv
has out "\"'-1\",ok"
mv out expected.csv
shown "" replay trace.csv --check expected.csv # its own output is what it expects
sed 's/,512,512,/,512,513,/' expected.csv >other.csv
expect 1 replay trace.csv --check other.csv
quiet out err
has err 'p\x1b[2J\xc2\x9b\xe2\x80\xae: allocated_end is 512, expected 513'
shown '"phase": "p\u001B[2J\u009b\u202e"' replay --json trace.csv
sed '3s/512/x/' trace.csv >bad.csv
printf 'op,id,bytes,stream,address\n%s,1,1,0,\n' "$esc$rlo" >worse.csv
for file in bad.csv worse.csv; do
    expect 1 replay $file
    quiet err
done
