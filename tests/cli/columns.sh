# columns: the table that writes the file, in its order, with the statuses.
. "$HIGHWATER_SOURCE/tests/helpers.sh"

expect 0 columns
record="$HIGHWATER_SOURCE/harness/record" # each dimension is a column, at the place of the include
sed "/^#include .*dimension.def/{r $record/dimension.def
d}" "$record/columns.def" | sed -nE 's/^(COLUMN|DIMENSION)\(([a-z_0-9]*),.*/\2/p' >wanted
[ "$(wc -l <wanted)" -gt 100 ] || fail "columns.def could not be read"
awk 'NF >= 4 && $2 ~ /^(count|real|text)$/ { print $1 }' out >got
cmp -s wanted got || fail "columns prints other columns than the table: $(diff wanted got)"
for status in $(sed -n 's/^STATUS(\([a-z_]*\),.*/\1/p' \
    "$HIGHWATER_SOURCE/harness/record/status.def"); do
    grep -qE "^$status +(yes|no|empty) " out || fail "columns lacks status $status"
done
# NVML's second call: tests/mpi/cards.sh sees both columns on a card with a reserve
grep -q '^device_used_before_bytes .* nvml_reserved_bytes not among them' out ||
    fail "device_used_before_bytes is not said to leave the reserve out"
grep -qE '^allocated_peak_bytes +count +bytes ' out || fail "a unit is missing"

# letters before a value, which keep a spreadsheet from reading it as a number: as the table says
mv out table
# shellcheck disable=SC2086
expect 0 measure --device simulated --capacity 1GiB --workload dense --context 8 --width 64 \
    $measure_consent -o m.json
sed -n 's/^\([a-z_]*\) .*  "\([a-z]*-*\)" and .*/\1 \2/p' table >prefixes
[ "$(wc -l <prefixes)" -eq 7 ] || fail "columns that begin with letters: $(cat prefixes)"
seen=0
while read -r column prefix; do
    grep -q "\"$column\": \"" m.json || continue # of a card
    seen=$((seen + 1))
    ! grep "\"$column\": \"" m.json | grep -v "\"$column\": \"$prefix" || fail "$column is no $prefix"
done <prefixes
[ "$seen" -eq 5 ] || fail "only $seen columns that begin with letters"

expect 0 columns --json
sed -n 's/^ *"name": "\(.*\)",*/\1/p' out | head -n "$(wc -l <wanted)" >got
cmp -s wanted got || fail "columns --json has other columns than the table"
