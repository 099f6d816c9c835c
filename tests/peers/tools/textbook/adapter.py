# SPDX-License-Identifier: MIT
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from serve import Unsupported, serve, sizes, whole  # noqa: E402


def bytes_of(config, tokens, case):
    """2 x layers x key-value heads x head size x bytes of an element, read off the config."""
    text = config.get("text_config", config)
    heads = text["num_attention_heads"]
    dim = text.get("head_dim") or text["hidden_size"] // heads
    element = 1 if case["formats"]["kv"] == "fp8" else 2
    kv_heads = max(1, (text.get("num_key_value_heads") or heads) // case.get("tp", 1))
    return 2 * text["num_hidden_layers"] * kv_heads * dim * element * tokens


serve(lambda case: sizes(case, bytes_of, tp=True))
