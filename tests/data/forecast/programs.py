"""programs.py PROGRAM N OUT.csv: the recording of a small program at a value of what varies.

Each program is a loop, or several, of a kind that real ones have; the same text makes the small
recordings and the large one that a forecast must equal.
"""
import sys


class Recording:
    def __init__(self):
        self.lines, self.last = ["op,id,bytes,stream,address"], 0

    def alloc(self, size, stream=0):
        self.last += 1
        self.lines.append(f"alloc,{self.last},{size},{stream},")
        return self.last

    def free(self, *blocks):
        for block in blocks:
            self.lines.append(f"free,{block},,,")

    def brief(self, *sizes):
        for size in sizes:
            self.free(self.alloc(size))

    def begin(self, name):
        self.lines.append(f"begin,{name},,,")

    def end(self, name):
        self.lines.append(f"end,{name},,,")

    def oom(self, size):
        self.lines.append(f"oom,,{size},0,")


def layers(r, n):
    """A network of n layers: forward keeps, backward frees in reverse, Adam keeps two states."""
    r.begin("load")
    embedding = r.alloc(32000 * 512 * 4)
    weights = [[r.alloc(512 * 512 * 4), r.alloc(512 * 4), r.alloc(512 * 2048 * 4)] for _ in range(n)]
    head = r.alloc(512 * 1000 * 4)
    r.end("load")
    states = []
    for step in range(2):
        r.begin(f"forward_{step}")
        x = r.alloc(8 * 128 * 512 * 4)
        kept = []
        for _ in range(n):
            a = r.alloc(8 * 128 * 512 * 4)
            r.brief(8 * 128 * 128 * 8 * 4)
            b = r.alloc(8 * 128 * 2048 * 4)
            kept.append((a, b))
        logits = r.alloc(8 * 128 * 1000 * 4)
        r.end(f"forward_{step}")
        r.begin(f"backward_{step}")
        r.free(logits)
        gradients = [r.alloc(512 * 1000 * 4)]
        for a, b in reversed(kept):
            g = r.alloc(8 * 128 * 2048 * 4)
            r.free(b)
            gradients.append(r.alloc(512 * 2048 * 4))
            r.free(g, a)
            gradients += [r.alloc(512 * 4), r.alloc(512 * 512 * 4)]
        gradients.append(r.alloc(32000 * 512 * 4))
        r.free(x)
        r.end(f"backward_{step}")
        r.begin(f"update_{step}")
        if step == 0:
            for size in [32000 * 512 * 4] + n * [512 * 512 * 4, 512 * 4, 512 * 2048 * 4] + [512 * 1000 * 4]:
                states += [r.alloc(size), r.alloc(size)]
        r.free(*gradients)
        r.end(f"update_{step}")


def microbatches(r, n):
    """One step over n microbatches: gradients stay from the first on."""
    r.begin("step")
    weights = [r.alloc(4 * 1000 * 1000) for _ in range(6)]
    gradients = []
    for i in range(n):
        batch = r.alloc(4 * 64 * 1000)
        kept = [r.alloc(4 * 64 * 1000) for _ in range(6)]
        for k, block in enumerate(reversed(kept)):
            g = r.alloc(4 * 1000 * 1000)
            if i == 0:
                gradients.append(g)
            else:
                r.free(g)
            r.free(block)
        r.free(batch)
    for _ in range(6):
        r.brief(4 * 1000 * 1000, 4 * 1000)
    r.free(*gradients)
    r.end("step")


def tokens(r, n):
    """n tokens after a prompt of 40; every token makes the caches of 4 layers anew, longer by one."""
    r.begin("load")
    for _ in range(4):
        r.alloc(2 * 256 * 768)
    r.end("load")
    r.begin("prefill")
    caches = []
    for _ in range(4):
        r.brief(2 * 40 * 768, 4 * 40 * 40)
        caches.append([r.alloc(2 * 40 * 256), r.alloc(2 * 40 * 256)])
    r.end("prefill")
    r.begin("generate")
    for t in range(n):
        for layer in range(4):
            x = r.alloc(2 * 768)
            for which in range(2):
                new = r.alloc(2 * (41 + t) * 256)
                r.free(caches[layer][which])
                caches[layer][which] = new
            r.brief(4 * (41 + t), 2 * 768)
            r.free(x)
        r.brief(4 * 32000)
    r.end("generate")


def static_cache(r, n):
    """n tokens into a cache of room for them: a size follows n, and how often the loop runs."""
    r.begin("load")
    cache = r.alloc(2 * (40 + n) * 256 * 8)
    r.end("load")
    r.begin("generate")
    for _ in range(n):
        x = r.alloc(2 * 768)
        r.brief(4 * (40 + n), 2 * 3072)
        r.free(x)
    r.end("generate")
    r.free(cache)


def steps(r, n):
    """n steps of which each is a phase; the first makes the states."""
    r.begin("load")
    weight = r.alloc(4 * 3000 * 1000)
    r.end("load")
    for step in range(n):
        r.begin(f"step_{step}")
        x, g = r.alloc(4 * 1000 * 777), r.alloc(4 * 3000 * 1000)
        if step == 0:
            r.alloc(4 * 3000 * 1000)
            r.alloc(4 * 3000 * 1000)
        r.free(x, g)
        r.end(f"step_{step}")
    r.begin("save")
    r.brief(4 * 3000 * 1000)
    r.end("save")


