# Failures put in on purpose, in every phase, on the simulated and the host device: each is a row
# with its cause, the phases before it keep theirs, those behind it are not reached, and the study
# goes on.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"

phases='context libraries model_load inputs cold_forward warmup warm_forward'

# What must hold for a run that failed in phase $1 with status $2, whatever the cause.
failed_in()
{
    rows_are "$2|$1|" status,failed_phase,pass phase=run
    seen=no
    for each in $phases; do
        case $each:$seen in
        "$1":no)
            seen=yes
            rows_match "^($2\\|yes|not_reached\\|)\$" status,partial "phase=$each"
            cells status "phase=$each" | head -n 1 | grep -qx "$2" || fail "$1: no row of it"
            ;;
        *:no) rows_match '^ok\|$' status,partial "phase=$each" ;;
        *)
            rows_match '^not_reached\|\|\|\|\|\|1073741824$' status,partial,\
allocated_peak_bytes,reserved_peak_bytes,duration_ns,error,device_capacity_bytes "phase=$each"
            ;;
        esac
    done
    # A peak of a phase that did not end is a lower bound: it has no end.
    rows_match '^\|$' allocated_end_bytes,reserved_end_bytes partial=yes
    nothing_left
}

for device in simulated host; do
    study "$device.ini"
    for phase in $phases; do
        # host has no context and no libraries of its own to refuse
        sweep $device.ini "$device-oom-$phase" --set "device.backend=$device" \
            --set "device.fault=$phase:oom"
        code_is 3
        failed_in "$phase" oom
        rows_match '^no\|device\|3\|$' fits,refused_by,exit_code,signal phase=run
        # Nobody can tell what was free on a device that could not be opened.
        free='[0-9]+'
        [ $phase != context ] || free=''
        rows_match "^device\\|$free\$" refused_by,free_bytes_at_failure partial=yes
    done

    for fault in kill:crashed:9 segv:crashed:11; do
        signal=${fault##*:}
        sweep $device.ini "$device-$signal" --set "device.backend=$device" \
            --set "device.fault=cold_forward:${fault%%:*}"
        code_is 3
        failed_in cold_forward crashed
        rows_match "^\\|$signal\\|signal $signal \\(SIG[A-Z]+\\).*\$" exit_code,signal,error phase=run
        # The live page outlives the child: what it held is still known.
        rows_match '^[1-9][0-9]*\|[1-9][0-9]*$' allocated_peak_bytes,allocated_start_bytes \
            partial=yes
    done

    start=$(now)
    sweep $device.ini "$device-hang" --set "device.backend=$device" \
        --set device.fault=warmup:hang --set study.timeout=4s
    [ $(($(now) - start)) -lt 60000 ] || fail "a hang took $(($(now) - start)) ms"
    code_is 3
    failed_in warmup timeout
    rows_match '^\|9\|still alive at the deadline$' exit_code,signal,error phase=run

    sweep $device.ini "$device-setsid" --set "device.backend=$device" \
        --set device.fault=inputs:setsid --set study.timeout=4s
    code_is 3
    failed_in inputs timeout
    rows_match 'left behind, ended by us' warning phase=run

    sweep $device.ini "$device-exit" --set "device.backend=$device" \
        --set device.fault=model_load:exit-3
    code_is 3
    failed_in model_load error
    rows_match '^3\|\|.+$' exit_code,signal,error phase=run

    sweep $device.ini "$device-host" --set "device.backend=$device" \
        --set device.fault=inputs:host_oom
    code_is 3
    failed_in inputs host_oom
    rows_match '^\|host$' fits,refused_by phase=run
done

# A failure in the middle of a study: the runs around it are as they would be without.
study around.ini '[sweep batch]' 'values = 1, 200000, 2'
sweep around.ini around
code_is 0
rows_are 'r-batch-1-t1|ok|yes
r-batch-200000-t1|oom|no
r-batch-2-t1|ok|yes' run,status,fits phase=run
[ "$(ls around/runs)" = r-batch-200000-t1 ] || fail "runs/ holds $(ls around/runs)"

# A phase file that became something else costs its run, not the night.
for instead in 'mkfifo "$HIGHWATER_PHASES"' 'mkdir "$HIGHWATER_PHASES"' \
    'ln -s /dev/zero "$HIGHWATER_PHASES"'; do
    name=${instead%% *}
    child "$name.sh" <<EOF
$speak
all
bye
case "\$*" in *--batch=200000*) rm "\$HIGHWATER_PHASES"; $instead ;; esac
EOF
    sweep around.ini "$name"
    code_is 0
    rows_match '^error\|\|its phase file cannot be read: .' status,fits,error phase=run \
        run=r-batch-200000-t1
    rows_match '^ok\|yes$' status,fits phase=run run=r-batch-2-t1
done
unset HIGHWATER_TEST_CHILD
