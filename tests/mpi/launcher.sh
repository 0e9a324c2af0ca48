# The launcher: what can be refused before a study is refused, what fails later is a row; its exit
# status is a hint and never a result. (cases 63, 64, 66, 70, 71, 74)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini '[sweep batch]' 'values = 1, 2, 4'
real=$(command -v mpirun)

# refused PATTERN: exit 1, a reason, nothing created.
refused()
{
    code_is 1
    said "$1"
    [ ! -e "$swept" ] || fail "$swept was created"
}

# --- programs that are not there ---
mkdir empty
PATH_BEFORE=$PATH
PATH=$PWD/empty sweep s.ini no-mpirun
refused 'mpirun is not found'

bin_before=$bin
mkdir lone
cp "$bin/highwater" lone
bin=$PWD/lone
sweep s.ini no-rank
refused 'highwater-rank is not there or cannot be started'
: > lone/highwater-rank
sweep s.ini not-a-program
refused 'highwater-rank is not there or cannot be started'
rm lone/highwater-rank
cp "$bin_before/highwater-rank" lone
cp -L "$bin_before/highwater-workload" lone
cp "$bin_before/cells" lone

# --- a program that vanishes in the middle: launch_failed rows, and the study goes on ---
for victim in highwater-rank highwater-workload; do
    rm -rf again && cp -r lone again
    bin=$PWD/again
    mkdir "$victim.path"
    cat > "$victim.path/mpirun" <<EOF
#!/bin/sh
case "\$*" in *--batch=2*) rm -f "$PWD/again/$victim" ;; esac
exec "$real" "\$@"
EOF
    chmod +x "$victim.path/mpirun"
    PATH=$PWD/$victim.path:$PATH_BEFORE sweep s.ini "gone-$victim"
    code_is 0
    rows_are 'r-batch-1-t1|ok|yes
r-batch-2-t1|launch_failed|
r-batch-4-t1|launch_failed|' run,status,fits phase=run
    rows_match "$victim" error phase=run status=launch_failed
    rows_match '^not_reached\|\|$' status,allocated_peak_bytes,duration_ns \
        run=r-batch-2-t1 phase!=run
    nothing_left
done
bin=$bin_before

mkdir path
cat > path/mpirun <<EOF
#!/bin/sh
case "\$*" in *--batch=2*) $(command -v rm) -f "$PWD/path/mpirun" ;; esac
exec "$real" "\$@"
EOF
chmod +x path/mpirun
PATH=$PWD/path:$PWD/empty:/nowhere sweep s.ini gone-mpirun
code_is 0
rows_are 'r-batch-1-t1|ok
r-batch-2-t1|ok
r-batch-4-t1|launch_failed' run,status phase=run
rows_match 'mpirun' error phase=run status=launch_failed

# --- the launcher fails in its own words ---
cat > path/mpirun <<EOF
#!/bin/sh
case "\$*" in
*--version*) exec "$real" --version ;;
*--batch=2*) printf -- '------\\nno "slots", friend\\n------\\n' >&2; exit 5 ;;
esac
exec "$real" "\$@"
EOF
chmod +x path/mpirun
PATH=$PWD/path:$PATH_BEFORE sweep s.ini words
code_is 0
rows_match '^launcher status 5: no "slots", friend$' error phase=run status=launch_failed
[ "$(cells status phase=run | tr '\n' ' ')" = 'ok launch_failed ok ' ] || fail "the study stopped"

# --- a bad ending after good work is a warning ---
cat > path/mpirun <<EOF
#!/bin/sh
"$real" "\$@"
code=\$?
case "\$*" in *--batch=2*) exit 1 ;; esac
exit \$code
EOF
PATH=$PWD/path:$PATH_BEFORE sweep s.ini good-work
code_is 0
rows_are 'r-batch-1-t1|ok|yes|
r-batch-2-t1|ok|yes|launcher status 1
r-batch-4-t1|ok|yes|' run,status,fits,warning phase=run

