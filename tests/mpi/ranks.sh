# Several ranks in one run: each has its rows, whatever becomes of the others.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"

# Unlike devices in one run; a rank each.
study unlike.ini '[sweep batch]' 'values = 1, 50000'
sweep unlike.ini unlike --set launch.ranks=2 --set device.capacity=256MiB,1GiB
code_is 0
rows_are 'r-batch-1-t1|0|ok|268435456|yes
r-batch-1-t1|1|ok|1073741824|yes
r-batch-50000-t1|0|oom|268435456|no
r-batch-50000-t1|1|ok|1073741824|yes' run,rank,status,device_capacity_bytes,fits phase=run
rows_match '^2$' ranks

# The child of one rank of four fails: the other three finish and keep their rows.
study four.ini
for fault in inputs:oom:2 inputs:kill:2 inputs:exit-3:2; do
    sweep four.ini "four-$fault" --set launch.ranks=4 --set "device.fault=$fault"
    code_is 3
    rows_match '^ok\|yes$' status,fits phase=run rank!=2
    [ "$(cells rank phase=run rank!=2 | tr '\n' ' ')" = '0 1 3 ' ] || fail "ranks are missing"
    [ "$(cells phase rank!=2 status=ok | wc -l)" = 27 ] || fail "the others lost rows"
    rows_match '^(oom|crashed|error)\|inputs$' status,failed_phase phase=run rank=2
    nothing_left
done

# Two ranks fail, each in its own way: neither hides the other.
child two.sh <<EOF
$speak
hello
begin context
case \$HIGHWATER_PHASES in
*.0) echo 'first cause' >&2; exit 4 ;;
*.1) kill -SEGV \$\$ ;;
esac
: > "\$HIGHWATER_PHASES"
all
bye
EOF
sweep four.ini two --set launch.ranks=3
code_is 3
rows_are '0|error|first cause|4|
1|crashed|signal 11 (SIGSEGV)||11
2|ok||0|' rank,status,error,exit_code,signal phase=run
unset HIGHWATER_TEST_CHILD

# A rank itself is killed in the middle of a phase: its rows come from what its child left behind,
# the others are stopped, and neither has a second cause.
child lost.sh <<EOF
$speak
hello
begin context
end context 'allocated_peak_bytes=4096'
begin model_load
case \$HIGHWATER_PHASES in
*.1) kill -KILL \$PPID ;;
esac
sleep 20
EOF
start=$(now)
sweep four.ini lost --set launch.ranks=3
[ $(($(now) - start)) -lt 18000 ] || fail "a lost rank took $(($(now) - start)) ms"
code_is 3
rows_match '^crashed\|rank lost\|model_load\|$' status,error,failed_phase,fits phase=run rank=1
rows_match '^stopped\|model_load\|\|ended by us: rank 1 was lost;' \
    status,failed_phase,fits,error phase=run rank!=1
rows_are 'context|ok||4096
libraries|not_reached||
model_load|crashed|yes|
inputs|not_reached||
cold_forward|not_reached||
warmup|not_reached||
warm_forward|not_reached||
warm_forward|not_reached||
run|crashed||' phase,status,partial,allocated_peak_bytes rank=1
nothing_left
