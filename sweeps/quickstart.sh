# What fits on this card? Installs what is missing, builds, runs sweeps/quickstart.ini, prints a
# short table and where rows.csv is.
#
#   sh sweeps/quickstart.sh
#
# With a GPU it measures that GPU. Without one it runs the same study on the simulated device,
# because this script says so here, and every line of its output begins with "simulated: ".
# A GPU without a CUDA toolkit is exit 2 and the commands that add one, never a simulation.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
program=quickstart
usage="usage: sh sweeps/quickstart.sh

Installs what is missing, builds, runs sweeps/quickstart.ini on the GPU, or without one on a
simulated device, and prints what fits. It takes no arguments; the steps by hand are in README.md."
case $# in
0) ;;
*)
    [ $# -gt 1 ] || case $1 in -h | --help) echo "$usage" && exit 0 ;; esac
    echo "$program: unknown argument: $*
$usage" >&2
    exit 1
    ;;
esac
. "$top/tests/setup.sh"

# A results folder is never reused: the first name that is free.
free_folder() { # SUFFIX
    folder=$top/results/quickstart$1
    number=2
    while [ -e "$folder" ]; do
        folder=$top/results/quickstart-$number$1
        number=$((number + 1))
    done
    echo "$folder"
}

prepare() { # CMAKE-OPTION…
    need_to_build
    install_missing
    say "building in $top/build"
    build_into "$top/build" -DHIGHWATER_TESTS=OFF "$@"
}

run_study() { # SUFFIX SWEEP-OPTION…
    results=$(free_folder "$1")
    shift
    if is_root; then
        say "running as root: consenting to mpirun as root with --set launch.allow_root=yes"
        set -- "$@" --set launch.allow_root=yes
    fi
    highwater=$top/build/bin/highwater
    code=0
    "$highwater" sweep "$top/sweeps/quickstart.ini" --results "$results" "$@" >/dev/null ||
        code=$?
    if [ -s "$results/rows.csv" ]; then
        "$highwater" report "$results"
        say "every row: $results/rows.csv (highwater columns explains them)"
    fi
    return $code
}

measure() {
    need_toolkit
    prepare -DHIGHWATER_CUDA=ON
    run_study ""
}

simulate() {
    say "no GPU here: the study runs on a simulated device of 24 GiB; nothing is measured"
    prepare -DHIGHWATER_CUDA=OFF
    run_study .simulated --set device.backend=simulated --set device.capacity=24GiB
}

if has_gpu; then
    measure
else
    status=$(mktemp)
    set +e
    {
        (set -e; simulate)
        echo $? >"$status"
    } 2>&1 | sed -u 's/^/simulated: /'
    code=$(cat "$status")
    rm -f "$status"
    exit "$code"
fi
