# quickstart.sh and the set-up: what they say and where they stop, on machines made of stand-ins.
. "$HIGHWATER_SOURCE/tests/helpers.sh"

# A machine of which only the stand-ins of `fake` and the usual tools are seen.
mkdir fake
tools="sh cat grep sed awk sort head tail tr cut find dirname basename mktemp rm mkdir ls uname env ln \
printf id test expr date"
for tool in $tools; do
    path=$(command -v "$tool") || continue
    case $path in /*) cp -L "$path" fake/ ;; esac # a copy: nothing here leads to the real one
done
stand_in() { # NAME, body on standard input
    { echo '#!/bin/sh'; cat; } >"fake/$1"
    chmod +x "fake/$1"
}
source_copy() { # a copy that sees neither this build nor this machine's device and toolkit
    mkdir -p copy/tests copy/sweeps
    sed "s|^devices=.*|devices=$PWD/none|; s|^toolkits=.*|toolkits=$PWD/none|" \
        "$HIGHWATER_SOURCE/tests/setup.sh" >copy/tests/setup.sh
    cp "$HIGHWATER_SOURCE/sweeps/quickstart.sh" "$HIGHWATER_SOURCE/sweeps/quickstart.ini" copy/sweeps/
}
quickstart() { # CODE ARGUMENT…
    wanted=$1
    shift
    code=0
    PATH="$PWD/fake" sh copy/sweeps/quickstart.sh "$@" >out 2>err || code=$?
    [ "$code" -eq "$wanted" ] || { cat out; fail "quickstart: exit code $code, not $wanted"; }
}
source_copy

# arguments are not ignored: nothing is installed, built or run
for help in -h --help; do
    quickstart 0 $help
    has out 'usage: sh sweeps/quickstart.sh'
    is_empty err
done
for arguments in --hepl 'x' '--help x'; do
    # shellcheck disable=SC2086
    quickstart 1 $arguments
    is_empty out
    has err "quickstart: unknown argument: $arguments"
    has err 'usage: sh sweeps/quickstart.sh'
done
[ ! -e copy/build ] && [ ! -e copy/results ] || fail "something was created"

# packages are missing and there is no right to install them: the exact command, and exit 1
stand_in id <<'SH'
echo 1000
SH
stand_in apt-get <<'SH'
exit 100
SH
stand_in apt-cache <<'SH'
exit 100
SH
quickstart 1
grep -q 'sudo apt-get update && sudo apt-get install -y .*libinih-dev' out ||
    fail "the command that installs is not printed: $(cat out)"
! grep -v '^simulated: ' out || fail "a line of the simulated mode does not say so"
is_empty err
[ ! -e copy/build ] && [ ! -e copy/results ] || fail "something was created"

# a GPU, no toolkit, none in the package sources: exit 2, the commands, and no simulation
stand_in nvidia-smi <<'SH'
case "$*" in
-L) echo 'GPU 0: NVIDIA Something (UUID: GPU-0)' ;;
*) echo '| NVIDIA-SMI 580.1  Driver Version: 580.1  CUDA Version: 13.0 |' ;;
esac
SH
quickstart 2
grep -q 'cuda-keyring' err || fail "the commands that add a toolkit are not printed"
! grep -qi '^simulated' out err || fail "it simulates in place of a measurement"
[ ! -e copy/build ] && [ ! -e copy/results ] || fail "something was created"

# a toolkit in the package sources is asked for by the newest name that the driver can run
stand_in apt-cache <<'SH'
[ "$1" = pkgnames ] && printf 'cuda-nvcc-12-9\ncuda-nvcc-13-0\ncuda-nvcc-13-1\n'
SH
quickstart 1
grep -q 'apt-get install .* cuda-nvcc-13-0 cuda-cudart-dev-13-0 libcublas-dev-13-0' err ||
    fail "the toolkit's packages are not asked for: $(cat err)"
