# [device] capacity on cuda: each rank's child gets its limit, the plan knows it, the card's own
# capacity is what the card says. With scripted cards.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
. "$HIGHWATER_SOURCE/tests/mpi/helpers/cards.sh"
machine
cat > child.sh <<EOF
$speak
echo "\$*" >> "$PWD/given"
hello
bye
EOF

# limited FILE DIR SIZES: a sweep of two ranks with these limits.
limited() {
    : > given
    sweep "$1" "$2" --set device.capacity="$3"
}
cuda_study two.ini 'ranks = 2'
limited two.ini each 3GiB,33MiB
rows_are "0|3221225472|yes
1|34603008|no" rank,allocator_limit_bytes,predicted_fits phase=run
rows_match '^(0\|3221225472|1\|34603008)$' rank,allocator_limit_bytes
[ "$(grep -c -e '--capacity=3221225472' given)" = 1 ] || fail "rank 0 was given $(cat given)"
[ "$(grep -c -e '--capacity=34603008' given)" = 1 ] || fail "rank 1 was given $(cat given)"
rows_match '^\|$' device_used_start_bytes,driver_start_bytes
[ -z "$(cells device_capacity_bytes | grep -x -e 3221225472 -e 34603008)" ] ||
    fail "a limit stands as the card's capacity"

limited two.ini all 3GiB
rows_match '^3221225472$' allocator_limit_bytes
[ "$(grep -c -e '--capacity=3221225472' given)" = 2 ] || fail "given: $(cat given)"
limited two.ini none ''
rows_match '^r-batch-1-t1\|$' run,allocator_limit_bytes
! grep -q -e --capacity given || fail "a limit that was not asked for: $(cat given)"

# As many limits as ranks, which per-device tells only when the cards are seen.
cuda_study per.ini 'ranks = per-device'
limited per.ini three 1GiB,2GiB,3GiB
code_is 1
said 'capacity: 3 limits for 2 ranks'
[ ! -e three ] || fail "three was created"

# The plan: the limit refuses, whatever the card has; without it the card decides.
plan() { "$bin/highwater" plan two.ini --set device.capacity="$1" > plan.out 2> plan.err; }
plan 3GiB,33MiB
grep -q "rank 0: .*the allocator's limit 3221225472 bytes" plan.out || fail "$(cat plan.out)"
grep -q "rank 1: .*the allocator's limit 34603008 bytes" plan.out || fail "$(cat plan.out)"
grep -q 'rank 0 yes; rank 1 no: ' plan.out || fail "$(cat plan.out)"
nothing_left
