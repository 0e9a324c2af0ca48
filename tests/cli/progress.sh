# The progress of a sweep: a line a run where there is no terminal; on one a single line that never
# wraps, however narrow the terminal is and when it is resized in the middle.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
command -v script > /dev/null || { echo "skipped: no script(1) to make a terminal with"; exit 77; }
bin=$HIGHWATER_TEST_BIN
HIGHWATER_TEST_INSTANT=1
export HIGHWATER_TEST_INSTANT
printf '%s\n' '[study]' 'name = long-name' 'question = test' 'workload = dense' '[launch]' \
    'allow_root = yes' '[device]' 'backend = simulated' 'capacity = 64MiB' '[point]' \
    'context = 8' 'width = 64' 'dtype = float32' 'warmup = 0' 'repeats = 1' '[sweep batch]' \
    'values = 1:300:+1, 90000' > s.ini

# on_terminal COLUMNS DIR COMMAND…: what was written to a terminal of that width, in `seen`.
on_terminal()
{
    columns=$1 results=$2 term=${TERM_OF_TEST-xterm}
    shift 2
    cat > inside.sh <<EOF
stty cols $columns rows 24
$*
"$bin/highwater" sweep s.ini --results $results > $results.out
EOF
    TERM=$term script -qec 'sh inside.sh' /dev/null < /dev/null > seen || fail "a sweep on a terminal failed"
}
# lines: the progress lines of `seen`.
lines()
{
    tr '\r' '\n' < seen | sed 's/\x1b\[[0-9]*[A-Z]//g' | grep -E '^(simulated|[0-9])' || true
}
# widest: columns of the widest progress line of `seen`.
widest()
{
    lines | awk '{ gsub(/[\200-\277]/, ""); if (length($0) > most) most = length($0) } END { print most + 0 }'
}

on_terminal 120 wide
[ "$(widest)" -gt 60 ] || fail "a wide terminal shows $(widest) columns"
tr '\r' '\n' < seen | grep -q 'simulated 301/301; 300 fitted, 1 failed; .*; r-batch-90000-t1: oom in ' ||
    fail "the line does not tell: $(tail -c 400 seen)"
grep -q 'about .* to go' seen || fail "nothing is said of the rest"
grep -q '301 of 301 runs made, 300 fitted, 1 failed' seen || fail "no last line"

# Narrower ones leave out whole parts, so that no number is cut in the middle.
done='simulated [0-9]+/301' rest='about [0-9.]+ [a-z]+( [0-9]+ [a-z]+)? to go' took='[0-9.]+ m?s'
counts='[0-9]+ fitted, [01] failed' point='r-batch-[0-9]+-t1: (ok|oom in [a-z_]+)'
whole="($done(; $counts)?(; $took)?([;,] $rest)?(; $point)?|[0-9]+/301)"
for columns in 100 80 60 40 20 12 8 2; do
    on_terminal $columns "narrow$columns"
    lines > shown
    [ "$(widest)" -lt $columns ] || fail "$columns columns: a line of $(widest)"
    ! grep -Evx "$whole" shown || fail "$columns columns: cut"
    [ $columns = 2 ] || grep -Eqx '(simulated )?301/301(;.*)?' shown || fail "$columns columns: no last run"
done

# Made narrower in the middle: later lines are cut, what stood on several rows is wiped.
on_terminal 120 resized '(until [ -s resized/events.log ]; do sleep 0.01; done; stty cols 30 < /dev/tty) &'
tr '\r' '\n' < seen | sed 's/\x1b\[[0-9]*[A-Z]//g' | grep '^simulated' | tail -n 1 |
    awk 'length($0) > 29 { exit 1 }' || fail "a resize was not seen"
grep -q "$(printf '\033')\[[1-9]A$(printf '\033')\[J" seen || fail "a wrapped line was not wiped"

# A terminal that cannot move its cursor gets plain lines too.
for TERM_OF_TEST in dumb ''; do
    on_terminal 120 "dumb$TERM_OF_TEST"
    ! grep -q "$(printf '\033')" seen || fail "escape codes with TERM=$TERM_OF_TEST"
    [ "$(grep -c '301 r-batch-[0-9]*-t1: ' seen)" = 301 ] || fail "TERM=$TERM_OF_TEST: not a line a run"
done

# No terminal: plain lines, no control characters.
"$bin/highwater" sweep s.ini --results plain > out 2> err
! grep -q "$(printf '[\033\r]')" err || fail "control characters without a terminal"
[ "$(grep -c 'simulated [0-9]*/301 r-batch-[0-9]*-t1: ' err)" = 301 ] || fail "not a line a run"
