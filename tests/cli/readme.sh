# What README.md shows is so: its study can be planned, and the decoder's rows are of the studies
# that it names, with what it says differs: of every run that fitted, the plan's peaks are the ones
# that were observed, to the byte.
export LC_ALL=C
highwater=$HIGHWATER_BIN/highwater
fail() { echo "$*" >&2; exit 1; }
sed -n '/^```ini/,/^```/p' "$HIGHWATER_SOURCE/README.md" | sed '/^```/d' >first.ini
"$highwater" plan first.ini --set device.backend=simulated --set device.capacity=80GiB >first.txt ||
    fail "the study of README cannot be planned"
grep -q ' r-input-long-t1 ' first.txt || fail "the study of README: $(cat first.txt)"
# what is there only to show its place has the value that it would have anyway
grep -vE '^(trials|order|seed|timeout|after_oom|phases|ranks|placement|settle|allocator|empty_cache) ' \
    first.ini >short.ini
[ $(($(wc -l <first.ini) - $(wc -l <short.ini))) -eq 11 ] || fail "keys of README's study are gone"
"$highwater" plan short.ini --set device.backend=simulated --set device.capacity=80GiB >short.txt
cmp -s first.txt short.txt || fail "a default of README's study is none"

# A sanitized build checks the allocator at every call: hundreds of requests would take minutes.
! nm "$highwater" | grep -q __asan_init || exit 77

checked=0
plan=
while IFS= read -r line; do
    case $line in
    '# '*) # a study and what differs from the shipped file, as a shell reads it
        eval "set -- ${line#??}"
        study=$1
        shift
        plan=$study.txt
        "$highwater" plan "$HIGHWATER_SOURCE/sweeps/$study.ini" --capacity=140GiB \
            --set point.warmup=0 --set point.repeats=1 "$@" >"$plan" 2>err ||
            fail "$study $*: $(cat err)"
        ;;
    r-*,ok,yes,*)
        run=${line%%,*}
        observed=$(echo "$line" | cut -d , -f 7,8)
        planned=$(awk -v run="$run" '$2 == run { print $4 "," $6; exit }' "$plan")
        [ "$planned" = "$observed" ] || fail "$plan: $run: README $observed, plan $planned"
        checked=$((checked + 1))
        ;;
    esac
done <<ROWS
$(sed -n '/^# kv-context/,/^```/p' "$HIGHWATER_SOURCE/README.md")
ROWS
[ "$checked" -eq 12 ] || fail "README has $checked rows that fitted, not 12"
