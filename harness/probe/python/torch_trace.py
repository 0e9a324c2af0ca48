"""From a PyTorch memory snapshot to a trace that `highwater replay` reads.

    torch.cuda.memory._record_memory_history(max_entries=sys.maxsize)
    ...
    torch.cuda.memory._dump_snapshot("snapshot.pickle")

    python3 torch_trace.py snapshot.pickle NAME [--device N]

makes NAME.trace.csv and NAME.segments.csv. Calls of _snapshot() in between split the recording into
phases part_1, part_2, ...; without any it is one phase. Needs the standard library only; a pickle
is taken only if it holds plain data, so that a foreign file cannot run code.
"""

import argparse
import gc
import pickle
import sys

SEGMENT_ACTIONS = ("segment_alloc", "segment_free", "segment_map", "segment_unmap")
GIVES_BACK = ("segment_free", "segment_unmap")
SMALL_SEGMENT = 2 << 20  # of the pool for requests of up to 1 MiB


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"holds {module}.{name}, which is no plain data")


def find_empty_caches(entries):
    """Per entry: would segments given back there be given back by empty_cache()?

    A request that found no room gives back too, and goes on with a new segment or ends as out of
    memory; anything else was asked for.
    """
    answers, answer = bytearray(len(entries)), True
    for at in range(len(entries) - 1, -1, -1):
        action = entries[at]["action"]
        if action in ("segment_alloc", "segment_map", "oom"):
            answer = False
        elif action == "alloc":
            answer = True
        answers[at] = answer
    return answers