# --- another MPI ---
printf '#!/bin/sh\necho "HYDRA build details: Version: 4.0"\n' > path/mpirun
PATH=$PWD/path:$PATH_BEFORE sweep s.ini other
refused 'not Open MPI'

# --- an MPI that fails to say its version is asked once more ---
cat > path/mpirun <<EOF
#!/bin/sh
case "\$*" in
*--version*)
    echo >> "$PWD/asked"
    case " \$(cat "$PWD/fails") " in *" \$(wc -l < "$PWD/asked") "*) exit 137 ;; esac
    ;;
esac
exec "$real" "\$@"
EOF
echo 1 2 > fails
PATH=$PWD/path:$PATH_BEFORE sweep s.ini other
refused 'mpirun --version gave no version .exit status 137.'
echo 1 4 > fails # of the launcher's question, and of that for environment.json
rm asked
PATH=$PWD/path:$PATH_BEFORE sweep s.ini asked-again
code_is 0
grep -q '"mpi": ".*Open MPI' asked-again/environment.json || fail "asked $(wc -l < asked) times"
echo 2 3 > fails # nobody knows it: no difference to a night that does
rm asked
PATH=$PWD/path:$PATH_BEFORE sweep s.ini untold
code_is 0
grep -q '"mpi": null' untold/environment.json || fail "asked $(wc -l < asked) times"
sweep s.ini untold --resume --set 'sweep batch.values=1, 2, 4, 8'
code_is 0

# --- root needs consent ---
if [ "$(id -u)" = 0 ]; then
    unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
    sweep s.ini root --set launch.allow_root=no
    refused 'allow_root'
    OMPI_ALLOW_RUN_AS_ROOT=1 sweep s.ini root-half --set launch.allow_root=no
    refused 'allow_root'
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        sweep s.ini root-consents --set launch.allow_root=no
    code_is 0
fi

# --- more ranks than cores ---
study many.ini
sweep many.ini many --set launch.ranks=$(($(nproc) + 3))
code_is 0
[ "$(cells rank phase=run status=ok | wc -l)" = $(($(nproc) + 3)) ] || fail "ranks are missing"

# --- a TMPDIR of any kind is neither needed nor littered ---
long=$PWD/$(printf '%0120d' 0)
mkdir "$long" closed
chmod 000 closed
for folder in "$long" "$PWD/missing" "$PWD/closed"; do
    TMPDIR=$folder sweep many.ini "tmp-$(basename "$folder" | cut -c1-8)"
    code_is 0
    rows_match '^ok$' status phase=run
done
[ -z "$(ls -A "$long")" ] || fail "TMPDIR was littered: $(ls -A "$long")"
[ ! -e missing ] || fail "TMPDIR was made"
if unshare --mount true 2> /dev/null; then
    mkdir full
    unshare --mount sh -c 'mount -t tmpfs -o size=16k none "$1" && : > "$1/a" &&
        { cat /dev/zero > "$1/a" 2> /dev/null || true; } && shift && TMPDIR=$1 exec "$@"' \
        sh "$PWD/full" "$bin/highwater" sweep many.ini --results tmp-full > tmp-full.out 2>&1 ||
        fail "a full TMPDIR: $(cat tmp-full.out)"
fi

# --- a host name that nobody knows, no network but loopback ---
if unshare --net --uts true 2> /dev/null && command -v ip > /dev/null; then
    swept=lonely
    unshare --net --uts sh -c 'ip link set lo up && hostname no.such.name.invalid && exec "$@"' \
        sh "$bin/highwater" sweep many.ini --results lonely > lonely.out 2> lonely.err || fail "alone"
    rows_match '^ok\|h-no.such.name.invalid$' status,host phase=run
fi
nothing_left
[ -z "$(ls -d /dev/shm/vader_segment.* 2> /dev/null)" ] || fail "shared memory was littered"
