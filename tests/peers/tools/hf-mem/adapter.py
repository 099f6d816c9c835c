# SPDX-License-Identifier: MIT
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from serve import Unsupported, serve, sizes, whole  # noqa: E402

from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size, resolve_kv_cache_dtype  # noqa: E402


def bytes_of(config, tokens, case):
    """As its command does: the text part of a multimodal config, the requested cache type."""
    text = config.get("text_config", config)
    name = "fp8" if case["formats"]["kv"] == "fp8" else "bfloat16"
    dtype = resolve_kv_cache_dtype(text, name, None, "model")
    return compute_safetensors_kv_cache_size(text, dtype, tokens)


serve(lambda case: sizes(case, bytes_of))
