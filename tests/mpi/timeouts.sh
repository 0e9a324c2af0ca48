# Deadlines: a run ends in time whatever its processes do, and none of them is left. The waiting is
# on the child, never on the end of a file that a grandchild holds open. (cases 65, 79)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini

# in_time MS: of the last sweep. A busy machine is given 10 s more; what is left behind stays 300 s.
in_time()
{
    took=$(($(now) - start))
    [ $took -lt $(($1 + 10000)) ] || fail "$swept took $took ms instead of $1"
}

# run_child NAME: the script on standard input under a timeout of 1 s.
run_child()
{
    child "$1.sh"
    start=$(now)
    sweep s.ini "$1" --set study.timeout=1s
}

# --- children that end, but leave something ---
run_child holds-output <<EOF
$speak
sleep 300 &
all
bye
echo said >&2
EOF
code_is 0
in_time 2000
rows_match '^ok\|0\|1 process left behind, ended by us$' status,exit_code,warning phase=run
nothing_left

run_child leaves-session <<EOF
$speak
setsid sleep 300 > /dev/null 2>&1 &
(setsid sh -c 'sleep 300 & sleep 300' &)
all
bye
EOF
code_is 0
in_time 2000
rows_match '^ok\|[0-9] processes left behind, ended by us$' status,warning phase=run
nothing_left

# --- children that do not end ---
run_child ignores <<EOF
trap '' TERM INT HUP
$speak
hello
begin context
while :; do sleep 300; done
EOF
code_is 3
in_time 4000
rows_match '^timeout\|context\|\|9\|still alive at the deadline$' \
    status,failed_phase,exit_code,signal,error phase=run
wall=$(cells wall_ns phase=run)
[ "$wall" -ge 1000000000 ] && [ "$wall" -lt 12500000000 ] || fail "wall time $wall ns"
nothing_left

run_child stopped <<EOF
(sleep 0.2; kill -STOP \$\$) &
setsid sh -c 'kill -STOP \$\$; sleep 300' &
sleep 300
EOF
code_is 3
in_time 4000
rows_match '^timeout$' status phase=run
nothing_left

run_child forks-twice <<EOF
(sh -c 'setsid sleep 300 & sleep 300' &)
sleep 300
EOF
code_is 3
in_time 4000
rows_match '^timeout\|.*left behind, ended by us' status,warning phase=run
nothing_left

# A flood on standard error neither blocks nor delays anything.
run_child floods <<EOF
yes 'a line of output that nobody reads' | head -c 20000000 >&2
exit 7
EOF
code_is 3
in_time 6000
rows_match '^error\|7\|a line of output.*$' status,exit_code,error phase=run

# --- a kernel that has no descriptors for processes ---
child plain.sh <<EOF
$speak
case "\$*" in *--batch=2*) sleep 300 ;; esac
all
bye
EOF
study old.ini '[sweep batch]' 'values = 1, 2, 3'
start=$(now)
LD_PRELOAD=$HIGHWATER_BUILD/tests/fake/no_pidfd.so sweep old.ini old --set study.timeout=1s
code_is 0
in_time 8000
rows_are 'ok
timeout
ok' status phase=run
nothing_left