def context(r, n):
    """Scores are the square of n, labels are n - 1, a table is n + 3."""
    for step in range(2):
        r.begin(f"step_{step}")
        kept = []
        for _ in range(5):
            q = r.alloc(2 * 512 * n)
            s = r.alloc(2 * 8 * n * n)
            t = r.alloc(4 * (n + 3))
            for _ in range(20):
                kept.append(r.alloc(2 * 512 * n))
            kept += [q, s, t]
        labels = r.alloc(4 * 32000 * (n - 1))
        for _ in range(20):
            kept.append(r.alloc(2 * 512 * n))
        r.free(labels, *kept)
        r.end(f"step_{step}")


def foreach(r, n):
    """n layers under an optimizer that makes one temporary per parameter, list by list."""
    shapes = [4 * 8000 * 256] + n * [4 * 256 * 256, 4 * 256, 4 * 256 * 256, 4 * 256 * 1024, 4 * 1024] + [4 * 256]
    r.begin("load")
    for size in shapes:
        r.alloc(size)
    r.end("load")
    gradients = []
    for step in range(3):
        r.begin(f"forward_{step}")
        r.free(*gradients)
        kept = [[r.alloc(2 * 4096 * 256), r.alloc(2 * 4096 * 1024), r.alloc(2 * 4096 * 256)] for _ in range(n)]
        loss = r.alloc(512)
        r.end(f"forward_{step}")
        r.begin(f"backward_{step}")
        gradients = [r.alloc(shapes[-1])]
        for blocks in reversed(kept):
            for size, block in zip((4 * 1024, 4 * 256 * 1024, 4 * 256 * 256), reversed(blocks)):
                g = r.alloc(2 * 4096 * 1024)
                gradients.append(r.alloc(size))
                r.free(block, g)
            gradients += [r.alloc(4 * 256), r.alloc(4 * 256 * 256)]
        gradients.append(r.alloc(shapes[0]))
        r.free(loss)
        r.end(f"backward_{step}")
        r.begin(f"update_{step}")
        if step == 0:
            for size in shapes:
                r.alloc(4)
                r.alloc(size)
                r.alloc(size)
        roots = [r.alloc(size) for size in shapes]
        quotients = [r.alloc(size) for size in shapes]
        r.free(*roots)
        r.free(*quotients)
        r.end(f"update_{step}")


def checkpointing(r, n):
    """n layers that keep their input alone and run forward again inside backward."""
    r.begin("load")
    weights = [r.alloc(4 * 512 * 512) for _ in range(2 * n)]
    r.end("load")
    for step in range(2):
        r.begin(f"forward_{step}")
        inputs = [r.alloc(2 * 2048 * 512)]
        for _ in range(n):
            r.brief(2 * 2048 * 2048, 2 * 2048 * 1024)
            inputs.append(r.alloc(2 * 2048 * 512))
        r.end(f"forward_{step}")
        r.begin(f"backward_{step}")
        gradient = r.alloc(2 * 2048 * 512)
        r.free(inputs.pop())
        for x in reversed(inputs):
            again = [r.alloc(2 * 2048 * 2048), r.alloc(2 * 2048 * 1024), r.alloc(2 * 2048 * 512)]
            down = r.alloc(2 * 2048 * 512)
            r.free(gradient, *again, x)
            gradient = down
        r.free(gradient)
        r.end(f"backward_{step}")


def decreasing(r, n):
    """24 samples in microbatches of n: fewer times round at the larger value."""
    r.begin("step")
    for _ in range(24 // n):
        a, b, c = r.alloc(4000 * n), r.alloc(12000 * n), r.alloc(300 * n + 8)
        r.brief(77000 * n, 5000 * n)
        r.free(c, b, a)
    r.end("step")


def squares(r, n):
    """A loop whose sizes grow by other bytes each time round."""
    r.begin("step")
    for i in range(n):
        a = r.alloc(100000 + 512 * i * i * i)
        r.brief(4000, 5000, 6000, 7000)
        r.free(a)
    r.end("step")


def random_frees(r, n):
    """A loop whose blocks are freed at no rule."""
    state, live = 1, []
    r.begin("step")
    for _ in range(10 * n):
        live.append(r.alloc(4096))
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        if state % 3 == 0:
            r.free(live.pop(state % len(live)))
    r.end("step")


def refused(r, n):
    r.begin("step")
    r.brief(1000 * n)
    r.oom(1 << 40)
    r.end("step")


def same(r, n):
    r.begin("step")
    r.brief(1000, 2000, 3000)
    r.end("step")


def shrinking(r, n):
    """Exact at 2, 3 and 4, and negative from 11 on."""
    r.begin("step")
    a = r.alloc(1000 * (11 - n))
    r.brief(*[512 * n] * 20)
    r.free(a)
    r.end("step")


def halves(r, n):
    """A size that is whole at even values only."""
    r.begin("step")
    kept = [r.alloc(n * 999 // 2)]
    for _ in range(20):
        kept.append(r.alloc(512 * n))
    r.free(*kept)
    r.end("step")


if __name__ == "__main__":
    recording = Recording()
    globals()[sys.argv[1]](recording, int(sys.argv[2]))
    with open(sys.argv[3], "w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(recording.lines) + "\n")
