# SPDX-License-Identifier: MIT
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from serve import Unsupported, serve, sizes, whole  # noqa: E402

from inferpilot.deployment import footprint_from_hf_config  # noqa: E402


def bytes_of(config, tokens, case):
    per_token = footprint_from_hf_config("model", 1.0, config).kv_bytes_per_token(case["formats"]["kv"])
    return whole(per_token * tokens)


serve(lambda case: sizes(case, bytes_of))