class Trace:
    def __init__(self):
        self.lines, self.segments = [], []
        self.live = {}  # address: id
        self.older = {}  # address: (id, bytes, stream) of blocks that were there before the history
        self.older_segments = {}  # address: (bytes, stream), the same of segments
        self.own_segments = set()  # addresses of those of the history
        self.last_id = self.parts = 0
        self.handed_out_again = self.private = 0
        self.in_empty_cache = False

    def add(self, op, ident="", size="", stream="", address=""):
        self.lines.append(f"{op},{ident},{size},{stream},{address}")

    def begin_part(self):
        self.parts += 1
        self.add("begin", f"part_{self.parts}")

    def end_part(self):
        self.add("end", f"part_{self.parts}")

    def add_block(self, entry):
        address = entry["addr"]
        if address in self.live:  # its free is missing: a block is handed out when it is free
            self.handed_out_again += 1
            self.add("free", self.live[address])
        self.last_id += 1
        self.live[address] = self.last_id
        self.private += tuple(entry.get("pool_id", (0, 0))) != (0, 0)
        self.add("alloc", self.last_id, entry["size"], entry["stream"], address)

    def add_older(self, address, size, stream):
        self.last_id += 1
        self.older[address] = (self.last_id, size, stream)
        return self.last_id

    def free_block(self, entry):
        address = entry["addr"]
        ident = self.live.pop(address, None)
        if ident is None:
            if address in self.older:
                sys.exit(f"torch_trace: the block at {address} is freed twice: the history has gaps")
            ident = self.add_older(address, entry["size"], entry["stream"])
        self.add("free", ident)

    def add_segment(self, entry, emptied):
        action, address = entry["action"], entry["addr"]
        if action in GIVES_BACK and not self.in_empty_cache and emptied:
            self.in_empty_cache = True
            self.add("empty_cache")
        if action == "segment_alloc":
            self.own_segments.add(address)
        elif action == "segment_free" and address not in self.own_segments:
            self.older_segments[address] = (entry["size"], entry["stream"])
        elif action == "segment_free":
            self.own_segments.discard(address)
        self.segments.append(
            (len(self.lines), action, entry["size"], entry["stream"], address)
        )

    def convert(self, entries):
        emptied = find_empty_caches(entries)
        self.begin_part()
        for at, entry in enumerate(entries):
            action = entry["action"]
            if action in SEGMENT_ACTIONS:
                self.add_segment(entry, emptied[at])
                continue
            self.in_empty_cache = False
            if action == "alloc":
                self.add_block(entry)
            elif action == "free_completed":
                self.free_block(entry)
            elif action == "oom":
                self.add("oom", "", entry["size"], entry["stream"])
            elif action == "snapshot":
                self.end_part()
                self.begin_part()
        self.end_part()

    def add_snapshot(self, segments):
        """Blocks that are there at the end and of which the history has nothing are older."""
        for segment in segments:
            address, stream = segment["address"], segment["stream"]
            if address not in self.own_segments and not segment.get("is_expandable"):
                self.older_segments[address] = (segment["total_size"], stream)
            for block in segment["blocks"]:
                address = block.get("address", address)
                held = block["state"] != "inactive"
                if held and address not in self.live and address not in self.older:
                    self.add_older(address, block.get("requested_size", block["size"]), stream)
                address += block["size"]

    def prepend_older(self):
        """Requests that lead to the blocks and segments of before the history, as its first lines.

        Every older segment is filled from its start, with the older blocks and with fillers between
        them; the fillers are freed when all are full. So each block comes to lie where it was.
        """
        early, inside = Trace(), dict(self.older)
        early.last_id = self.last_id
        fillers = []
        for start, (size, stream) in sorted(self.older_segments.items()):
            early.segments.append((len(early.lines), "segment_alloc", size, stream, start))
            small = size <= SMALL_SEGMENT
            if not small:  # a request that gets just this segment
                early.fill(start, size, stream)
                early.add("free", early.last_id)
            at = start
            for address in sorted(a for a in inside if start <= a < start + size):
                if address > at:
                    fillers += early.fill_all(at, address - at, stream, small)
                ident, wanted, _ = inside.pop(address)
                early.add("alloc", ident, wanted, stream, address)
                at = address + (wanted + 511) // 512 * 512
            if at < start + size:
                fillers += early.fill_all(at, start + size - at, stream, small)
        for address, (ident, wanted, stream) in sorted(inside.items()):
            early.add("alloc", ident, wanted, stream, address)
        for ident in fillers:
            early.add("free", ident)
        shift = len(early.lines)
        self.lines = early.lines + self.lines
        self.segments = early.segments + [(line + shift, *rest) for line, *rest in self.segments]

    def fill(self, address, size, stream):
        self.last_id += 1
        self.add("alloc", self.last_id, size, stream, address)
        return self.last_id

    def fill_all(self, address, size, stream, small):
        """The small pool serves no more than 1 MiB at once."""
        made = []
        while size > 0:
            part = min(size, SMALL_SEGMENT // 2) if small else size
            made.append(self.fill(address, part, stream))
            address, size = address + part, size - part
        return made


def has_allocated(entries):
    return any(entry["action"] in ("alloc", "free_completed") for entry in entries)


def choose_device(traces, asked):
    used = [i for i, entries in enumerate(traces) if has_allocated(entries)]
    if asked is None and len(used) == 1:
        return used[0]
    if asked in used:
        return asked
    if not used:
        sys.exit("torch_trace: the snapshot has no history: was _record_memory_history on?")
    sys.exit(f"torch_trace: there is a history of the devices {used}: choose one with --device")


def check_form(snapshot):
    """A line about what is no snapshot with a history."""
    if isinstance(snapshot, list):
        sys.exit("torch_trace: this is a list of segments, as torch.cuda.memory_snapshot() gives: it "
                 "has no history; use torch.cuda.memory._dump_snapshot()")
    if not isinstance(snapshot, dict):
        sys.exit(f"torch_trace: a snapshot is a dict; this is a {type(snapshot).__name__}")
    if not isinstance(snapshot.get("device_traces"), list):
        sys.exit("torch_trace: the snapshot has no device_traces: it was made by a PyTorch before 2.1, "
                 "or without _record_memory_history")


def replay_options(settings):
    """What the snapshot says of the settings, as options of replay (it does not know the limit)."""
    options = []
    if settings.get("expandable_segments"):
        options.append("--allocator expandable")
    if 0 < settings.get("max_split_size", -1) < 2**60:
        options.append(f"--max-split-size {settings['max_split_size']}")
    if settings.get("garbage_collection_threshold", 0) > 0:
        options.append(f"--garbage-collection-threshold {settings['garbage_collection_threshold']}")
    divisions = settings.get("roundup_power2_divisions") or {}
    if any(int(value) for value in divisions.values()):
        pairs = sorted((int(key), int(value)) for key, value in divisions.items())
        text = ",".join(f"{key}:{value}" for key, value in pairs)
        options.append(f"--roundup-power2-divisions [{text}]")
    return " ".join(options)


def write(path, header, lines):
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write("\n".join([header, *lines]) + "\n")
    except OSError as error:
        sys.exit(f"torch_trace: {path}: {error.strerror}")


def load(path):
    gc.disable()  # millions of small objects, none of them garbage
    try:
        with open(path, "rb") as file:
            return PlainUnpickler(file).load()
    except (OSError, pickle.UnpicklingError, EOFError) as error:
        sys.exit(f"torch_trace: {path}: {error}")


def main():
    parser = argparse.ArgumentParser(description="From a PyTorch memory snapshot to a trace.")
    parser.add_argument("snapshot", help="file of torch.cuda.memory._dump_snapshot()")
    parser.add_argument("name", help="of the files to make: NAME.trace.csv, NAME.segments.csv")
    parser.add_argument("--device", type=int, help="needed when several have a history")
    arguments = parser.parse_args()
    snapshot = load(arguments.snapshot)
    check_form(snapshot)
    traces = snapshot["device_traces"]
    device = choose_device(traces, arguments.device)
    trace = Trace()
    trace.convert(traces[device])
    trace.add_snapshot([s for s in snapshot.get("segments", []) if s.get("device", device) == device])
    trace.prepend_older()
    write(f"{arguments.name}.trace.csv", "op,id,bytes,stream,address", trace.lines)
    write(f"{arguments.name}.segments.csv", "after_trace_line,action,bytes,stream,address",
          (",".join(map(str, segment)) for segment in trace.segments))
    if trace.older:
        size = sum(size for _, size, _ in trace.older.values())
        print(f"torch_trace: {len(trace.older)} blocks of {size} bytes were older than the history: "
              "they are the first requests, before part_1", file=sys.stderr)
    if trace.handed_out_again:
        print(f"torch_trace: {trace.handed_out_again} addresses were handed out again without a free "
              "in the history: taken as freed just before", file=sys.stderr)
    if trace.private:
        print(f"torch_trace: {trace.private} requests in private pools stand as ordinary ones",
              file=sys.stderr)
    options = replay_options(snapshot.get("allocator_settings", {}))
    print(f"highwater replay {arguments.name}.trace.csv --segments {arguments.name}.segments.csv "
          f"{options}".rstrip())


if __name__ == "__main__":
    main()
