# on_rank_failure = stop: the first failure is told to the others, which get a grace and are then
# ended by us; what follows from it is no second cause. (case N5)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini

# Rank 1 fails; the others hang on for ever, one of them with a tree that ignores signals.
child hangs.sh <<EOF
trap '' TERM
$speak
hello
begin context
end context 'allocated_peak_bytes=4096'
begin model_load
case \$HIGHWATER_PHASES in
*.1)
    line 'fail\tstatus=oom\tphase=model_load\terror=refused\trefused_by=device\trefused_bytes=99'
    exit 3 ;;
*.2) setsid sleep 300 & ;;
esac
sleep 300
EOF
start=$(now)
sweep s.ini stop --set launch.ranks=3 --set launch.on_rank_failure=stop
took=$(($(now) - start))
[ $took -lt 16000 ] || fail "stopping took $took ms"
code_is 3
rows_are '0|stopped|model_load|rank 1 failed first: ended by us|
1|oom|model_load|refused|no
2|stopped|model_load|rank 1 failed first: ended by us|' rank,status,failed_phase,error,fits phase=run
rows_are '0|
1|
2|1 process left behind, ended by us' rank,warning phase=run
rows_match '^yes\|stopped$' partial,status phase=model_load rank!=1
rows_match '^4096\|ok$' allocated_peak_bytes,status phase=context
nothing_left

# Peers that notice by themselves end within the grace: their own words are kept, their end is
# no second cause. One that ends well has ended well.
child notices.sh <<EOF
$speak
case \$HIGHWATER_PHASES in
*.1) hello; begin context; echo 'first cause' >&2; exit 4 ;;
*.2) hello; begin context; sleep 1; echo 'lost my peer' >&2; exit 5 ;;
esac
all
sleep 0.5
bye
EOF
sweep s.ini notices --set launch.ranks=3 --set launch.on_rank_failure=stop
code_is 3
rows_are '0|ok|
1|error|first cause
2|stopped|rank 1 failed first: lost my peer' rank,status,error phase=run
nothing_left

# The default lets the others go on.
sweep s.ini finish --set launch.ranks=3
code_is 3
rows_are '0|ok|
1|error|first cause
2|error|lost my peer' rank,status,error phase=run
