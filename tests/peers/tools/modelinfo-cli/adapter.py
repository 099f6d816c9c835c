# SPDX-License-Identifier: MIT
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from serve import Unsupported, serve, sizes, whole  # noqa: E402

from modelinfo.calculator import calculate_footprint  # noqa: E402


def bytes_of(config, tokens, case):
    got = calculate_footprint({}, tokens, config=config)
    return whole(got["kv_cache_bytes"])


serve(lambda case: sizes(case, bytes_of, fp8=False))
