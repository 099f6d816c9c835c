# SPDX-License-Identifier: MIT
"""adapter.py PROGRAM: PROGRAM estimates a GGUF file a line (main.go of gguf-parser, main.mjs of node-llama-cpp)."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from llamacpp_gguf import write_gguf  # noqa: E402
from serve import Unsupported, serve  # noqa: E402

TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20, "bf16": 30}
TOOL = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answer(case):
    if case["kind"] != "plan" or case["engine"] != "llama.cpp":
        raise Unsupported("not llama.cpp")
    flags = case["question"]["flags"]
    if flags["n_rs_seq"] or flags["ctx_type"] != "default":
        raise Unsupported("no such option")
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        write_gguf(file.name, case["question"]["metadata"])
        arch = case["question"]["metadata"]["general.architecture"]
        context = flags["n_ctx"] or case["question"]["metadata"][arch + ".context_length"]
        question = {"path": file.name, "ctx": context, "batch": flags["n_batch"],
                    "ubatch": flags["n_ubatch"] or flags["n_batch"], "parallel": flags["n_seq_max"],
                    "type_k": TYPES[flags["type_k"]], "type_v": TYPES[flags["type_v"]],
                    "swa_full": flags["swa_full"], "flash": flags["flash_attn"] != "off"}
        print(json.dumps(question), file=TOOL.stdin, flush=True)
        got = json.loads(TOOL.stdout.readline())
    if "error" in got:
        raise Unsupported(got["error"])
    return {"total_bytes": got["bytes"]}


serve(answer)
TOOL.stdin.close()
TOOL.wait()
