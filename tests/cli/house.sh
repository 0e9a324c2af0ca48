# The rules of the house: layout, rooms, external headers, ceilings, linkage.
# A rule that is broken prints a line that names the place.
export LC_ALL=C
cd "$HIGHWATER_SOURCE"
broken=$(mktemp)
trap 'rm -f "$broken"' EXIT
say() { echo "$*" >>"$broken"; }

# Files of the project: what git has, or everything in an unpacked archive.
if git rev-parse --git-dir >/dev/null 2>&1; then
    list() { git ls-files --cached --others --exclude-standard -- "$@"; }
else
    list() { find "$@" -type f ! -path './.git/*' | sed 's|^\./||'; }
fi

# --- layout: the top level is exactly this
wanted=".ci .clang-format .editorconfig .github .gitignore CMakeLists.txt LICENSE README.md \
harness kernels reports sweeps tests"
found=$(list . | sed 's|/.*||' | sort -u | tr '\n' ' ')
for entry in $found; do
    case " $wanted " in *" $entry "*) ;; *) say "top level: $entry does not belong there" ;; esac
done
for entry in $wanted; do
    case " $found " in *" $entry "*) ;; *) say "top level: $entry is missing" ;; esac
done

# --- rooms: a room includes only itself and rooms above it
sources=$(list harness kernels reports | grep -E '\.(c|h|cu|cuh|def)$')
rooms="harness/base harness/record harness/device harness/allocator harness/trace harness/forecast \
harness/model harness/nvml harness/protocol kernels harness/setting harness/workload kernels/workloads \
harness/study harness/plan harness/verdict harness/observe harness/drive harness/probe reports \
harness/command"
# shellcheck disable=SC2086
awk -v rooms="$rooms" '
    function room(path,   i, best) { # the deepest folder counts: kernels/workloads is no part of kernels
        for (i = 1; i <= count; i++)
            if (index(path, name[i] "/") == 1 && (!best || length(name[i]) > length(name[best])))
                best = i
        return best + 0
    }
    BEGIN { count = split(rooms, name, " ") }
    FNR == 1 { mine = room(FILENAME); if (!mine) print FILENAME ": lies in no room" }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, part, "\"")
        theirs = room(part[2])
        if (!theirs)
            print FILENAME ":" FNR ": \"" part[2] "\" is not a path from the top"
        else if (theirs > mine)
            print FILENAME ":" FNR ": " name[mine] " may not include " part[2]
    }' $sources >>"$broken"

