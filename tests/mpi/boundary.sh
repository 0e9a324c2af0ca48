# The largest value that fits, found by runs: few of them when the prediction is right, a bounded
# number when it is wrong, only a refusal by the device moves it, each device has its own, shaking
# ground is told as what was seen, and a search goes on from its rows. (cases 57, N9)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
plain()
{
    study s.ini "$@"
    sed -i '/^\[sweep batch\]/,$d' s.ini
    printf '%s\n' '[boundary batch]' 'from = 1' 'to = 4096' >> s.ini
}
probes() { cells run phase=run rank=0 | wc -l; }
# agree: status and report say of the rows what the sweep said when it had made them.
agree()
{
    grep -o 'boundary batch.*' "$swept.err" > said.lines || fail "the sweep said no boundary"
    count=$(wc -l < said.lines)
    cut -c 21- "$swept/events.log" | grep '^boundary' | tail -n "$count" | cmp - said.lines ||
        fail "events.log: $(cat "$swept/events.log")"
    "$bin/highwater" status "$swept" > status.out
    "$bin/highwater" report "$swept" > report.out
    for out in status.out report.out; do
        grep '^boundary' $out | cmp - said.lines || fail "$out: $(cat $out said.lines)"
    done
    left=0
    case $(cat said.lines) in *'not finished'*) left='about [1-9][0-9]*' ;; esac
    grep -q " runs* done, $left left\$" status.out || fail "status: $(cat status.out)"
}

# --- the prediction is right: 2 + 2 confirm runs at most ---
plain
sweep s.ini right --set device.capacity=48MiB
code_is 0
said 'boundary batch: fits [0-9]+ \(2 of 2 runs\), fails [0-9]+ \(2 of 2\)$'
[ "$(probes)" -le 6 ] || fail "$(probes) runs where 6 are the most"
rows_match '^boundary\|batch$' role,dimension
fits=$(cells value phase=run status=ok | sort -n | tail -n 1)
fails=$(cells value phase=run status=oom | sort -n | head -n 1)
[ $((fits + 1)) = "$fails" ] || fail "$fits fits, $fails fails"
agree
sweep s.ini right --set device.capacity=48MiB --resume
code_is 0
said 'nothing to do'

# The value found fits, three times (case 57).
printf '%s\n' '[sweep batch]' "values = $fits" >> s.ini
sweep s.ini three --set device.capacity=48MiB --set study.trials=3
[ "$(cells run phase=run role=sweep status=ok | wc -l)" = 3 ] || fail "what was found does not fit"
sed -i '/^\[sweep batch\]/,$d' s.ini

# --- the prediction is wrong: children with a boundary of their own ---
# limit RANK-0 RANK-1: largest batch that fits on each.
limits()
{
    child limits.sh <<EOF
$speak
batch=\${*#*--batch=}
batch=\${batch%% *}
case \$HIGHWATER_PHASES in *.1) limit=$2 ;; *) limit=$1 ;; esac
hello
if [ \$batch -gt \$limit ]; then
    begin context
    line "fail\tstatus=oom\tphase=context\terror=refused\trefused_by=${3:-device}\trefused_bytes=9"
    exit 3
fi
all
bye
EOF
}
for limit in 1 777 4096; do
    limits $limit $limit
    sweep s.ini "wrong-$limit" --set device.capacity=48MiB
    code_is 0
    said "boundary batch: fits $limit \\(2 of 2 runs\\), (fails $((limit + 1)) \\(2 of 2\\)|the largest value asked for)\$"
    [ "$(probes)" -le 28 ] || fail "$(probes) runs where 28 are the most"
    agree
done
limits 0 0
sweep s.ini nothing
code_is 3
said 'boundary batch: nothing fits, fails 1 \(2 of 2\)$'

# Only the device moves it: a limit of our own does not, and the search ends all the same.
limits 5 5 limit
sweep s.ini limit --set device.capacity=48MiB
said '; undecided$'
[ "$(probes)" -le 28 ] || fail "$(probes) runs"
agree

