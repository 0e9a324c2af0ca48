# Which card a rank observes, and what is read from outside: by UUID, never by position; what is not
# told is empty. With a scripted libnvidia-ml.so.1. (cases 20-23, 25, 33-35, N2)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
. "$HIGHWATER_SOURCE/tests/mpi/helpers/cards.sh"
cuda_study one.ini
machine

# refused CODE PATTERN
refused()
{
    code_is "$1"
    said "$2"
    [ ! -e "$swept" ] || fail "$swept was created"
}

# The child holds 3 GiB for four samples, and tells what it was given.
cat > child.sh <<EOF
$speak
echo "\$CUDA_VISIBLE_DEVICES \$CUDA_DEVICE_ORDER \$*" >> "$PWD/given"
hello
begin context
live context
take \$\$ $((3 * gib))
sleep 0.5
end context
begin libraries
live libraries
end libraries
give \$\$
bye
EOF

# --- no driver, no card: exit 2 before anything is created ---
path=$LD_LIBRARY_PATH
unset LD_LIBRARY_PATH
if ldconfig -p 2> /dev/null | grep -q libnvidia-ml.so.1; then :; else
    sweep one.ini no-driver
    refused 2 'no NVIDIA driver: libnvidia-ml.so.1 not found'
fi
LD_LIBRARY_PATH=$path
export LD_LIBRARY_PATH
for visible in '' -1 7 0,0 GPU-cccc; do
    CUDA_VISIBLE_DEVICES=$visible sweep one.ini "none-$visible"
    refused 2 'no device is visible'
done
machine 'no-init 9'
sweep one.ini no-init
refused 2 'NVML does not start'
machine
cp cards/highwater-workload saved
printf '#!/bin/sh\necho "{\\"backends\\": [\\"host\\"]}"\n' > cards/highwater-workload
sweep one.ini no-cuda
refused 2 'built without CUDA'
printf '#!/bin/sh\necho "highwater-workload: device 0 cannot be opened: no" >&2; exit 1\n' \
    > cards/highwater-workload
sweep one.ini no-context
refused 2 'device 0 cannot be opened: no'
cp saved cards/highwater-workload
cuda_study two.ini 'ranks = 2'
CUDA_VISIBLE_DEVICES=1 sweep two.ini too-few
refused 1 '2 ranks need as many devices, 1 is to be had'

# --- a masked and turned list; a neighbour holds 20 GiB on physical 0 ---
machine "process 0 4026001 $((20 * gib))"
: > given
CUDA_VISIBLE_DEVICES=1,0 sweep two.ini turned
code_is 3 # its child closes two of all phases: what it held is what counts here
rows_are "0|GPU-bbbb2222-0|pci-00000000:3B:00.0|1|Fast|580.10|0|0|$((gib / 2))
1|GPU-aaaa1111-0|pci-00000000:17:00.0|0|Slow|580.10|$((20 * gib + gib / 4))|$((20 * gib))|$((gib / 2))" \
    rank,device_uuid,device_pci,nvml_index,device_name,driver_version,device_used_before_bytes,\
foreign_start_bytes,nvml_reserved_bytes phase=run
rows_are "0|$((3 * gib))|$((3 * gib))
1|$((3 * gib))|$((23 * gib + gib / 4))" rank,process_sampled_peak_bytes,device_sampled_peak_bytes \
    phase=context
rows_match '^[3-9]\|[0-9]+$' device_sample_count,device_sample_gap_ns phase=context
rows_match '^\|\|$' device_sampled_peak_bytes,device_sample_count,device_sample_gap_ns \
    phase=warm_forward
rows_match '^observed\|cuda\|$' evidence,backend,shared_device
grep -q '^GPU-bbbb2222-0 PCI_BUS_ID .*--expect-uuid=GPU-bbbb2222-0' given || fail "$(cat given)"
grep -q '^GPU-aaaa1111-0 PCI_BUS_ID .*--expect-uuid=GPU-aaaa1111-0' given || fail "$(cat given)"
CUDA_VISIBLE_DEVICES=1 sweep one.ini masked
rows_match '^GPU-bbbb2222-0\|1$' device_uuid,nvml_index phase=run
CUDA_VISIBLE_DEVICES=GPU-aa sweep one.ini prefix
rows_match '^GPU-aaaa1111-0\|0$' device_uuid,nvml_index phase=run

# --- the study's own list: PCI order whatever the caller's order variable says ---
cuda_study zero.ini 'devices = 0'
machine
for order in unset PCI_BUS_ID; do
    : > given
    if [ $order = unset ]; then unset CUDA_DEVICE_ORDER; else export CUDA_DEVICE_ORDER=$order; fi
    sweep zero.ini "order-$order"
    rows_match '^GPU-aaaa1111-0\|0$' device_uuid,nvml_index phase=run
    grep -q '^GPU-aaaa1111-0 PCI_BUS_ID' given || fail "$(cat given)"
