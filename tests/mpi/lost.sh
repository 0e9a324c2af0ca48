# Ranks that are themselves lost: the driver's own deadlines, a minute or half a one, both at once.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini

# A rank that is stopped misses its own deadline; the driver's comes 60 s after it, and the rank,
# which the launcher wakes to end it, then says what it finds.
child stops-rank.sh <<EOF
$speak
hello
begin context
end context
begin model_load
kill -STOP \$PPID
sleep 300
EOF
start=$(now)
{
    sweep s.ini stopped --set study.timeout=1s
    echo "$code $(($(now) - start))" > stopped.took
} &

# A launcher that never starts a rank: 30 s, and no settling here.
mkdir path
cat > path/mpirun <<EOF
#!/bin/sh
case "\$*" in *--version*) exec $(command -v mpirun) --version ;; esac
echo waiting for nothing >&2
sleep 300
EOF
chmod +x path/mpirun
{
    PATH=$PWD/path:$PATH
    sweep s.ini never --set launch.settle=0ms
    echo "$code $(($(now) - start))" > never.took
} &
wait

read -r code took < stopped.took
swept=stopped
code_is 3
[ "$took" -ge 60000 ] && [ "$took" -lt 90000 ] || fail "stopped took $took ms"
rows_match '^timeout\|model_load$' status,failed_phase phase=run
rows_match '^timeout\|yes$' status,partial phase=model_load
rows_match '^ok\|$' status,partial phase=context

read -r code took < never.took
swept=never
code_is 3
[ "$took" -ge 30000 ] && [ "$took" -lt 58000 ] || fail "never took $took ms"
rows_match '^launch_failed\|the ranks did not meet in time: waiting for nothing$' status,error \
    phase=run
nothing_left
