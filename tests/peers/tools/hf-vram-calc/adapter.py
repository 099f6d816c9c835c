# SPDX-License-Identifier: MIT
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from serve import Unsupported, serve, sizes, whole  # noqa: E402

import importlib.util  # noqa: E402
import types  # noqa: E402

# Its package imports a deep-learning stack to count weights; the cache formula needs none of it.
for name in ("torch", "transformers", "accelerate", "huggingface_hub", "requests"):
    if importlib.util.find_spec(name) is None:
        module = types.ModuleType(name)
        module.__getattr__ = lambda wanted: type(wanted, (), {})
        sys.modules[name] = module
from hf_vram_calc.calculator import VRAMCalculator  # noqa: E402
from hf_vram_calc.config import ConfigManager  # noqa: E402
from hf_vram_calc.models import ModelConfig  # noqa: E402

TOOL = VRAMCalculator(ConfigManager())


def bytes_of(config, tokens, case):
    text = config.get("text_config", config)
    model = ModelConfig(model_name="model", vocab_size=text.get("vocab_size", 1), hidden_size=text["hidden_size"],
                        num_layers=text["num_hidden_layers"], num_attention_heads=text["num_attention_heads"],
                        num_key_value_heads=text.get("num_key_value_heads"))
    dtype = "fp8" if case["formats"]["kv"] == "fp8" else "bf16"
    return whole(TOOL.calculate_kv_cache_memory(model, dtype, 1, tokens) * 2**30)


serve(lambda case: sizes(case, bytes_of))
