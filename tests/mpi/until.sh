# until = HH:MM: at that time of the local clock no further run is started, the rest is left for
# --resume; a time that is past today is tomorrow's. The clock is moved by TZ, so that any time of
# day is as many seconds ahead as a test likes.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini '[sweep batch]' 'values = 1:20:+1'
child naps.sh <<EOF
$speak
all
sleep 0.2
bye
EOF

hms() { echo "$(($1 / 3600)):$(($1 / 60 % 60)):$(($1 % 60))"; }
# clock HOUR MINUTE SECOND [winter|summer|spring|autumn]: in TZ a zone whose clock shows that now;
# in spring it is put from 2:00 to 3:00 today, in autumn from 2:00 to 1:00.
clock()
{
    west=$((($(date +%s) - ($1 * 3600 + $2 * 60 + $3) + 86400) % 86400))
    TZ=XST$(hms $west)
    export TZ
    today=$(($(date +%j | sed 's/^0*//') - 1))
    other=$((today > 180 ? today - 60 : today + 60))
    another=$((today > 180 ? today - 90 : today + 90))
    case ${4:-} in
    winter) TZ=XST$(hms $west)XDT,$another/2,$other/2 ;;
    summer) TZ=XST$(hms $((west + 3600)))XDT,$other/2,$another/2 ;;
    spring) TZ=XST$(hms $west)XDT,$today/2,$other/2 ;;
    autumn) TZ=XST$(hms $((west + 3600)))XDT,$other/2,$today/2 ;;
    esac
    [ "$(date +%H:%M)" = "$(printf %02d:%02d "$1" "$2")" ] || fail "TZ=$TZ: it is $(date)"
}

# stops NAME UNTIL: in the middle, by the clock, 4 s ahead.
stops()
{
    start=$(now)
    sweep s.ini "$1" --set "study.until=$2"
    took=$(($(now) - start))
    code_is 0
    [ $took -gt 900 ] && [ $took -lt 60000 ] || fail "$1: until $2 took $took ms"
    said "until $2: no further run is started, the rest is left for --resume"
    grep -q "^....-..-.. ..:..:.. until $2: no further run is started" "$1/events.log" ||
        fail "events.log does not tell: $(cat "$1/events.log")"
    said "until $2: no run is started after ....-..-.. ..:..:00 X"
    ! grep -q ' finished$' "$1/events.log" || fail "$1 has finished"
    made=$(cells run phase=run status=ok | wc -l)
    [ "$made" -gt 0 ] && [ "$made" -lt 20 ] || fail "$1: $made runs until $2"
    [ "$(cells run phase=run | wc -l)" = "$made" ] || fail "$1: a run was cut off"
    "$bin/highwater" status "$1" > status.out
    grep -q "^$made runs* done, $((20 - made)) left\$" status.out || fail "$(cat status.out)"
}
# goes_on NAME UNTIL [OPTION…]: until everything is made, the time passed or far.
goes_on()
{
    unset HIGHWATER_TEST_CHILD
    sweep s.ini "$1" --set "study.until=$2" ${3:-}
    code_is 0
    [ "$(cells run phase=run status=ok | sort -u | wc -l)" = 20 ] || fail "$1: not every run"
    [ "$(tail -n 1 "$1/events.log" | cut -c 21-)" = finished ] || fail "$1 has not finished"
    HIGHWATER_TEST_CHILD=$PWD/naps.sh
    export HIGHWATER_TEST_CHILD
}

clock 22 29 56
stops evening 22:30
goes_on evening 22:30 --resume # which is past: tomorrow's
clock 6 59 56 summer
stops summer 7:00
goes_on summer 07:00 --resume
clock 12 0 56 winter
stops winter 12:01

# --- midnight ---
clock 23 59 56
stops midnight 0:00
goes_on midnight 0:00 --resume
clock 23 59 56
stops two-digits 00:00
clock 0 0 1
goes_on morning 23:59
clock 23 59 30
goes_on night 23:59

# --- days of 23 and 25 hours: what the clock shows counts, not how many hours it is ---
clock 1 59 56 spring
stops spring 3:00
clock 1 59 56 spring
stops jumped-over 2:30
clock 1 59 56 autumn
goes_on autumn 2:00
clock 1 59 56 autumn
stops once-more 1:00
nothing_left
