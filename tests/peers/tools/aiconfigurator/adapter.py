# SPDX-License-Identifier: MIT
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from serve import Unsupported, serve, sizes, whole  # noqa: E402

import functools  # noqa: E402
import json  # noqa: E402
import tempfile  # noqa: E402

from aiconfigurator_core.sdk import common, config as settings  # noqa: E402
from aiconfigurator_core.sdk.models import get_model  # noqa: E402

KV = common.KVCacheQuantMode


@functools.lru_cache(maxsize=None)
def model_of(text, tp, fp8):
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "config.json"), "w") as file:
        file.write(text)
    wanted = settings.ModelConfig(tp_size=tp, moe_tp_size=tp, moe_ep_size=1,
                                  kvcache_quant_mode=KV.fp8 if fp8 else KV.bfloat16)
    return get_model(folder, wanted, "vllm")


def bytes_of(config, tokens, case):
    model = model_of(json.dumps(config), case.get("tp", 1), case["formats"]["kv"] == "fp8")
    return whole(model.get_kvcache_bytes_per_sequence(tokens))


serve(lambda case: sizes(case, bytes_of, tp=True))
