# What a child's last words make of a run: nothing but a quoted text, the first cause, the right
# rank's. (cases 11, 13, 15, 52, 53, 55, 59, 69)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini
study four.ini '[sweep batch]' 'values = 1, 2, 4, 8'

# --- one point of four fails, in its own words: the rest runs, and skip-larger skips none ---
child at-four.sh <<EOF
$speak
case "\$*" in
*--batch=4*)
    hello
    begin context
    end context
    begin model_load
    echo 'Traceback (most recent call last):' >&2
    echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.' >&2
    exit 1 ;;
esac
all
bye
EOF
sweep four.ini four --set study.after_oom=skip-larger
code_is 0
rows_are 'r-batch-1-t1|ok|yes|
r-batch-2-t1|ok|yes|
r-batch-4-t1|error||
r-batch-8-t1|ok|yes|' run,status,fits,refused_by phase=run
rows_match '^model_load\|torch.OutOfMemoryError: CUDA out of memory. Tried' failed_phase,error \
    phase=run run=r-batch-4-t1
rows_match '^not_reached\|\|$' status,allocated_peak_bytes,duration_ns run=r-batch-4-t1 phase=inputs
[ "$(cells phase run=r-batch-4-t1 | wc -l)" = "$(cells phase run=r-batch-1-t1 | wc -l)" ] ||
    fail "a failed run has fewer rows"

# --- nothing worked ---
HIGHWATER_TEST_CHILD=$(command -v false)
sweep four.ini none
code_is 3
said '4 of 4 runs made, 0 fitted, 4 failed'
rows_match '^error\|\|1\|exit code 1 without a word$' status,fits,exit_code,error phase=run

# A child that ends well without a word has proved nothing.
HIGHWATER_TEST_CHILD=$(command -v true)
sweep s.ini silent
code_is 3
rows_match '^error\|\|0\|exit code 0, but it reported no phases$' status,fits,exit_code,error \
    phase=run

# says NAME EXPECTED: a child with the script on standard input; EXPECTED is status|refused_by|error.
says()
{
    child "$1.sh"
    sweep s.ini "$1"
    code_is 3
    rows_match "^$2\$" status,refused_by,error phase=run
    rows_match '^\|run$' fits,phase phase=run
    [ "$(wc -l < "$1/rows.csv")" = "$(($(cells phase | wc -l) + 1))" ] || fail "a row of two lines"
}

# --- what reads like a refusal is no refusal ---
says file-name 'error\|\|FileNotFoundError: docs/out_of_memory.md' <<'EOF'
echo 'FileNotFoundError: docs/out_of_memory.md' >&2
exit 1
EOF
says cublas 'error\|\|RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED.*' <<'EOF'
echo 'RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling cublasCreate' >&2
exit 1
EOF
says first-cause 'error\|\|.*out of memory.*; last: .*misaligned address' <<'EOF'
echo 'warning: CUDA caching allocator ran out of memory, trying again' >&2
for i in $(seq 200); do echo "line $i of the log" >&2; done
echo 'RuntimeError: CUDA error: misaligned address' >&2
exit 1
EOF
says host-words 'error\|\|numpy.*Unable to allocate 1 TiB' <<'EOF'
echo 'numpy._ArrayMemoryError: Unable to allocate 1 TiB' >&2
exit 1
EOF

# --- signals and codes are not each other ---
says killed 'crashed\|\|signal 9 \(SIGKILL\)' <<'EOF'
kill -KILL $$
EOF
rows_match '^\|9$' exit_code,signal phase=run
says code-137 'error\|\|exit code 137 without a word' <<'EOF'
exit 137
EOF
rows_match '^137\|$' exit_code,signal phase=run

# --- any bytes are one cell of one line, and read back ---
says quoted 'error\|\|a "quoted", b\\r\\nline2' <<'EOF'
printf 'a "quoted", b\r\nline2' >&2
exit 1
EOF
says nul 'error\|\|abc\\0def' <<'EOF'
printf 'abc\0def\n' >&2
exit 1
EOF
says formula 'error\|\|=HYPERLINK\("x"\)' <<'EOF'
echo '=HYPERLINK("x")' >&2
exit 1
EOF
says invalid 'error\|\|\\xc3\(' <<'EOF'
printf '\303(\n' >&2
exit 1
EOF
says long 'error\|\|[^|]{400,500}' <<'EOF'
head -c 100000 /dev/zero | tr '\0' x >&2
exit 1
EOF

# --- the words of each rank are its own, whatever the output looks like ---
child mixed.sh <<'EOF'
case $HIGHWATER_PHASES in *.0) me=zero ;; *) me=one ;; esac
i=0
while [ $i -lt 50 ]; do printf '%0100d' 0 >&2; printf '%0100d' 0; i=$((i + 1)); done
echo '[1,0]<stdout>: nonsense'
printf '\nerror of rank %s\n' $me >&2
exit 1
EOF
sweep s.ini mixed --set launch.ranks=2
code_is 3
rows_are '0|error of rank zero
1|error of rank one' rank,error phase=run
nothing_left

