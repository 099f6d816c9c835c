# SPDX-License-Identifier: MIT
"""The program itself, asked like any other tool: adapter.py PATH_OF_KVCAP. Plans of raw layers cannot be typed."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from serve import Unsupported, serve  # noqa: E402


def run(words, text=""):
    """What the program prints, or how it failed: only options that do not suit the model (2), and only of a part that no rank
    or block can hold, are a refusal."""
    done = subprocess.run([sys.argv[1], *words, "--json"], input=text, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout), None
    why = done.stderr.strip() or f"exit {done.returncode}"
    parted = done.returncode == 2 and re.search(r"cannot be (dealt to \d+ ranks|stored in blocks of \d+)", why)
    return None, {"refused" if parted else "error": why}


def size(case):
    lengths = case.get("lengths") or [case["tokens"]]
    words = ["size", "-", "--tokens", ",".join(map(str, lengths)), "--tp", str(case.get("tp", 1)),
             "--cp", str(case.get("cp", 1)), "--batch", str(case.get("sequences", 1)),
             "--encoder-tokens", str(case.get("encoder_tokens", 0)), "--decoded", str(case.get("decoded_tokens", 0))]
    if "pp_layers" in case:
        words += ["--pp", str(len(case["pp_layers"])), "--pp-split", ",".join(map(str, case["pp_layers"]))]
    if "config" in case:
        formats = case["formats"]
        words += ["--kv-cache-dtype", formats["kv"], "--index-dtype", formats["index"],
                  "--state-dtype", formats["state"], "--conv-dtype", formats["conv"]]
    got, failure = run(words, case.get("spec") or json.dumps(case["config"]))
    if failure:
        return failure
    if case["kind"] == "depth":
        return {"rank_bytes": [point["held_bytes_per_rank"][0]["bytes"] for point in got["points"]]}
    first = [r for r in got["points"][0]["held_bytes_per_rank"] if r["rank"]["tp"] == 0 and r["rank"]["dp"] == 0]
    return {"rank_bytes": [r["bytes"] for r in first], "unique_bytes": got["points"][0]["unique_bytes"]}


def presence(case):
    scenario = {k: v for k, v in case.items() if k not in ("id", "kind")}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        got, failure = run(["reuse", file.name])
    if failure:
        return failure
    cheapest = got["repair"]["cheapest"] if got["repair"]["steps"] else None
    return {"boundary_tokens": got["reusable_tokens"], "limiting_groups": got["limiting"],
            "without_tokens": [group["without_tokens"] for group in got["groups"]],
            "cheapest_repair": cheapest and {"tokens": cheapest["tokens"], "bytes": cheapest.get("bytes", 0)}}


def answer(case):
    if case["kind"] == "plan":
        raise Unsupported("raw layers")
    return presence(case) if case["kind"] == "presence" else size(case)


serve(answer)