done
CUDA_DEVICE_ORDER=FASTEST_FIRST
sweep zero.ini fastest
refused 2 'FASTEST_FIRST'
: > given
sweep one.ini fastest-all # no number is meant: the user's own order stays
grep -q '^GPU-aaaa1111-0 FASTEST_FIRST' given || fail "$(cat given)"
unset CUDA_DEVICE_ORDER
CUDA_VISIBLE_DEVICES=1 sweep zero.ini outside
refused 2 'outside CUDA_VISIBLE_DEVICES'
cuda_study uuid.ini 'devices = GPU-bbbb2222-0'
sweep uuid.ini uuid
rows_match '^GPU-bbbb2222-0\|1$' device_uuid,nvml_index phase=run

# --- one card for two ranks: only when it is listed twice, and then marked ---
cuda_study twice.ini 'devices = 1, 1' 'ranks = per-device'
sweep twice.ini twice
rows_are '0|GPU-bbbb2222-0|yes
1|GPU-bbbb2222-0|yes' rank,device_uuid,shared_device phase=run

# --- exclusive-process and prohibited modes ---
machine 'mode 1 3' 'ecc 0 on' 'ecc 1 off'
sweep twice.ini exclusive-twice
refused 1 'exclusive-process'
cuda_study both.ini 'ranks = per-device'
sweep both.ini exclusive
rows_are '0|on
1|off' rank,ecc phase=run
machine 'mode 0 2'
sweep zero.ini prohibited
refused 2 'prohibited'

# --- process figures that nobody tells, or that are somebody else's ---
cat > child.sh <<EOF
$speak
all
sleep 0.5
bye
EOF
machine "process 0 4026001 $((3 * gib))"
sweep zero.ini strangers
code_is 0
# Without a live page nobody knows the phase of a sample: the closing row has them.
rows_match '^\|3489660928$' process_sampled_peak_bytes,device_sampled_peak_bytes phase=run
rows_match '^\|$' process_sampled_peak_bytes,device_sampled_peak_bytes phase!=run
rows_match "^$((3 * gib))\\|$((3 * gib))\\|\$" foreign_start_bytes,foreign_end_bytes,warning phase=run
machine 'process 0 4026001 na'
sweep zero.ini no-figures
rows_match '^\|\|\|ok$' process_sampled_peak_bytes,foreign_start_bytes,foreign_end_bytes,status \
    phase=run
machine 'no-processes 3'
sweep zero.ini not-told
rows_match '^\|memory by process: not told by the driver$' foreign_start_bytes,warning phase=run
machine old-memory
sweep zero.ini old-memory
rows_match "^$((gib * 3 / 4))\\|\\|ok\$" device_used_before_bytes,nvml_reserved_bytes,status phase=run
if unshare --pid --fork --mount-proc true 2> /dev/null; then
    # A number on the list that happens to be the child's is not taken for it.
    cat > child.sh <<EOF
$speak
all
take \$\$ $gib
sleep 0.5
give \$\$
bye
EOF
    machine
    swept=namespace
    unshare --pid --fork --mount-proc "$bin/highwater" sweep zero.ini --results namespace \
        > namespace.out 2> namespace.err || fail "in a pid namespace"
    rows_match "^\\|\\|$((gib * 5 / 4))\\|memory by process: not to be told in a pid namespace\$" \
        foreign_start_bytes,process_sampled_peak_bytes,device_sampled_peak_bytes,warning phase=run
fi

# --- a MIG slice: its own figures, not its card's ---
machine "instance 0 MIG-dddd4444 Slow-3g.20gb $((20 * gib)) $gib"
CUDA_VISIBLE_DEVICES=MIG-dddd4444 sweep one.ini mig
code_is 0
rows_match "^MIG-dddd4444\\|Slow-3g.20gb\\|pci-00000000:17:00.0\\|0\\|on\\|$gib\\|0\$" \
    device_uuid,device_name,device_pci,nvml_index,mig,device_used_before_bytes,nvml_reserved_bytes \
    phase=run
CUDA_VISIBLE_DEVICES=0 sweep one.ini mig-by-number # CUDA would take the first slice, too
rows_match '^MIG-dddd4444$' device_uuid phase=run

# --- more than the card has: the driver spilled into the host's memory ---
machine
cat > child.sh <<EOF
$speak
hello
begin context
end context allocated_peak_bytes=$((90 * gib))
bye
EOF
sweep zero.ini spill
code_is 3
rows_match '^spilled\|\|more than the device has' status,fits,warning phase=run
nothing_left