# --- unlike devices: each has its own ---
limits 40 100
sweep s.ini two --set launch.ranks=2 --set device.capacity=48MiB,40MiB
code_is 0
said 'boundary batch on rank 0: fits 40 \(2 of 2 runs\), fails 41 \([2-9] of [2-9]\)$'
said 'boundary batch on rank 1: fits 100 \(2 of 2 runs\), fails 101 \(2 of 2\)$'
agree
cells run,order,rank,status phase=run > two.facts

# Cut in the middle and resumed: the same probes.
lines=$(grep -n ',"boundary".*"run"' two/rows.csv | sed -n 12p | cut -d: -f1)
head -n "${lines:-30}" two/rows.csv > cut.csv
cp cut.csv two/rows.csv
sweep s.ini two --set launch.ranks=2 --set device.capacity=48MiB,40MiB --resume
code_is 0
cells run,order,rank,status phase=run > cut.facts
cmp two.facts cut.facts || fail "a resumed search went another way"

# --- shaking ground: 41 fits and fails (case N9) ---
child shakes.sh <<EOF
$speak
batch=\${*#*--batch=}
batch=\${batch%% *}
hello
case \$batch in
41) if [ ! -e "$PWD/shaken" ]; then : > "$PWD/shaken"; else batch=42; fi ;;
esac
if [ \$batch -gt 41 ]; then
    begin context
    line 'fail\tstatus=oom\tphase=context\terror=refused\trefused_by=device\trefused_bytes=9'
    exit 3
fi
all
bye
EOF
sweep s.ini shakes --set device.capacity=48MiB
code_is 0
said 'boundary batch: fits 40 \(2 of 2 runs\), fails 42 \([0-9] of [0-9]\), unstable at 41 \(1 of [23] fitted\)$'
[ "$(probes)" -le 28 ] || fail "$(probes) runs"
agree

# --- all of it shakes: the bound on runs ends the search, and for every reader it is the end ---
# Each value does one thing when it is run first, and the other when it is run again.
child turns.sh <<EOF
$speak
batch=\${*#*--batch=}
batch=\${batch%% *}
hello
fails=\$((batch > 2000))
if [ -e "$PWD/turned.\$batch" ]; then fails=\$((1 - fails)); fi
: > "$PWD/turned.\$batch"
if [ \$fails = 1 ]; then
    begin context
    line 'fail\tstatus=oom\tphase=context\terror=refused\trefused_by=device\trefused_bytes=9'
    exit 3
fi
all
bye
EOF
sweep s.ini turns --set device.capacity=48MiB
said '; not confirmed: the bound on runs$'
[ "$(probes)" = 28 ] || fail "$(probes) runs instead of the bound, 28"
agree

# --- runs that say nothing about the point: the search is left there, --resume goes on ---
limits 40 40
mv limits.sh aside
sweep s.ini unsaid --set device.capacity=48MiB
code_is 3
said 'no fit seen, no failure seen, not judged at [0-9]+ \(2 runs\); not finished$'
rows_are 'launch_failed
launch_failed' status phase=run
agree
mv aside limits.sh
sweep s.ini unsaid --set device.capacity=48MiB --resume
code_is 0
said 'boundary batch: fits 40 \(2 of 2 runs\), fails 41 \(2 of 2\)'
agree
unset HIGHWATER_TEST_CHILD

# --- both ways to run a point: each probe is made in both, the whole one decides ---
sweep s.ini both --set device.capacity=48MiB --set study.phases=both
code_is 0
said 'boundary batch: fits'
rows_match '^r-boundary-batch-[0-9]+-t[0-9]+-whole$' run phases=whole phase=run
[ "$(cells run phases=whole phase=run | sed 's/-whole//')" = \
    "$(cells run phases=split phase=run)" ] || fail "not every probe was made in both ways"
sweep s.ini both --set device.capacity=48MiB --set study.phases=both --resume
said 'nothing to do'
nothing_left
