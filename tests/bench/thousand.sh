# A thousand real launches in a row: sh tests/bench/thousand.sh BUILD [LAUNCHES]
#
# tests/mpi/many.sh with more of them; takes some minutes, and is no part of the tests for that.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: thousand.sh BUILD [LAUNCHES]}" && pwd)
LAUNCHES=${2:-1000}
HIGHWATER_BIN=$build/bin HIGHWATER_TEST_BIN=$build/tests/bin
HIGHWATER_SOURCE=$top HIGHWATER_BUILD=$build
export LAUNCHES HIGHWATER_BIN HIGHWATER_TEST_BIN HIGHWATER_SOURCE HIGHWATER_BUILD
start=$(date +%s%3N)
sh "$top/tests/in_folder.sh" "$build/tests/bench/thousand" "$top/tests/mpi/many.sh"
took=$(($(date +%s%3N) - start))
echo "$LAUNCHES launches in $took ms, $((took / LAUNCHES)) ms each; nothing lost, nothing left"
