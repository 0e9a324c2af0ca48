# What a child finds around it: no trace of the launcher, every CPU, no core dumps, a process group
# of its own, three open files, first in line for the host's OOM killer. (case 72)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini
child look.sh <<EOF
$speak
case \$HIGHWATER_PHASES in
*.1) all; bye; exit ;;
esac
env | sort > "$PWD/environment"
grep Cpus_allowed_list /proc/self/status > "$PWD/cpus"
ulimit -c > "$PWD/core"
cat /proc/self/oom_score_adj > "$PWD/oom"
ls -l /proc/\$\$/fd > "$PWD/files"
cut -d' ' -f1,5 /proc/\$\$/stat | awk '{ print \$1 == \$2 ? "leads" : "follows" }' > "$PWD/group"
grep -E '^(SigBlk|SigIgn)' /proc/self/status > "$PWD/signals"
echo "\$0 \$*" > "$PWD/words"
pwd > "$PWD/folder"
all
bye
EOF
grep Cpus_allowed_list /proc/self/status > mine
env | sort > before
MY_OWN=kept sweep s.ini out --set device.overhead=1000 --set launch.ranks=2 \
    --set device.fault=inputs:exit-9:1
code_is 0

bad=$(grep -E '^(OMPI|PMIX|PMI|OPAL|ORTE|PRTE|HWLOC)_' environment || true)
[ -z "$bad" ] || fail "the launcher shows: $bad"
grep -qx MY_OWN=kept environment || fail "the caller's own variable is gone"
bad=$(cut -d= -f1 environment | grep -vxF "$(cut -d= -f1 before)" |
    grep -vxE 'MY_OWN|HIGHWATER_(MARK|LIVE|PHASES)|OLDPWD|PWD|_|SHLVL' || true)
[ -z "$bad" ] || fail "the child's environment has besides: $bad"
for name in TMPDIR PATH LD_LIBRARY_PATH HOME; do
    [ "$(grep "^$name=" before)" = "$(grep "^$name=" environment)" ] || fail "$name was changed"
done
cmp mine cpus || fail "the child has CPUs $(cat cpus)"
[ "$(cat core)" = 0 ] || fail "core dumps of $(cat core)"
[ "$(cat oom)" = 1000 ] || fail "oom_score_adj is $(cat oom)"
[ "$(grep -c -- '->' files)" -le 5 ] || fail "open files: $(cat files)"
grep -q '0 -> /dev/null' files || fail "standard input: $(cat files)"
[ "$(cat group)" = leads ] || fail "no process group of its own"
grep -q 'SigBlk.*0000000000000000' signals || fail "blocked signals: $(cat signals)"
grep -qx 'SigIgn:[[:space:]]*0*' signals || fail "ignored signals: $(cat signals)"
cmp folder - <<EOF || fail "another folder"
$PWD
EOF

# The words of the contract; a fault of another rank is not this one's.
for word in dense --batch=1 --context=8 --width=64 --dtype=float32 --warmup=1 --repeats=2 \
    --backend=simulated --ordinal=0 --allocator=caching --capacity=1073741824 --overhead=1000; do
    grep -q -e " $word\( \|\$\)" words || fail "no $word in: $(cat words)"
done
if grep -q -e --fault words; then fail "a fault of rank 1 reached rank 0"; fi

