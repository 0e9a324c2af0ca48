# A bad study: exit 1, every error on standard error in the form FILE:LINE, nothing on standard
# output, and nothing created.
export LC_ALL=C
highwater=$HIGHWATER_BIN/highwater
fail() { echo "$*" >&2; exit 1; }
cat >bad.ini <<'INI'
[study]
name      = bad
question  = What is wrong here?
workload  = dense
trials    = 0
[launch]
rank      = 2
[device]
backend   = simulated
[sweep batch]
values    = 1, 2, 1,024
[sweep layers]
values    = 1
INI
cat >wanted <<'TEXT'
bad.ini:5: trials: "0" is out of range (1 to 1000000)
bad.ini:7: unknown key "rank" in [launch]; did you mean "ranks"?
bad.ini:8: capacity: must be given for backend simulated
bad.ini:11: values: "024" is not a number: it has no leading zero
bad.ini:12: [sweep layers]: workload dense has no layers, or ignores it
TEXT
for command in plan sweep; do
    code=0
    "$highwater" $command bad.ini >out 2>err || code=$?
    [ $code -eq 1 ] || fail "$command: exit $code"
    [ ! -s out ] || fail "$command: something on standard output"
    sed 's/^highwater: \(error: \)\{0,1\}//' err >said
    diff wanted said || fail "$command: other errors"
    rm out err said
    [ "$(ls | tr '\n' ' ')" = "bad.ini wanted " ] || fail "$command: left $(ls)"
done

# a key of another workload is known, wherever it stands
code=0
"$highwater" plan bad.ini --set point.kv_layout=grow >out 2>err || code=$?
grep -q ' --set point.kv_layout=grow: unknown key .* in \[point\]; it belongs in \[decoder\]$' err ||
    fail "kv_layout: $(cat err)"
rm out err

# overrides are named as such, and repair what the file has wrong
code=0
"$highwater" plan bad.ini --set study.trials=1 --set device.capacity=80Gib >out 2>err || code=$?
[ $code -eq 1 ] || fail "override: exit $code"
grep -q -- '--set device.capacity=80Gib: capacity: "80Gib" has an unknown unit' err ||
    fail "the override is not named"
! grep -q 'trials' err || fail "an override did not replace the value"

# a line far beyond any buffer, in a file that is otherwise good
{
    printf '[study]\nname=n\nquestion=q\nworkload=dense\n[device]\nbackend=simulated\n'
    printf 'capacity=1GiB\n[identity]\ninput_set='
    head -c 70000 /dev/zero | tr '\0' n
    printf '\n[sweep batch]\nvalues=1\n'
} >long.ini
code=0
"$highwater" plan long.ini >out 2>err || code=$?
[ $code -eq 1 ] || fail "long line: exit $code"
grep -q 'long.ini:9: line of 70010 bytes: at most 65536 can be read' err || fail "$(cat err)"

# a file that is not there, a folder, a study from a pipe
for path in missing.ini /; do
    code=0
    "$highwater" plan "$path" >out 2>err || code=$?
    [ $code -eq 1 ] && grep -q "$path" err || fail "$path: exit $code, $(cat err)"
done
