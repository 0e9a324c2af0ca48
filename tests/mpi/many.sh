# Many real launches in a row lose nothing and leave nothing: no process, no file in TMPDIR or
# shared memory, no shared memory segment. LAUNCHES says how many (tests/bench/thousand.sh).
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
esac
all
bye
EOF
mkdir tmp
TMPDIR=$PWD/tmp
export TMPDIR
# Folders of other drivers come and go there; ours carries our number.
before=$(ipcs -m | wc -l)
HIGHWATER_MARK=$mark sh -c 'echo $$ > pid; exec "$@"' sh "$bin/highwater" sweep s.ini \
    --results many > many.out 2> many.err || fail "$(tail -n 1 many.err)"
swept=many
[ "$(cells run phase=run | sort -u | wc -l)" = "$launches" ] || fail "runs were lost"
cells order phase=run > orders
seq "$launches" | cmp - orders || fail "the order is not that of the launches"
tenth=$((launches / 10))
[ "$(cells run phase=run status=crashed | wc -l)" = $((tenth * 2)) ] || fail "not every crash"
[ "$(cells run phase=run status=error | wc -l)" = $tenth ] || fail "not every error"
nothing_left
[ -z "$(ls -A tmp)" ] || fail "left in TMPDIR: $(ls -A tmp)"
[ -z "$(ls -d /dev/shm/highwater-"$(cat pid)"-* 2> /dev/null)" ] || fail "left in /dev/shm"
[ "$(ipcs -m | wc -l)" -le "$before" ] || fail "left shared memory: $(ipcs -m)"
[ "$(ls many/runs | wc -l)" = $((tenth * 4)) ] || fail "folders of runs: $(ls many/runs | wc -l)"
