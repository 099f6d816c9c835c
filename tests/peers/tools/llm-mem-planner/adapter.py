# SPDX-License-Identifier: MIT
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from serve import Unsupported, serve, sizes, whole  # noqa: E402

from llm_mem_planner.cli import estimate_kv_cache_gib, estimate_nsa_index_cache_gib, load_dims  # noqa: E402


def bytes_of(config, tokens, case):
    """It knows latents only (DeepSeek, Kimi): without one it plans no cache."""
    dims = load_dims(config)
    if dims.kv_lora_rank == 0:
        raise Unsupported("no latent")
    width = 1 if case["formats"]["kv"] == "fp8" else 2
    gib = estimate_kv_cache_gib(dims, batch=1, seq_len=tokens, kv_dtype_bytes=width)
    gib += estimate_nsa_index_cache_gib(dims, batch=1, seq_len=tokens) or 0
    return whole(round(gib * 2**30, 3))


serve(lambda case: sizes(case, bytes_of, tp=True))
