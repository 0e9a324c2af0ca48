# Cards that do as told: a stand-in for libnvidia-ml.so.1 and for the workload, so that cuda studies
# run where there is no card. Sourced after lib.sh.
#
# The machine is the file $HIGHWATER_FAKE_NVML (helpers/fake_nvml.c says what may stand in it). The
# programs are copies, so that highwater-workload beside them can be ours: it answers --describe,
# and runs $PWD/child.sh otherwise.
mkdir cards
cp "$bin/highwater" "$bin/highwater-rank" "$bin/cells" "$bin/live" cards
bin=$PWD/cards
cat > cards/highwater-workload <<EOF
#!/bin/sh
case "\$1" in
--describe) echo '{"backends": ["simulated", "cuda"], "device": {"context_bytes": 500000000}}' ;;
*) exec sh "$PWD/child.sh" "\$@" ;;
esac
EOF
chmod +x cards/highwater-workload
unset CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER HIGHWATER_TEST_CHILD
HIGHWATER_FAKE_NVML=$PWD/machine
LD_LIBRARY_PATH=$HIGHWATER_BUILD/tests/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export HIGHWATER_FAKE_NVML LD_LIBRARY_PATH
gib=1073741824

# machine LINE…: two unlike cards of 80 and 24 GiB, and what else is said.
machine()
{
    {
        echo 'driver 580.10'
        echo "card GPU-aaaa1111-0 00000000:17:00.0 Slow $((80 * gib)) $((gib / 2)) $((gib / 4))"
        echo "card GPU-bbbb2222-0 00000000:3B:00.0 Fast $((24 * gib)) $((gib / 2)) 0"
        for fact; do echo "$fact"; done
    } > machine.new
    mv machine.new machine
}

# cuda_study FILE [LINE…]: a small cuda study; the lines are put behind [launch].
cuda_study()
{
    study=$1
    shift
    {
        printf '%s\n' '[study]' 'name = cards' 'question = test' 'workload = dense' \
            'timeout = 20s' '[point]' 'context = 8' 'width = 64' 'dtype = float32' 'warmup = 1' \
            'repeats = 2' '[device]' 'backend = cuda' '[launch]' 'allow_root = yes' 'settle = 5s'
        for line; do printf '%s\n' "$line"; done
        grep -q '^\[sweep' <<-EOF || printf '%s\n' '[sweep batch]' 'values = 1'
			$(printf '%s\n' "$@")
		EOF
    } > "$study"
}

# Words for child.sh beside those of $speak: take PID BYTES and give PID, on the card of this child;
# live PHASE [PASS [REPEAT]] names the phase on the live page.
# Replaced whole and one at a time: nobody reads a half written machine, no change is lost.
speak="$speak
machine=$HIGHWATER_FAKE_NVML
card() { grep '^card' \$machine | grep -n \"\$CUDA_VISIBLE_DEVICES\" | cut -d: -f1; }
change() { (flock 9; cp \$machine \$machine.\$\$ && \"\$@\" \$machine.\$\$ &&
    mv \$machine.\$\$ \$machine) 9> \$machine.lock; }
append() { echo \"\$1\" >> \"\$2\"; }
take() { change append \"process \$((\$(card) - 1)) \$1 \$2\"; }
live() { \"$bin/live\" \"\$@\"; }
give() { change sed -i \"/^process [0-9]* \$1 /d\"; }
"