# --- more than the device has, and less than was asked: neither fits ---
child spills.sh <<EOF
$speak
hello
begin context
end context 'allocated_peak_bytes=32000000000'
bye
EOF
sweep s.ini spills
code_is 3
rows_match '^spilled\|\|more than the device has: host spill suspected$' status,fits,warning phase=run
child adapts.sh <<EOF
$speak
hello() { line "hello\tprocessed_context=4"; }
all
bye
EOF
sweep s.ini adapts
code_is 3
rows_match '^adapted\|\|context asked 8, processed 4$' status,fits,warning phase=run
# What was asked is not a child's to say: it ran under something else, which is not as asked.
child claims.sh <<EOF
$speak
hello() { line "hello\tstudy=other\trun=r-other\tranks=9\torder=7\tbatch=99\tinput=x\tfits=no"; }
begin() { line "begin\tphase=\$1\tevidence=observed\trank=3"; }
all
bye
EOF
sweep s.ini claims
code_is 3
rows_match '^computed\|test\|r-batch-1-t1\|0\|1\|1\|1\|$' \
    evidence,study,run,rank,ranks,order,batch,input
rows_match '^\|' fits,phase
rows_match "^adapted\\|\\|study is not the child's to say; batch is 99, should be 1\$" \
    status,fits,warning phase=run
sweep s.ini claims --resume
code_is 0
said 'nothing to do'
child early.sh <<EOF
$speak
hello
begin context
end context
bye
EOF
sweep s.ini early
code_is 3
rows_match '^error\|\|libraries\|ended well, but phase libraries was not reached$' \
    status,fits,failed_phase,error phase=run

# --- nothing fits without proof, whatever was said ---
# ends NAME EXPECTED: as `says`, of status|failed_phase|error|warning.
ends()
{
    { echo "$speak"; cat; } > "$1.in"
    child "$1.sh" < "$1.in"
    sweep s.ini "$1"
    code_is 3
    rows_match "^$2\$" status,failed_phase,error,warning phase=run
}
ends fine-139 "error\|\|\|status ok is not the child's to give" <<'EOF'
all; line "fail\tstatus=ok"; bye; exit 139
EOF
rows_match '^139\|$' exit_code,signal phase=run
ends fine-segv "error\|warm_forward\|\|status ok is not the child's to give" <<'EOF'
all; line "fail\tphase=warm_forward\tpass=warm\trepeat=2\tstatus=ok"; bye; kill -SEGV $$
EOF
ends whole-segv 'crashed\|\|signal 11 \(SIGSEGV\)\|' <<'EOF'
all; bye; kill -SEGV $$
EOF
ends unended 'error\|model_load\|phase model_load was not ended\|' <<'EOF'
end() { [ "$1" = model_load ] || line "end\tphase=$1"; }
all; bye
EOF
rows_match '^error\|yes\|phase model_load was not ended$' status,partial,error phase=model_load
rows_match '^ok\|$' status,partial phase=inputs
ends refused-inside 'oom\|model_load\|\|' <<'EOF'
end() { [ "$1" = model_load ] && said='oom\trefused_by=device' || said=ok
    line "end\tphase=$1\tstatus=$said"; }
all; bye
EOF
rows_match '^no\|device$' fits,refused_by phase=run
ends reordered 'error\|context\|phase context is not of the plan, or not in its order\|' <<'EOF'
hello() { line hello; begin context; end context; begin model_load; end model_load; }
all; bye
EOF
ends twice 'error\|warm_forward\|phase warm_forward is not of the plan, or not in its order\|' <<'EOF'
all; line "begin\tphase=warm_forward\tpass=warm\trepeat=2"
line "end\tphase=warm_forward\tpass=warm\trepeat=2"; bye
EOF

# --- one that recovered is ok, with a warning, and its standard error is kept ---
child recovers.sh <<EOF
$speak
end() { line "end\tphase=\$1\talloc_retries=2"; }
echo 'CUDA out of memory, trying again' >&2
all
bye
EOF
sweep s.ini recovers
code_is 0
rows_match '^ok\|yes\|memory was refused until the allocator gave back its cache: 2 times$' \
    status,fits,warning phase=run
grep -rq 'CUDA out of memory, trying again' recovers/runs/r-batch-1-t1 || fail "words are not kept"
child second-recovers.sh <<EOF
$speak
case \$HIGHWATER_PHASES in
*.1) end() { line "end\tphase=\$1\trefused_by=device"; } && echo 'out of memory, again' >&2 ;;
esac
all
bye
EOF
sweep s.ini second-recovers --set launch.ranks=2
code_is 0
rows_are '0|ok|yes|
1|ok|yes|memory was refused by device, and it went on' rank,status,fits,warning phase=run
grep -rq 'out of memory, again' second-recovers/runs/r-batch-1-t1 || fail "words are not kept"

# --- cells that are not a child's stay what they are, and a simulated device has none ---
child lies.sh <<EOF
$speak
lies='\twall_ns=77\tfailed_phase=x\thost=h-x\tforeign_end_bytes=77\tinput_set=x\tpredicted_fits=no'
hello() { line "hello\tdevice_uuid=GPU-x\tdevice_capacity_bytes=77\$lies"; }
end() { line "end\tphase=\$1\tdevice_used_end_bytes=77\tdevice_sampled_peak_bytes=77\$lies"; }
all
bye
EOF
sweep s.ini lies
code_is 0
rows_match '^\|\|\|\|\|1073741824$' failed_phase,foreign_end_bytes,input_set,device_uuid,\
device_used_end_bytes,device_capacity_bytes
rows_match '^\|' device_sampled_peak_bytes,phase
rows_match "^ok\|yes\|yes\|foreign_end_bytes is not the child's to say\$" \
    status,fits,predicted_fits,warning phase=run
! cells wall_ns,host | grep -qE '^77\||h-x' || fail "a child's own wall time or host"
