# Golden files of scripts; sourced as . "$HIGHWATER_SOURCE/tests/golden.sh", behind a fail().
#
# golden NAME FILE: FILE is what tests/golden/NAME says. HIGHWATER_REWRITE_GOLDEN=1 writes it anew.
golden() {
    if [ -n "${HIGHWATER_REWRITE_GOLDEN:-}" ]; then
        cp "$2" "$HIGHWATER_SOURCE/tests/golden/$1"
    elif ! diff -u "$HIGHWATER_SOURCE/tests/golden/$1" "$2" >"$2.diff"; then
        head -n 40 "$2.diff"
        fail "$2 is not what tests/golden/$1 says"
    fi
}
