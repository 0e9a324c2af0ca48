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
import pickle
import sys

SEGMENT_ACTIONS = ("segment_alloc", "segment_free", "segment_map", "segment_unmap")
GIVES_BACK = ("segment_free", "segment_unmap")


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"holds {module}.{name}, which is no plain data")


def is_empty_cache(entries, at):
    """Segments given back at `at`: by empty_cache(), or by a request that found no room?

    A request goes on with a new segment, or ends as out of memory; anything else was asked for.
    """
    for entry in entries[at:]:
        action = entry["action"]
        if action in ("segment_alloc", "segment_map", "oom"):
            return False
        if action == "alloc":
            return True
    return True


class Trace:
    def __init__(self):
        self.lines, self.segments = [], []
        self.live = {}  # address: id
        self.last_id = self.parts = 0
        self.early_frees = self.private = 0
        self.in_empty_cache = False

    def add(self, op, ident="", size="", stream="", address=""):
        self.lines.append(f"{op},{ident},{size},{stream},{address}")

    def begin_part(self):
        self.parts += 1
        self.add("begin", f"part_{self.parts}")

    def end_part(self):
        self.add("end", f"part_{self.parts}")

    def add_block(self, entry):
        self.last_id += 1
        self.live[entry["addr"]] = self.last_id
        self.private += tuple(entry.get("pool_id", (0, 0))) != (0, 0)
        self.add("alloc", self.last_id, entry["size"], entry["stream"], entry["addr"])

    def free_block(self, entry):
        ident = self.live.pop(entry["addr"], None)
        if ident is None:
            self.early_frees += 1
        else:
            self.add("free", ident)

    def add_segment(self, entries, at):
        entry = entries[at]
        action = entry["action"]
        if action in GIVES_BACK and not self.in_empty_cache and is_empty_cache(entries, at):
            self.in_empty_cache = True
            self.add("empty_cache")
        self.segments.append(
            f"{len(self.lines)},{action},{entry['size']},{entry['stream']},{entry['addr']}"
        )

    def convert(self, entries):
        self.begin_part()
        for at, entry in enumerate(entries):
            action = entry["action"]
            if action in SEGMENT_ACTIONS:
                self.add_segment(entries, at)
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


def choose_device(traces, asked):
    used = [i for i, entries in enumerate(traces) if entries]
    if asked is None and len(used) == 1:
        return used[0]
    if asked in used:
        return asked
    if not used:
        sys.exit("torch_trace: the snapshot has no history: was _record_memory_history on?")
    sys.exit(f"torch_trace: there is a history of the devices {used}: choose one with --device")


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
    traces = snapshot["device_traces"]
    trace = Trace()
    trace.convert(traces[choose_device(traces, arguments.device)])
    write(f"{arguments.name}.trace.csv", "op,id,bytes,stream,address", trace.lines)
    write(f"{arguments.name}.segments.csv", "after_trace_line,action,bytes,stream,address",
          trace.segments)
    if trace.early_frees:
        print(f"torch_trace: {trace.early_frees} blocks were older than the recording and are "
              "left out", file=sys.stderr)
    if trace.private:
        print(f"torch_trace: {trace.private} requests in private pools stand as ordinary ones",
              file=sys.stderr)
    options = replay_options(snapshot.get("allocator_settings", {}))
    print(f"highwater replay {arguments.name}.trace.csv --segments {arguments.name}.segments.csv "
          f"{options}".rstrip())


if __name__ == "__main__":
    main()
