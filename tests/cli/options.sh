# What is the same in every command: help, versions, nearest names, -o, where output goes.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
commands="estimate environment measure plan sweep status report compare replay columns"

expect 0 --version
grep -qE '^highwater [0-9]+\.[0-9]+\.[0-9]+$' out || fail "no version"
expect 0 --help
for command in $commands; do
    grep -qE "^  $command " out || fail "--help lacks $command"
done
# README and --help have every exit code
sed -n '/^enum sweep_outcome/,/^}/s/.* = \([0-9]*\),.*/\1/p' "$HIGHWATER_SOURCE/harness/drive/sweep.h" >codes
[ "$(wc -l <codes)" -ge 9 ] || fail "the exit codes: $(cat codes)"
sed -n '/^| exit code/,/^$/p' "$HIGHWATER_SOURCE/README.md" >table
while read -r code; do
    grep -qE "^  ([0-9]+ )*$code " out || fail "--help lacks exit code $code"
    grep -qE "^\| ([0-9]+, )*$code[, ]" table || fail "README lacks exit code $code"
done <codes
mv out overview
expect 0 help
cmp -s out overview || fail "help is not --help"
expect 1
is_empty out

for command in $commands; do
    if grep -qE "^  $command .*\(not yet\)" overview; then
        expect 1 "$command" x
        has err "not yet"
        for help in --help -h; do
            expect 0 "$command" $help
            has out "usage: highwater $command"
            has out "not yet: "
        done
        continue
    fi
    expect 0 "$command" --help
    has out "usage: highwater $command"
    has out --quiet
    is_empty err
    mv out long
    expect 0 help "$command"
    cmp -s out long || fail "help $command is not $command --help"
    expect 0 "$command" -h
    cmp -s out long || fail "$command -h is not $command --help"
    expect 1 "$command" --qiuet
    is_empty out
done

expect 1 estimat
has err "did you mean estimate?"
expect 1 xyzzy
has err "unknown command 'xyzzy'"
expect 1 help xyzzy
expect 1 estimate --paramters 7
has err "did you mean --parameters?"
expect 1 sweep --resulst x
has err "did you mean --results?"
expect 1 sweep
has err "STUDY.ini is missing"
expect 1 sweep a b
has err "unexpected argument 'b'"

# what the help marks as to come answers "not yet" to any value but its default
for command in $commands; do
    ! grep -qE "^  $command .*\(not yet\)" overview || continue
    expect 0 help "$command"
    sed -n 's/^  \(--[^ ]*\) .*\[not yet\]$/\1/p' out >later
    while read -r option; do
        case $option in
        *=N | *=SIZE | *=X) word=${option%%=*}=5 ;;
        *=*"|"*) word=${option%%=*}=${option##*|} ;;
        *=*) word=${option%%=*}=x ;;
        *) word=$option ;;
        esac
        # a command that only hands the option on sees it when its study is read
        case $command in measure) continue ;; esac
        expect 1 "$command" "$word"
        has err "not yet"
        is_empty out
    done <later
done

# -o writes a new file and never touches an existing one
expect 0 columns -o columns.txt
is_empty out
[ -s columns.txt ] || fail "columns -o wrote nothing"
cp columns.txt before
expect 4 columns --json --output columns.txt
cmp -s columns.txt before || fail "an existing output was touched"
expect 1 columns -o missing/columns.txt
has err missing/columns.txt

# what cannot be written is a failure, and is said
if [ -w /dev/full ]; then
    for command in columns "estimate --parameters 7 --bits 8" --help --version "sweep --help"; do
        code=0
        # shellcheck disable=SC2086
        "$HIGHWATER_BIN/highwater" $command >/dev/full 2>err || code=$?
        [ $code -eq 1 ] || fail "$command >/dev/full: exit code $code"
        has err "standard output"
    done
fi
code=0
"$HIGHWATER_BIN/highwater" columns >&- 2>err || code=$?
[ $code -eq 1 ] || fail "columns >&-: exit code $code"
mkfifo pipe
: <pipe &
{
    exec 3>pipe
    sleep 0.3 # the reader has gone
    code=0
    "$HIGHWATER_BIN/highwater" columns >&3 2>err || code=$?
    [ $code -eq 1 ] || fail "columns into a closed pipe: exit code $code"
}

# standard error closed: the result is the same
"$HIGHWATER_BIN/highwater" columns >out 2>&-
cmp -s out columns.txt || fail "columns differs when standard error is closed"
