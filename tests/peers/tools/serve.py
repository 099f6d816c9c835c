# SPDX-License-Identifier: MIT
"""What the adapters share: a case a line in, an answer a line out, and held bytes of a config at several lengths."""
import contextlib
import json
import os
import sys


class Unsupported(Exception):
    """The tool has no way to ask this."""


def sizes(case, bytes_of, tp=False, pp=False, fp8=True):
    """Answers bytes and depth cases with bytes_of(config, tokens, case) for one rank. What the tool cannot be told
    (ranks, stages, formats of one byte) is unsupported rather than wrong."""
    if case["kind"] not in ("bytes", "depth") or "config" not in case:
        raise Unsupported("not a config")
    if case.get("tp", 1) > 1 and not tp or case.get("pp_layers") and not pp or case.get("cp", 1) > 1:
        raise Unsupported("not with these ranks")
    if case["formats"]["kv"] == "fp8" and not fp8:
        raise Unsupported("not in this format")
    if case["kind"] == "depth":
        return {"rank_bytes": [bytes_of(case["config"], n, case) for n in case["lengths"]]}
    return {"rank_bytes": [bytes_of(case["config"], case["tokens"], case) * case.get("sequences", 1)]}


def whole(number):
    return int(number) if float(number).is_integer() else number


def serve(answer):
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a tool prints is no answer
    for line in sys.stdin:
        case = json.loads(line)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                got = answer(case)
        except Unsupported as why:
            got = {"unsupported": str(why)}
        except Exception as wrong:  # a tool that fails gives no answer
            got = {"unsupported": f"{type(wrong).__name__}: {wrong}"[:200]}
        print(json.dumps(got), file=out, flush=True)
