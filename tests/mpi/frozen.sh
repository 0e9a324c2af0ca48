# A study is frozen when it starts, and what is finished is never overwritten. (cases 82, N6)
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini '[sweep batch]' 'values = 1, 2, 3'
child edits.sh <<EOF
$speak
all
bye
sed -i 's/^values = .*/values = 7, 8, 9/' "$PWD/s.ini"
EOF
sweep s.ini out
code_is 0
rows_are '1
2
3' value phase=run
grep -q '^values = 7' s.ini || fail "the study was not edited"
grep -q '^values = 1, 2, 3' out/study.ini || fail "the frozen study was edited"

# Twice into the same folder, or into something that is not ours.
before=$(stat -c '%Y %s' out/rows.csv; cksum out/rows.csv)
sweep s.ini out
code_is 4
[ "$before" = "$(stat -c '%Y %s' out/rows.csv; cksum out/rows.csv)" ] || fail "rows were touched"
echo mine > foreign
sweep s.ini foreign
code_is 4
[ "$(cat foreign)" = mine ] || fail "a foreign file was touched"
