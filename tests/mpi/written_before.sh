# Folders that were written by the code before settings and verdicts were put in one place each
# (tests/data/results), resumed by today's: what is finished stays as it is, the rest is made.
# Among them: a study that a signal ended; a table cut in a row; a finished one. The run whose
# rows were cut left its shard, which is taken over.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
. "$HIGHWATER_SOURCE/tests/golden.sh"
data=$HIGHWATER_SOURCE/tests/data/results

# Cells that are the same each time; versions are not those of then.
same=$("$bin/highwater" columns --json | awk -F'"' '
    $2 == "name" { name = $4 }
    $2 == "deterministic" && /true/ && name !~ /^(program|framework)_version$/ && !seen[name]++ {
        printf "%s%s", sep, name; sep = "," }')
case $same in *allocated_peak_bytes*) ;; *) fail "no columns are the same each time: $same" ;; esac

# What a folder says of builds other than ours: not known, so that it is no difference.
forget_builds() { # FOLDER
    awk '/^  "workload": [{]/ { inside = 1 }
        !inside && !/^  "(program_version|program_build|mpi)":/ { print }
        /^  [}]/ { inside = 0 }' "$1/environment.json" >environment.json
    mv environment.json "$1/environment.json"
}

# resume NAME CODE BYTES: a copy, and everything that is said of it afterwards; so many bytes of
# its rows stay as they are.
resume() {
    name=$1
    cp -r "$data/$name" "$data/$name.ini" .
    chmod -R u+w "$name"
    sweep "$name.ini" "$name" --resume
    code_is 1
    said 'program_build: ".*" is now ".*"' # another build's, unless nobody knows
    diff -r "$data/$name" "$name" >/dev/null || fail "$name: touched though it was refused"
    forget_builds "$name"
    cp "$name/rows.csv" was.csv
    sweep "$name.ini" "$name" --resume
    code_is "$2"
    {
        echo '--- messages'
        cat "$name.err"
        echo '--- cells'
        cells "run,rank,phase,$same"
        echo '--- report'
        "$bin/highwater" report "$name"
        echo '--- status'
        "$bin/highwater" status "$name"
        "$bin/highwater" status "$name" --json
    } >"$name.said"
    golden "resumed_$name.txt" "$name.said"
    cmp -n "$3" was.csv "$name/rows.csv" || fail "$name: rows that were there were changed"
    before=$(stat -c '%y %s' "$name/rows.csv" "$name/events.log" "$name/study.ini")
    sweep "$name.ini" "$name" --resume
    said 'nothing to do'
    [ "$(stat -c '%y %s' "$name/rows.csv" "$name/events.log" "$name/study.ini")" = "$before" ] ||
        fail "$name: touched with nothing to do"
}

size_of() { stat -c %s "$data/$1/rows.csv"; }
resume simulated 0 "$(size_of simulated)"
[ "$(cells run phase=run | sort -u | wc -l)" = 20 ] || fail "not all runs are there"
before=$(grep -n r-context-100000-t1 "$data/host/rows.csv" | head -n 1 | cut -d: -f1)
resume host 0 "$(head -n $((before - 1)) "$data/host/rows.csv" | wc -c)"
grep -q 'taken over: r-context-100000-t1' host.said || fail "the shard was not taken over"
resume finished 0 "$(size_of finished)"
cmp "$data/finished/rows.csv" finished/rows.csv || fail "a finished table was touched"
nothing_left
