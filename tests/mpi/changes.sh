# A card that changes between two runs of a study: what fitted before says nothing of what came
# after. The report keeps them apart, says what changed and between which runs, and no limit mixes
# both. With a scripted libnvidia-ml.so.1. (case N10)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
. "$HIGHWATER_SOURCE/tests/mpi/helpers/cards.sh"

# The card holds batches up to $PWD/room.
cat > child.sh <<EOF
$speak
batch=\${*#*--batch=}
batch=\${batch%% *}
line "hello\tframework=test\tdevice_capacity_bytes=\$(cat "$PWD/capacity")"
hello() { :; }
if [ \$batch -gt \$(cat "$PWD/room") ]; then
    begin context
    line 'fail\tstatus=oom\tphase=context\terror=refused\trefused_by=device\trefused_bytes=9'
    exit 3
fi
all
bye
EOF

# Once, behind the run of a batch, the machine becomes another: behind BATCH, script on standard
# input.
mkdir path
cat > path/mpirun <<EOF
#!/bin/sh
"$(command -v mpirun)" "\$@"
code=\$?
for word; do
    case \$word in --batch=*) then=$PWD/behind\${word#--batch=} ;; esac
done
if [ -e "\$then" ]; then
    . "\$then"
    rm "\$then"
fi
exit \$code
EOF
chmod +x path/mpirun
PATH=$PWD/path:$PATH
behind() { cat > "behind$1"; }
# fresh [FACT…]: the machine as it is at first.
fresh()
{
    machine 'ecc 0 off' "$@"
    echo $((80 * gib)) > capacity
    echo 99 > room
}
report() { "$bin/highwater" report "$swept" > report.out || fail "report ends with $?"; }
# part N: into `part`, of the report the tables of runs behind so many changes.
part()
{
    case $1 in 0) words='cards before any change' ;; *) words="cards after change $1" ;; esac
    sed -n "/, $words\$/,/^\$/p" report.out > part
    [ -s part ] || fail "no table of \"$words\": $(cat report.out)"
}
# limits_are FITS FAILS: in every table of `part`.
limits_are()
{
    [ -z "$(grep 'every run:' part | grep -v "every run: $1; smallest that does not: $2\$")" ] ||
        fail "not $1 and $2: $(cat part)"
}

# --- each fact of a card by itself ---
cuda_study s.ini 'devices = 0' '[sweep batch]' 'values = 1, 2, 3, 4, 5'
# splits NAME WORDS SCRIPT: the script is run behind batch 3.
splits()
{
    fresh
    printf '%s\necho 4 > "%s"\n' "$3" "$PWD/room" | behind 3
    sweep s.ini "by-$1"
    code_is 0
    report
    grep -q "^study cards: change 1, seen in r-batch-4-t1, behind r-batch-3-t1: rank 0: $2\$" \
        report.out || fail "the report does not say \"$2\": $(cat report.out)"
    grep -q "the card of rank 0 changed: $2;" "by-$1/events.log" || fail "events.log does not tell"
    part 0
    limits_are 3 —
    part 1
    limits_are 4 5
    ! grep -Eq '^ +[123] +1 +0 ' part || fail "a run from before the change: $(cat part)"
    ! grep -q 'change 2' report.out || fail "changed twice: $(cat report.out)"
}
splits capacity "device_capacity_bytes $((80 * gib)) is now $((79 * gib))" \
    "echo $((79 * gib)) > $PWD/capacity"
splits reserved "nvml_reserved_bytes $((gib / 2)) is now $gib" \
    "sed -i '/^card GPU-a/s/ $((gib / 2)) / $gib /' $PWD/machine"
splits driver 'driver_version 580.10 is now 590.1' \
    "sed -i 's/^driver .*/driver 590.1/' $PWD/machine"
splits ecc 'ecc off is now on' "sed -i 's/^ecc 0 off/ecc 0 on/' $PWD/machine"
splits mig 'mig off is now on' \
    "echo 'instance 0 MIG-dddd4444 Slow-3g.20gb $((20 * gib)) 0' >> $PWD/machine"

# --- the reserve moved a little, nothing else: one table ---
fresh
echo "sed -i '/^card GPU-a/s/ $((gib / 2)) / $((gib / 2 + 1048576)) /' $PWD/machine" | behind 3
sweep s.ini same
report
! grep -q change report.out || fail "a change where none was: $(cat report.out)"
grep -q 'every run: 5; smallest that does not: —$' report.out || fail "$(cat report.out)"

# --- there and back, and a boundary behind: as many parts as cards ---
cuda_study back.ini 'devices = 0' '[sweep batch]' 'values = 1, 2, 3, 4'
printf '%s\n' '[boundary batch]' 'to = 6' 'confirm = 1' >> back.ini
fresh
echo "sed -i 's/^ecc 0 off/ecc 0 on/' $PWD/machine; echo 3 > $PWD/room" | behind 2
echo "sed -i 's/^ecc 0 on/ecc 0 off/' $PWD/machine; echo 5 > $PWD/room" | behind 4
sweep back.ini back
code_is 0
report
grep -q " predictions are for $((80 * gib - gib / 2)) bytes on rank 0, 500000000 of them for context" \
    back/events.log || fail "what is predicted for is not told: $(cat back/events.log)"
part 0
limits_are 2 —
part 1
limits_are 3 4
part 2
limits_are 5 6
grep -q 'boundary of batch' part || fail "the boundary is not behind the changes: $(cat part)"
grep -q 'fits 5 (1 of 1 run), fails 6 (1 of 1); since the card changed (2 times)$' report.out || fail "$(tail -n 2 report.out)"

# --- of two ranks one card changes: runs are before or behind it as a whole ---
cuda_study two.ini 'ranks = 2' '[sweep batch]' 'values = 1, 2, 3'
fresh 'ecc 1 off'
echo "sed -i 's/^ecc 1 off/ecc 1 on/' $PWD/machine" | behind 2
sweep two.ini two
report
grep -q 'change 1, seen in r-batch-3-t1, behind r-batch-2-t1: rank 1: ecc off is now on$' \
    report.out || fail "$(cat report.out)"
part 0
limits_are 2 —
part 1
limits_are 3 —
nothing_left
