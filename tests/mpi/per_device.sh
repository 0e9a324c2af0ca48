# ranks = per-device: a rank for each card that the caller sees, in the caller's order; each child is
# shown its own card and no other, and nothing of ours but that child is on the card.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
. "$HIGHWATER_SOURCE/tests/mpi/helpers/cards.sh"
machine "card GPU-cccc3333-0 00000000:5E:00.0 Fast $((24 * gib)) $((gib / 2)) 0"
cat > child.sh <<EOF
$speak
all
take \$\$ $gib
echo "\$CUDA_VISIBLE_DEVICES \$(echo "\$*" | grep -o 'expect-uuid=[^ ]*')" >> "$PWD/given"
sleep 0.5
give \$\$
bye
EOF
cuda_study each.ini 'ranks = per-device'
a=GPU-aaaa1111-0 b=GPU-bbbb2222-0 c=GPU-cccc3333-0

# order LIST EXPECTED…: what the caller's variable makes of the three cards ("unset": all).
order()
{
    if [ "$1" = unset ]; then unset CUDA_VISIBLE_DEVICES; else export CUDA_VISIBLE_DEVICES="$1"; fi
    : > given
    rm -rf each
    sweep each.ini each
    code_is 0
    unset CUDA_VISIBLE_DEVICES
    shift
    [ "$(cells device_uuid phase=run | tr '\n' ' ')" = "$* " ] ||
        fail "cards $(cells device_uuid phase=run | tr '\n' ' ')instead of $*"
    rows_match "^$#\$" ranks
    rows_match '^ok\|0\|0\|$' status,foreign_start_bytes,foreign_end_bytes,shared_device phase=run
    rows_match "^$gib\$" process_sampled_peak_bytes phase=run
    [ "$(sort given)" = "$(for uuid; do echo "$uuid expect-uuid=$uuid"; done | sort)" ] ||
        fail "children were shown: $(cat given)"
}
order unset $a $b $c
order 2,0,1 $c $a $b
order 2,1 $c $b
order 1 $b
order $c,$a $c $a
order GPU-bb $b
order 0,-1,2 $a # as CUDA reads it: the list ends before the first that is none
nothing_left
