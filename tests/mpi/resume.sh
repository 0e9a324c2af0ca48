# A study is finished by the same command, whatever became of the first driver: cut tables, lost
# drivers, shards that were not imported, runs that say nothing, grown studies. (cases 9, 75, 82)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini 'fault = ' '[sweep batch]' 'values = 2, 400000, 4' '[input one]'

# The cells that are the same each time, of all rows.
same=$("$bin/highwater" columns --json | awk -F'"' '
    $2 == "name" { name = $4 }
    $2 == "deterministic" && /true/ && name != "meaning" { printf "%s%s", sep, name; sep = "," }')
case $same in *allocated_peak_bytes*) ;; *) fail "no columns are the same each time: $same" ;; esac

sweep s.ini whole --set launch.ranks=2
code_is 0
cells "$same" > whole.facts
[ "$(cells run phase=run | wc -l)" = 8 ] || fail "not the runs that were expected"

# --- cut anywhere: the same table again ---
bytes=$(stat -c %s whole/rows.csv)
cut=0
while [ $cut -lt 20 ]; do
    at=$((bytes * cut / 20 + cut * 37))
    cut=$((cut + 1))
    rm -rf cut
    cp -r whole cut
    truncate -s $at cut/rows.csv
    sweep s.ini cut --resume --set launch.ranks=2
    code_is 0
    cells "$same" > cut.facts
    cmp whole.facts cut.facts || fail "cut at $at: another table"
done

# A hole of NUL bytes behind the last whole run (case N4).
rm -rf hole
cp -r whole hole
head -c 4096 /dev/zero >> hole/rows.csv
sweep s.ini hole --resume --set launch.ranks=2
code_is 0
said '4096 bytes behind the last whole run were cut off; kept as hole/rows.cut-1.csv'
cells "$same" > cut.facts
cmp whole.facts cut.facts || fail "a hole: another table"

# --- nothing to do: nothing is touched ---
before=$(stat -c '%y %s' whole/rows.csv whole/events.log whole/study.ini whole)
sweep s.ini whole --resume --set launch.ranks=2
code_is 0
said 'nothing to do'
[ "$(stat -c '%y %s' whole/rows.csv whole/events.log whole/study.ini whole)" = "$before" ] ||
    fail "a folder with nothing to do was touched"
sweep s.ini whole --set launch.ranks=2
code_is 4
said 'exists already'

# --- a row that is not of the run that it names is not taken for it ---
rm -rf lie
cp -r whole lie
sed -i 's/r-batch-4-t1/r-batch-9-t1/' lie/rows.csv
sweep s.ini lie --resume --set launch.ranks=2 --set 'sweep batch.values=2, 400000, 4, 9'
code_is 1
said 'the rows of r-batch-9-t1 are not of this study: run is r-batch-9-t1, should be r-batch-4-t1'

# --- the driver dies between the end of a run and its rows: the shards are taken over ---
study two.ini '[sweep batch]' 'values = 1, 2'
sweep two.ini taken --keep-runs
code_is 0
cells "$same" > two.facts
cells started_utc,duration_ns > two.times
lines=$(grep -n 'r-batch-2-t1' taken/rows.csv | head -n 1 | cut -d: -f1)
head -n $((lines - 1)) taken/rows.csv > head.csv
cp head.csv taken/rows.csv
sweep two.ini taken --resume --keep-runs
code_is 0
said 'taken over: r-batch-2-t1'
cells "$same" > cut.facts
cmp two.facts cut.facts || fail "taken over: another table"
cells started_utc,duration_ns > cut.times
cmp two.times cut.times || fail "the run was made again"

# Shards of ranks that were stopped with their driver are no end.
cp head.csv taken/rows.csv
sed -i 's/status=ok\(.*phase=run\|\)/status=stopped\1/' taken/runs/r-batch-2-t1/shard.0
grep -q 'status=stopped' taken/runs/r-batch-2-t1/shard.0
sweep two.ini taken --resume
code_is 0
! grep -q 'taken over: r-batch-2-t1' taken.err || fail "a stopped run was taken over"
rows_match '^ok$' status phase=run

# --- ends that say nothing are made again; timeouts when there is more time ---
child slow.sh <<EOF
$speak
case "\$*" in *--batch=2*) [ -e "$PWD/fast" ] || sleep 300 ;; esac
all
bye
EOF
sweep two.ini slow --set study.timeout=1s
code_is 0
sweep two.ini slow --set study.timeout=1s --resume
said 'nothing to do'
: > fast
sweep two.ini slow --set study.timeout=2s --resume
code_is 0
rows_are 'r-batch-1-t1|1|ok
r-batch-2-t1|2|timeout
r-batch-2-t1|3|ok' run,order,status phase=run
grep -q '^timeout *= *2s' slow/study.ini || fail "the frozen study is the old one"
sweep two.ini slow --set study.timeout=2s --resume
said 'nothing to do'
sweep two.ini slow --set study.timeout=2s --resume --retry ok,crashed
code_is 0
rows_are '4
5' order phase=run order!=1 order!=2 order!=3
sweep two.ini slow --set study.timeout=2s --resume --retry timout
code_is 1
said 'retry: "timout" is no status; did you mean "timeout"[?]'
unset HIGHWATER_TEST_CHILD

# --- until: no further run is started ---
study many.ini '[sweep batch]' 'values = 1:40:+1'
child naps.sh << END
$speak
all
sleep 0.2
bye
END
sweep many.ini until --set study.until=4s
code_is 0
said 'until 4s: no further run is started'
made=$(cells run phase=run | wc -l)
[ "$made" -gt 0 ] && [ "$made" -lt 40 ] || fail "$made runs until 4s"
unset HIGHWATER_TEST_CHILD
sweep many.ini until --set study.until=1h --resume
code_is 0
[ "$(cells run phase=run | sort -u | wc -l)" = 40 ] || fail "the rest was not made"

# --- larger values are skipped, also when half of it was made before ---
study skip.ini '[sweep batch]' 'values = 2, 400000, 4, 500000, 600000'
sweep skip.ini skip --set study.after_oom=skip-larger --set study.trials=2
code_is 0
rows_are 'r-batch-2-t1|1|ok
r-batch-2-t2|2|ok
r-batch-400000-t1|3|oom
r-batch-400000-t2|4|oom
r-batch-4-t1|5|ok
r-batch-4-t2|6|ok
r-batch-500000-t1||skipped
r-batch-500000-t2||skipped
r-batch-600000-t1||skipped
r-batch-600000-t2||skipped' run,order,status phase=run
rows_match '^every run at batch 400000 ran out of memory\|$' error,started_utc phase=run status=skipped
rows_match '^\|\|not_reached$' duration_ns,allocated_peak_bytes,status run=r-batch-600000-t2 phase!=run
sweep skip.ini skip --set study.after_oom=skip-larger --set study.trials=2 --resume
said 'nothing to do'
nothing_left
