"""The same dense point in PyTorch: dense_torch.py BATCH CONTEXT WIDTH DTYPE WARMUP REPEATS
prints the duration of each repeat in ns, then the warm allocated and reserved peak in bytes."""
import sys
import time

import torch

batch, context, width = (int(word) for word in sys.argv[1:4])
dtype = getattr(torch, sys.argv[4])
warmup, repeats = int(sys.argv[5]), int(sys.argv[6])
torch.backends.cuda.matmul.allow_tf32 = False
model = torch.nn.Sequential(
    torch.nn.Linear(width, 4 * width, device="cuda", dtype=dtype),
    torch.nn.GELU(),
    torch.nn.Linear(4 * width, width, device="cuda", dtype=dtype),
)
x = torch.randn(batch, context, width, device="cuda", dtype=dtype)
with torch.no_grad():
    for _ in range(warmup):
        model(x)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(repeats):
        start = time.perf_counter_ns()
        y = model(x)
        torch.cuda.synchronize()
        print(time.perf_counter_ns() - start)
        del y
print("peak", torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
