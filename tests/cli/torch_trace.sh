# torch_trace.py: snapshots as PyTorch writes them, made here from the recordings, become the same
# traces again, which replay without a difference.
. "$HIGHWATER_SOURCE/tests/helpers.sh"
command -v python3 >/dev/null || exit 77
traces=$HIGHWATER_SOURCE/tests/data/traces
convert=$HIGHWATER_SOURCE/harness/probe/python/torch_trace.py

cat >snapshot.py <<'PYTHON'
"""snapshot.py TRACE SEGMENTS OUT: the history that PyTorch would have kept of a recording."""
import csv, pickle, sys
history, live, segments = [], {}, list(csv.DictReader(open(sys.argv[2])))
def entry(action, addr, size, stream):
    history.append({"action": action, "addr": int(addr), "size": int(size), "stream": int(stream or 0),
                    "time_us": len(history), "frames": [], "pool_id": (0, 0), "user_metadata": ""})
def segment_events(upto):
    while segments and int(segments[0]["after_trace_line"]) <= upto:
        s = segments.pop(0)
        entry(s["action"], s["address"], s["bytes"], s["stream"])
for done, line in enumerate(csv.DictReader(open(sys.argv[1]))):
    segment_events(done)
    if line["op"] == "alloc":
        live[line["id"]] = line
        entry("alloc", line["address"], line["bytes"], line["stream"])
    elif line["op"] == "free":
        block = live.pop(line["id"])
        for action in "free_requested", "free_completed":
            entry(action, block["address"], block["bytes"], block["stream"])
    elif line["op"] == "oom":
        history.append({"action": "oom", "device_free": 1, "size": int(line["bytes"]),
                        "stream": int(line["stream"]), "time_us": 0, "frames": []})
    segment_events(done + (line["op"] == "empty_cache"))
settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.6,
            "expandable_segments": False, "roundup_power2_divisions": {"1": 0, "2": 0}}
pickle.dump({"segments": [], "device_traces": [[], history], "allocator_settings": settings},
            open(sys.argv[3], "wb"))
PYTHON

# the recording without its phases, which PyTorch does not know, and with ids counted again
# (an empty_cache that gave nothing back leaves no mark in a snapshot)
plain() {
    awk -F, -v OFS=, 'NR == FNR { if ($2 ~ /free|unmap/) gave[$1]; next }
        FNR == 1 { print; next }
        $1 == "begin" || $1 == "end" { next }
        $1 == "empty_cache" && !(FNR - 1 in gave) { next }
        $1 == "alloc" { id[$2] = ++last }
        $1 == "alloc" || $1 == "free" { $2 = id[$2] }
        { print }' "$2" "$1"
}
for name in fuzz_a fuzz_oom fuzz_gc fuzz_expandable; do
    python3 snapshot.py "$traces/$name.trace.csv" "$traces/$name.segments.csv" "$name.pickle"
    python3 "$convert" "$name.pickle" "$name" >said 2>err || fail "$name is not converted"
    has said "highwater replay $name.trace.csv --segments $name.segments.csv"
    # in fuzz_expandable an empty_cache stands right before a request that needs a segment: in a
    # snapshot that looks like the failure ladder
    if [ $name != fuzz_expandable ]; then
        plain "$traces/$name.trace.csv" "$traces/$name.segments.csv" >wanted
        plain "$name.trace.csv" "$name.segments.csv" >made
        cmp -s made wanted || fail "$name: another trace: $(diff made wanted | head -5)"
    fi
    cut -d, -f2- "$name.segments.csv" >made
    cut -d, -f2- "$traces/$name.segments.csv" >wanted
    cmp -s made wanted || fail "$name: other segments"
    case $name in
    fuzz_a) options= ;;
    fuzz_expandable) options="--allocator expandable" ;;
    fuzz_oom) options="--capacity 9006592819" ;;
    fuzz_gc) options="--capacity 9006592819 --garbage-collection-threshold 0.6" ;;
    esac
    # shellcheck disable=SC2086
    expect 0 replay "$name.trace.csv" --segments "$name.segments.csv" $options
    hasnt err differ
    has out part_1
done
has said "--garbage-collection-threshold 0.6"

# a marker splits; older blocks are the first requests; a second device must be chosen
python3 - <<'PYTHON'
import pickle
def entry(action, addr, size): return {"action": action, "addr": addr, "size": size, "stream": 0}
history = [entry("free_completed", 512, 100), entry("segment_alloc", 4096, 2097152), entry("alloc", 4096, 700),
           entry("snapshot", 0, 1024), entry("free_requested", 4096, 700), entry("free_completed", 4096, 700)]
