# environment: text and JSON say the same, and nothing is invented.
. "$HIGHWATER_SOURCE/tests/helpers.sh"

expect 0 environment --json
head -c 1 out | grep -q '{' || fail "environment --json is not an object"
has out '"host"'
has out "$(uname -r)"
sed -n 's/^  "\([a-z_]*\)":.*/\1/p' out >keys
[ -s keys ] || fail "environment --json has no members"

expect 0 environment
while read -r key; do
    grep -qE "^$key(:|\$)" out || fail "environment as text lacks $key"
done <keys
hasnt out null
grep -qE '^  memory_bytes: [0-9]+ = [0-9]+\.[0-9]{2} GB = [0-9]+\.[0-9]{2} GiB$' out ||
    fail "bytes for people without GB and GiB: $(grep memory_bytes out)"

# a helper that fails is asked once more; then nobody knows what it would have said
mkdir programs
cp "$HIGHWATER_BIN/highwater" "$HIGHWATER_BIN/highwater-rank" programs
cat >programs/highwater-workload <<EOF
#!/bin/sh
echo >>"$PWD/asked"
[ "\$(wc -l <"$PWD/asked")" -gt "\$(cat "$PWD/fails")" ] || exit 1
exec "$HIGHWATER_BIN/highwater-workload" "\$@"
EOF
chmod +x programs/highwater-workload
HIGHWATER_BIN=$PWD/programs
echo 1 >fails
expect 0 environment --json
hasnt out '"workload": null'
has out '"workload": {'
rm asked
echo 2 >fails
expect 0 environment --json
has out '"workload": null'
