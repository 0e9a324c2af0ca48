# Set-up shared by tests/run.sh and sweeps/quickstart.sh, which source it with `top` set to the
# source folder: finds what is missing, installs it with apt where the rights are there, and
# otherwise prints the exact command and stops.

say() { echo "$program: $*"; }
die() { # CODE WORDS…
    code=$1
    shift
    echo "$program: $*" >&2
    exit "$code"
}

has() { command -v "$1" >/dev/null 2>&1; }
has_header() { echo "#include <$1>" | cc -E - >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }

# --- packages; the names are those of Debian and Ubuntu
missing=
need() { # PACKAGE CHECK…: the package is missing when the check fails
    package=$1
    shift
    "$@" || missing="$missing $package"
}

need_to_build() {
    need build-essential has cc
    need cmake has cmake
    need ninja-build has ninja
    need pkg-config has pkg-config
    need openmpi-bin has mpirun
    need libopenmpi-dev has mpicc
    need libinih-dev has_header ini.h
    need libcsv-dev has_header csv.h
    need libjansson-dev has_header jansson.h
}

can_link() { # FLAGS…: clang links a program with these
    echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n){return !d && n;}' |
        clang -x c "$@" -o /dev/null - >/dev/null 2>&1
}
# Where clang's sanitizer and fuzzer libraries are, by name of the distribution's release.
clang_runtime() {
    major=$(clang -dumpversion | cut -d. -f1)
    for package in "libclang-rt-$major-dev" "libclang-common-$major-dev"; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            echo "$package"
            return
        fi
    done
    echo libclang-rt-dev
}

need_to_test() {
    need gcc has gcc
    need libcmocka-dev has_header cmocka.h
    need clang has clang
    need binutils has readelf
    need procps has pgrep
}

as_root=
may_install() {
    if is_root; then
        as_root=
    elif has sudo && sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        return 1
    fi
}

updated=no
refresh() {
    has apt-get && may_install || return 0
    [ $updated = yes ] || $as_root apt-get update -qq || true
    updated=yes
}

# Installs $missing, or says how and stops.
install_missing() {
    [ -n "$missing" ] || return 0
    has apt-get || die 1 "missing (by their names in Debian):$missing"
    command="apt-get install -y --no-install-recommends$missing"
    may_install ||
        die 1 "packages are missing and may not be installed from here; run this, then start again:
  sudo apt-get update && sudo $command"
    say "installing$missing"
    refresh
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive $command >/dev/null ||
        die 1 "could not install; the command was: $command"
    missing=
}

# --- CUDA; device files and toolkits lie here
devices=/dev
toolkits="/usr/local /opt"
has_gpu() {
    [ -n "$(find $devices -maxdepth 1 -name 'nvidia[0-9]*' 2>/dev/null | head -n 1)" ] ||
        { has nvidia-smi && nvidia-smi -L 2>/dev/null | grep -q '^GPU '; }
}

# Puts nvcc on the PATH when a toolkit is installed anywhere usual.
find_nvcc() {
    has nvcc && return 0
    # shellcheck disable=SC2086
    for folder in $(for root in $toolkits; do
        ls -d "$root"/cuda/bin
        ls -d "$root"/cuda-*/bin | sort -rV
    done 2>/dev/null); do
        if [ -x "$folder/nvcc" ]; then
            PATH="$folder:$PATH"
            export PATH
            return 0
        fi
    done
    return 1
}

# The newest toolkit of the configured package sources that the driver can run, as package names.
toolkit_packages() {
    limit=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\.[0-9]*\).*/\1/p')
    for version in $(apt-cache pkgnames cuda-nvcc- 2>/dev/null | sed 's/^cuda-nvcc-//' |
        grep -E '^[0-9]+-[0-9]+$' | tr - . | sort -rV); do
        newest=$(printf '%s\n%s\n' "$version" "${limit:-$version}" | sort -V | tail -n 1)
        if [ "$newest" = "${limit:-$version}" ]; then
            dashed=$(echo "$version" | tr . -)
            echo "cuda-nvcc-$dashed cuda-cudart-dev-$dashed libcublas-dev-$dashed"
            return 0
        fi
    done
    if apt-cache show nvidia-cuda-toolkit >/dev/null 2>&1; then
        echo nvidia-cuda-toolkit
        return 0
    fi
    return 1
}

say_how_to_add_cuda() {
    # shellcheck disable=SC1091
    release=$(. /etc/os-release && echo "$ID$VERSION_ID" | tr -d .)
    machine=$(uname -m | sed 's/aarch64/sbsa/')
    keyring=cuda-keyring_1.1-1_all.deb
    cat >&2 <<TEXT
$program: there is a GPU, but no CUDA toolkit, and none in this machine's package sources.
$program: nothing was measured, and nothing is simulated in its place. These commands add one:
  wget https://developer.download.nvidia.com/compute/cuda/repos/$release/$machine/$keyring
  sudo dpkg -i $keyring
  sudo apt-get update
  sudo apt-get install -y cuda-toolkit
TEXT
}

# For a machine with a GPU: a toolkit, or exit 2.
need_toolkit() {
    find_nvcc && return 0
    if has apt-get; then
        refresh
        if packages=$(toolkit_packages); then
            missing=" $packages"
            install_missing
            find_nvcc && return 0
        fi
    fi
    say_how_to_add_cuda
    exit 2
}

# --- building: build_into FOLDER OPTION…
build_into() {
    folder=$1
    shift
    log=$(mktemp)
    if ! { cmake -S "$top" -B "$folder" -G Ninja "$@" && cmake --build "$folder"; } >"$log" 2>&1
    then
        grep -vE '^\[[0-9]+/[0-9]+\]|^-- ' "$log" | tail -n 60 >&2
        rm -f "$log"
        die 1 "the build in $folder failed"
    fi
    sed -n "s/^-- highwater:/$program:/p" "$log"
    rm -f "$log"
}
