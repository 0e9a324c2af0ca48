# Every test: sh tests/run.sh
#
# Sets up as quickstart.sh does, then builds twice with warnings as errors and runs ctest in both:
# with gcc (and CUDA, when a toolkit is there), and with clang under address and undefined
# behaviour sanitizers, with each fuzz target for 30 s, or FUZZ_SECONDS. Fails when a test fails, or
# when fewer tests were executed than tests/minimum_tests says. GPU tests are skipped by name without a device.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
program=run.sh
. "$top/tests/setup.sh"
jobs=$(nproc)

prepare() {
    need_to_build
    need_to_test
    install_missing
    need "$(clang_runtime)" can_link -fsanitize=fuzzer,address
    install_missing
    if has_gpu; then
        need_toolkit
    fi
    if is_root; then
        say "running as root: the tests consent to mpirun as root (--set launch.allow_root=yes," \
            "--allow-root)"
    fi
}

build() {
    if find_nvcc; then
        cuda=ON
        say "building with gcc and $(command -v nvcc)"
    else
        cuda=OFF
        say "building with gcc; no CUDA toolkit here, so the cuda device is not built"
    fi
    # without a device to run on, one architecture shows that everything compiles and links
    one=
    if [ $cuda = ON ] && ! has_gpu; then
        one=-DCMAKE_CUDA_ARCHITECTURES=$(nvcc --list-gpu-arch | sed 's/compute_//' |
            awk '!best || $1 == 90 { best = $1 } END { print best }')
    fi
    CC=gcc build_into "$top/build-gcc" -DHIGHWATER_WERROR=ON -DHIGHWATER_CUDA=$cuda $one
    say "building with clang and sanitizers"
    CC=clang build_into "$top/build-clang" -DHIGHWATER_WERROR=ON -DHIGHWATER_CUDA=OFF \
        -DHIGHWATER_SANITIZE=address,undefined -DHIGHWATER_FUZZ=ON \
        -DHIGHWATER_FUZZ_SECONDS="${FUZZ_SECONDS:-30}"
}

passed=0 failed=0 skipped=0
# Adds what ctest found: scripts and fuzz targets count one each, unit tests by their cases.
count() { # BUILD
    results=$1/results.xml
    names() { # KIND: names of the test cases with this verdict
        awk -v kind="$1" '
            /<testcase / { match($0, /name="[^"]*"/); name = substr($0, RSTART + 6, RLENGTH - 7)
                           verdict = /status="run"/ ? "passed" : "skipped" }
            /<failure/   { verdict = "failed" }
            /<skipped/ && !/SKIP_RETURN_CODE/ { verdict = "failed" } # not even there
            /<\/testcase>/ { if (verdict == kind) print name }' "$results"
    }
    cases=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test(s).*/\1/p' \
        "$1/Testing/Temporary/LastTest.log" | awk '{ sum += $1 } END { print sum + 0 }')
    scripts=$(names passed | grep -vc '^unit/' || true)
    passed=$((passed + cases + scripts))
    failed=$((failed + $(names failed | wc -l)))
    skipped=$((skipped + $(names skipped | wc -l)))
    names failed | sed "s|^|$program: FAILED in $1: |"
    names skipped | sed "s|^|$program: skipped in $1: |"
}

# Runs ctest in a build; what fails is printed with its output.
run() { # BUILD CTEST-OPTION…
    folder=$1
    shift
    rm -f "$folder/results.xml"
    ctest --test-dir "$folder" --output-on-failure --output-junit "$folder/results.xml" "$@" \
        >"$folder/ctest.log" 2>&1 || grep -vE ' Passed |^ +Start ' "$folder/ctest.log" | tail -n 400
    [ -s "$folder/results.xml" ] || die 1 "ctest wrote no results in $folder"
}

prepare
build
say "fuzzing"
run "$top/build-clang" -j "$jobs" -L fuzz
count "$top/build-clang"
# Most of the rest waits for launches and deadlines: the two builds are tested side by side, and
# in each as many tests at once as there are processors (tests that compute take two places).
say "testing"
run "$top/build-gcc" -j "$jobs" &
run "$top/build-clang" -j "$jobs" -LE fuzz
wait $!
count "$top/build-gcc"
count "$top/build-clang"

minimum=$(cat "$top/tests/minimum_tests")
executed=$((passed + failed))
[ "$executed" -ge "$minimum" ] ||
    say "FAILED: $executed tests were executed, tests/minimum_tests asks for $minimum"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$executed" -ge "$minimum" ]
