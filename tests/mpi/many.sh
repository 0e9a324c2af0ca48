# Many real launches in a row lose nothing and leave nothing: no process, no file in TMPDIR or
# shared memory, no shared memory segment, and while they run no descriptor and no folder of runs
# that are over. LAUNCHES says how many (tests/bench/thousand.sh).
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
launches=${LAUNCHES:-40}
study s.ini '[sweep batch]' "values = 1:$launches:+1"

# Every tenth run fails, each in another way, and leaves what it can.
child mixed.sh <<EOF
$speak
batch=\${*#*--batch=}
batch=\${batch%% *}
case \$batch in
*1) hello; begin context; kill -KILL \$\$ ;;
*3) setsid sleep 300 & ;;
*5) hello; begin context; exit 3 ;;
*7) hello; begin context; kill -SEGV \$\$ ;;
*9) # the launcher, in which nobody cleans up any more
    sleep 0.1
    launcher=\$(cut -d ' ' -f 4 /proc/\$PPID/stat) # once the other rank's child was faster: the driver
    grep -qx mpirun /proc/\$launcher/comm 2> /dev/null && kill -KILL \$launcher 2> /dev/null
    sleep 10 ;;
2 | $launches)
    ls /proc/\$(cat "$PWD/pid")/fd | wc -l > "$PWD/descriptors.\$batch"
    ls "\${HIGHWATER_PHASES%/*}/.." > "$PWD/folders.\$batch" ;;
esac
all
bye
EOF
mkdir tmp
TMPDIR=$PWD/tmp
export TMPDIR
# Folders of other drivers come and go there; ours carries our number.
before=$(ipcs -m | wc -l)
segments() { ls /dev/shm | grep '^vader_segment' || true; }
segments > segments.before
HIGHWATER_MARK=$mark sh -c 'echo $$ > pid; exec "$@"' sh "$bin/highwater" sweep s.ini \
    --results many --set launch.ranks=2 > many.out 2> many.err || fail "$(tail -n 1 many.err)"
swept=many
[ "$(cells run phase=run | wc -l)" = $((launches * 2)) ] || fail "ranks were lost"
[ "$(cells run phase=run | sort -u | wc -l)" = "$launches" ] || fail "runs were lost"
cells order phase=run rank=0 > orders
seq "$launches" | cmp - orders || fail "the order is not that of the launches"
tenth=$((launches / 10))
[ "$(cells run phase=run status=crashed | wc -l)" = $((tenth * 4)) ] || fail "not every crash"
[ "$(cells run phase=run status=error | wc -l)" = $((tenth * 2)) ] || fail "not every error"
[ "$(cells run phase=run status=stopped | wc -l)" = $((tenth * 2)) ] ||
    fail "not every run that lost its launcher"
nothing_left
[ "$(cat descriptors.2)" = "$(cat "descriptors.$launches")" ] ||
    fail "$(cat "descriptors.$launches") descriptors in the last run, $(cat descriptors.2) in the 2nd"
[ "$(cat "folders.$launches")" = "$(printf '%s\n' "$launches" lock)" ] ||
    fail "of runs that are over: $(cat "folders.$launches")"
segments | cmp - segments.before || fail "left in /dev/shm"
[ -z "$(ls -A tmp)" ] || fail "left in TMPDIR: $(ls -A tmp)"
[ -z "$(ls -d /dev/shm/highwater-"$(cat pid)"-* 2> /dev/null)" ] || fail "left in /dev/shm"
[ "$(ipcs -m | wc -l)" -le "$before" ] || fail "left shared memory: $(ipcs -m)"
[ "$(ls many/runs | wc -l)" = $((tenth * 5)) ] || fail "folders of runs: $(ls many/runs | wc -l)"