# --- an external library stands behind one file
only() { # HEADER FILE…: the header is included there and nowhere else
    header=$1
    shift
    # shellcheck disable=SC2086
    for file in $(grep -lE "^[ \t]*#[ \t]*include[ \t]*[<\"]$header[>\"]" $sources); do
        case " $* " in *" $file "*) ;; *) say "$file: includes $header, which is for $*" ;; esac
    done
    for file in "$@"; do
        grep -qE "^[ \t]*#[ \t]*include[ \t]*[<\"]$header[>\"]" "$file" 2>/dev/null ||
            say "$file: does not include $header any more: amend this rule"
    done
}
only ini.h harness/study/study.c
only csv.h harness/record/table.c
only jansson.h harness/base/json.c
only mpi.h harness/observe/rank.c
only dlfcn.h harness/nvml/nvml.c
# shellcheck disable=SC2086
for file in $(grep -lE '#[ \t]*include[ \t]*<(cuda|cublas)[^>]*>' $sources); do
    case $file in
    kernels/cuda/* | harness/device/cuda/*) ;;
    *) say "$file: CUDA headers are for kernels/cuda and harness/device/cuda" ;;
    esac
done

# --- a unit test lies in the room that it tests
for file in $(list tests/unit | grep '_test\.c$'); do
    room=${file#tests/unit/}
    room=${room%/*}
    [ -d "harness/$room" ] || [ -d "$room" ] ||
        say "$file: unit tests lie in tests/unit/ROOM, as the code lies in harness/ROOM or ROOM"
done

# --- ceilings
code=$(list harness kernels reports tests | grep -E '\.(c|h|cu|cuh)$')
# shellcheck disable=SC2086
awk '
    function finish() {
        if (file ~ /\.(h|cuh)$/ && lines > 120) print file ": " lines " lines; headers have 120"
        if (file ~ /\.(c|cu)$/ && lines > 700) print file ": " lines " lines; files have 700"
        if (file ~ /\.c$/ && file !~ /^tests\// && includes > 6)
            print file ": " includes " project includes; a file has 6"
    }
    FNR == 1 { finish(); file = FILENAME; includes = 0; open = 0; head = "" }
    { lines = FNR }
    /^[ \t]*#[ \t]*include[ \t]*"/ { includes++ }
    {
        width = $0
        gsub(/[\200-\277]/, "", width) # continuation bytes of UTF-8
        if (length(width) > 96) print FILENAME ":" FNR ": " length(width) " columns; 96 are allowed"
    }
    /^typedef struct/ { print FILENAME ":" FNR ": structs have no typedef" }
    /^[^ \t{}#\/*]/ { head = $0 }
    /^{/ { open = FNR }
    /^}/ && open {
        limit = head ~ /__(global|device)__/ ? 100 : 60
        if (FNR - open + 1 > limit)
            print FILENAME ":" open ": a function of " FNR - open + 1 " lines; " limit " are allowed"
        open = 0
    }
    END { finish() }' $code >>"$broken"

# --- one header a file: what X.c exports is declared in X.h (needs Universal Ctags); the files
# that do not keep to it yet stand apart, and none may be added
# workload_find: harness/workload asks, kernels/workloads below it answers
apart="harness/base/option_help.c harness/command/commands.c harness/command/help.c \
harness/study/blocks.c harness/study/check.c \
harness/study/check_workload.c harness/study/sections.c harness/study/study.c \
harness/study/study_keys.c kernels/workloads/workloads.c"
if ctags --version 2>/dev/null | grep -q Universal; then
    # shellcheck disable=SC2086
    ctags -f - --excmd=number --languages=C,CUDA --langmap=C:.c.h,CUDA:.cu.cuh --kinds-C=fp \
        --kinds-CUDA=fp --fields=kf $sources | awk -F'\t' -v apart="$apart" '
        function stem(path) { sub(/\.[a-z]*$/, "", path); return path }
        BEGIN { count = split(apart, known, " "); for (i = 1; i <= count; i++) may[known[i]] = 1 }
        /^!/ { next }
        $4 == "p" && $2 ~ /\.(h|cuh)$/ { declared[$1 " " stem($2)] = 1; all++ }
        $4 == "f" && $2 ~ /\.(c|cu)$/ && !/\tfile:/ && $1 != "main" { made[$1] = $2 }
        END {
            if (all < 100) print "one header a file: ctags found " all + 0 " declarations"
            for (name in made)
                if (!((name " " stem(made[name])) in declared) && !may[made[name]])
                    print made[name] ": " name " is not declared in its own header"
        }' >>"$broken"
fi

# --- one struct a tag
# shellcheck disable=SC2086
grep -hoE '^struct [a-z0-9_]+ \{' $sources | sort | uniq -d |
    sed 's/\(.*\) {/\1: the tag of two structs/' >>"$broken"

# --- nothing is left for later in the code
later='\bTO''DO\b|\bFIX''ME\b|\bX''XX\b|\bplace''holder_until|\bfor'' now\b'
list harness kernels reports sweeps tests .ci .github CMakeLists.txt README.md |
    while read -r file; do
        grep -nHIE "$later" "$file" || true
    done >>"$broken"

# --- linkage of what is installed
needs() { readelf -d "$HIGHWATER_BIN/$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
loads() { ldd "$HIGHWATER_BIN/$1" | sed 's/^[ \t]*//'; }
cuda='^lib(cuda|cudart|cublas|cublasLt|nvidia-ml)[.-]'
mpi='^lib(mpi|open-rte|open-pal|pmix)[.-]'
refuse() { # PROGRAM PATTERN WORD
    { needs "$1"; loads "$1"; } | grep -E "$2" | sort -u | sed "s|^|$1: is linked with $3: |" >>"$broken"
}
refuse highwater "$cuda" CUDA
refuse highwater "$mpi" MPI
refuse highwater-rank "$cuda" CUDA
refuse highwater-workload "$mpi" MPI
# Where libraries are looked for: whole paths only; an empty element is the current folder.
for program in highwater highwater-rank highwater-workload; do
    readelf -d "$HIGHWATER_BIN/$program" | sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/:\1:/p' |
        grep -E ':(:|[^/:])' | sed "s|^|$program: looks for libraries by |" >>"$broken"
done
needs highwater-rank | grep -q '^libmpi' || say "highwater-rank: is not linked with MPI"

# --- no mutable globals: writable data of the libraries, sanitizers' and nvcc's own aside
allowed='^(log\.c\.o)$'
if ! nm "$HIGHWATER_BIN/highwater" | grep -q __asan_init; then
    objdump -t "$HIGHWATER_BUILD"/lib*.a 2>/dev/null | awk -v allowed="$allowed" '
        / file format / { object = $1; sub(/:$/, "", object) }
        $3 == "O" && ($4 ~ /^\.bss/ || $4 == "*COM*" || $4 ~ /^\.data(\.[^r]|$)/) &&
            $NF !~ /__device_stub__|__cuda|__nv_/ {
            if (object !~ allowed) print object ": mutable global " $NF
        }' >>"$broken"
fi

if [ -s "$broken" ]; then
    cat "$broken"
    echo "house: $(wc -l <"$broken") rules broken"
    exit 1
fi
