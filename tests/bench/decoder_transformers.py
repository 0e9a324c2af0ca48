"""The same decoder in transformers: decoder_transformers.py BATCH CONTEXT STEPS REPEATS
prints nanoseconds: load, prefill of each repeat, a decode step of each repeat; and the allocated
peak of prefill in bytes. 8.03 billion parameters in bfloat16, sdpa attention."""
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

batch, context, steps, repeats = (int(word) for word in sys.argv[1:5])
config = LlamaConfig(
    vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
    num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=context + steps,
    rms_norm_eps=1e-5, tie_word_embeddings=False, attn_implementation="sdpa",
)
torch.zeros(1, device="cuda")


def timed(name, call):
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    result = call()
    torch.cuda.synchronize()
    print(name, time.perf_counter_ns() - start)
    return result


def load():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        return LlamaForCausalLM(config).eval()


model = timed("load", load)
tokens = torch.randint(0, 128256, (batch, context), device="cuda")
with torch.no_grad():
    for repeat in range(repeats + 1):
        name = "cold_" if repeat == 0 else ""
        torch.cuda.reset_peak_memory_stats()
        out = timed(name + "prefill", lambda: model(tokens, use_cache=True, logits_to_keep=1))
        print("peak", torch.cuda.max_memory_allocated())
        start = time.perf_counter_ns()
        for _ in range(steps):
            token = out.logits[:, -1:].argmax(-1)
            out = model(token, past_key_values=out.past_key_values, use_cache=True)
        torch.cuda.synchronize()
        print(name + "step", (time.perf_counter_ns() - start) // steps)
        del out
