# SPDX-License-Identifier: MIT
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from serve import Unsupported, serve, sizes, whole  # noqa: E402

from llm_analysis.analysis import LLMAnalysis  # noqa: E402
from llm_analysis.config import ModelConfig, ParallelismConfig, get_gpu_config_by_name  # noqa: E402


def bytes_of(config, tokens, case):
    text = config.get("text_config", config)
    model = ModelConfig(name="model", num_layers=text["num_hidden_layers"], n_head=text["num_attention_heads"],
                        hidden_dim=text["hidden_size"], vocab_size=text.get("vocab_size", 1),
                        num_key_value_heads=text.get("num_key_value_heads"))
    tool = LLMAnalysis(model, get_gpu_config_by_name("a100-sxm-80gb"),
                       parallelism_config=ParallelismConfig(tp_size=case.get("tp", 1)), flops_efficiency=1,
                       hbm_memory_efficiency=1)
    width = 1 if case["formats"]["kv"] == "fp8" else 2
    return whole(tool.get_memory_kv_cache_per_layer(1, tokens, width) * model.num_layers)


serve(lambda case: sizes(case, bytes_of, tp=True))
