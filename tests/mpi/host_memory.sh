# The host's memory is exhausted: known by the control group's own counter, not by a signal 9 that
# anybody may send. (case 59)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini
old=/sys/fs/cgroup/memory/highwater-test-$$
new=/sys/fs/cgroup/highwater-test-$$
if mkdir $old 2> /dev/null; then
    group=$old
    echo 67108864 > $group/memory.limit_in_bytes
elif [ -e /sys/fs/cgroup/cgroup.controllers ] && mkdir $new 2> /dev/null &&
    echo 67108864 2> /dev/null > $new/memory.max; then
    group=$new
else
    rmdir $new 2> /dev/null || true
    echo "skipped: no memory control group can be made here"
    exit 77
fi
trap 'rmdir $group' EXIT

# The child moves into the group, is looked at there, and takes more than it may.
child hog.sh <<EOF
$speak
echo \$\$ > $group/cgroup.procs
hello
begin context
end context
begin model_load
sleep 0.5
exec tail /dev/zero
EOF
sweep s.ini hog
code_is 3
rows_match "^host_oom\\|\\|host\\|9\\|model_load\\|ended by the host's out-of-memory killer: signal 9" \
    status,fits,refused_by,signal,failed_phase,error phase=run

# The same signal in the same group, sent by somebody.
child killed.sh <<EOF
echo \$\$ > $group/cgroup.procs
sleep 0.3
kill -KILL \$\$
EOF
sweep s.ini killed
code_is 3
rows_match '^crashed\|\|\|9$' status,fits,refused_by,signal phase=run
nothing_left