data = {"segments": [], "device_traces": [history, history], "allocator_settings": {
    "expandable_segments": True, "max_split_size": 67108864,
    "roundup_power2_divisions": {"64": 8, "1": 8, "128": 4}}}
pickle.dump(data, open("two.pickle", "wb"))
class Bad:
    def __reduce__(self): return (print, ("this ran",))
pickle.dump({"device_traces": [[Bad()]]}, open("bad.pickle", "wb"))
PYTHON
! python3 "$convert" two.pickle two >said 2>err || fail "no device was chosen"
has err "choose one with --device"
python3 "$convert" two.pickle two --device 1 >said 2>err || fail "two is not converted"
has err "1 blocks of 100 bytes were older"
has said "--allocator expandable --max-split-size 67108864 --roundup-power2-divisions [1:8,64:8,128:4]"
expect 0 replay two.trace.csv --segments two.segments.csv
has out "part_1,ok,512,1024,1024"
has out "part_2,ok,1024,1024,0"
! python3 "$convert" two.pickle two --device 0 >said 2>err || fail "files were overwritten"
! python3 "$convert" bad.pickle bad >said 2>err || fail "a pickle ran code"
has err "no plain data"
hasnt said "this ran"

# A history that begins late: what was there lies where it was, and is in the figures. The same
# requests from the beginning, and from line 8 on with the segments as a snapshot at the end has them.
python3 - <<'PYTHON'
import pickle
MIB = 1 << 20
def entry(action, addr, size): return {"action": action, "addr": addr, "size": size, "stream": 0}
def block(size, requested, state): return {"size": size, "requested_size": requested, "state": state}
small, large, own = 1 << 30, 1 << 31, 1 << 32
before = [entry("segment_alloc", small, 2 * MIB), entry("alloc", small, 700), entry("alloc", small + 1024, 5000),
          entry("segment_alloc", large, 20 * MIB), entry("alloc", large, 3 * MIB),
          entry("alloc", large + 3 * MIB, 4 * MIB), entry("free_completed", large, 3 * MIB)]
after = [entry("alloc", large, 2 * MIB), entry("free_completed", small + 1024, 5000),
         entry("segment_alloc", own, 40 * MIB), entry("alloc", own, 40 * MIB)]
state = "active_allocated"
segments = [
    {"device": 0, "address": small, "total_size": 2 * MIB, "stream": 0, "is_expandable": False,
     "blocks": [block(1024, 700, state), block(2 * MIB - 1024, 0, "inactive")]},
    {"device": 0, "address": large, "total_size": 20 * MIB, "stream": 0, "is_expandable": False,
     "blocks": [block(2 * MIB, 2 * MIB, state), block(MIB, 0, "inactive"), block(4 * MIB, 4 * MIB, state),
                block(13 * MIB, 0, "inactive")]},
    {"device": 0, "address": own, "total_size": 40 * MIB, "stream": 0, "is_expandable": False,
     "blocks": [block(40 * MIB, 40 * MIB, state)]}]
def dump(name, **data): pickle.dump(data, open(name + ".pickle", "wb"))
dump("whole", segments=segments, device_traces=[before + [entry("snapshot", 0, 0)] + after])
dump("late", segments=segments, device_traces=[after])
dump("again", segments=[], device_traces=[before + [entry("alloc", small, 900)], [entry("snapshot", 0, 0)]])
pickle.dump(segments, open("list.pickle", "wb"))
dump("bare", segments=segments)
pickle.dump(7, open("number.pickle", "wb"))
PYTHON
for name in whole late; do
    python3 "$convert" $name.pickle $name >said 2>err || fail "$name is not converted"
    [ $name = whole ] || has err "3 blocks of 4200004 bytes were older"
    expect 0 replay $name.trace.csv --segments $name.segments.csv
    hasnt err differ
    tail -1 out | cut -d, -f3-10 >$name.figures
done
cmp -s whole.figures late.figures ||
    fail "another part: $(cat whole.figures) where the late history has $(cat late.figures)"
python3 "$convert" again.pickle again >said 2>err || fail "a device without requests was taken for one"
has err "1 addresses were handed out again"
expect 0 replay again.trace.csv --segments again.segments.csv
refused() { # NAME WORDS
    ! python3 "$convert" "$1.pickle" "$1" >said 2>err || fail "$1 was taken"
    has err "$2"
    hasnt err Traceback
}
refused list "list of segments"
refused bare "no device_traces"
refused number "this is a int"
