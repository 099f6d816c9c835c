#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""peers.py KVCAP SCRATCH [ROUNDS]: what one estimate costs as a whole process, start to exit: kvcap and the peers that
tests/peers/tools/run.sh put into SCRATCH. Rounds are interleaved, so that a busy machine strikes all alike; CPU time is
what is compared. Needs GNU time. Each peer gets one case through its adapter: Llama-3.1-8B (GGUF tools: the same shape), 32,768 tokens."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = HERE.parent / "peers" / "tools"
CASES = HERE.parent / "conformance"


def case_of(file, name):
    data = json.loads((CASES / file).read_text())
    case = next(case for case in data["cases"] if case["id"] == name)
    return json.dumps({**case, **data.get("models", {}).get(case.get("model"), {})}) + "\n"


def one_run(words, text, folder):
    """Wall and CPU seconds of the process and of those it waited for."""
    began = time.perf_counter()
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    try:
        child.stdin.write(text.encode())
        child.stdin.close()
    except BrokenPipeError:
        pass
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def peak_mib(words, text, folder):
    """By GNU time, whose own small process starts it: a child of this one would inherit our peak."""
    with tempfile.NamedTemporaryFile("r") as file:
        subprocess.run(["/usr/bin/time", "-f", "%M", "-o", file.name, *words], input=text, text=True, cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        lines = file.read().split()
    return int(lines[-1]) / 1024


def main():
    kvcap, scratch = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    config, plan = case_of("cards.json", "llama-3.1-8b/32k"), case_of("plan.json", "llama.cpp/llama31-8b_c5000_pad")
    python = str(scratch / "venv/bin/python3")
    tools = {"/bin/true (a process)": (["/bin/true"], ""),
             "kvcap size, a card": ([kvcap, "size", "llama-3.1-8b", "--tokens", "32k", "--json"], ""),
             "kvcap size, a spec line": ([kvcap, "size", "32*gqa(8,128)", "--tokens", "32k", "--json"], ""),
             "kvcap fit, vLLM": ([kvcap, "fit", "llama-3.1-8b", "--gpu", "h100", "--tokens", "32k", "--engine", "vllm"], ""),
             "python3 -c pass": ([python, "-c", "pass"], ""), "node -e 0": (["node", "-e", "0"], "")}
    for name in ("textbook", "inferpilot", "hf-mem", "modelinfo-cli", "llm-mem-planner", "hf-vram-calc", "llm-analysis",
                 "aiconfigurator"):
        tools[name] = ([python, str(TOOLS / name / "adapter.py")], config)
    tools["fitllm"] = (["node", str(TOOLS / "fitllm" / "adapter.mjs")], config)
    gguf = str(TOOLS / "gguf-parser" / "adapter.py")
    tools["gguf-parser (and python3)"] = ([python, gguf, str(scratch / "go" / "gguf-estimate")], plan)
    tools["node-llama-cpp (and python3)"] = ([python, gguf, "node", str(TOOLS / "node-llama-cpp" / "main.mjs")], plan)
    best = {}
    for _ in range(rounds):
        for name, (words, text) in tools.items():
            run = one_run(words, text, scratch / "npm")
            best[name] = tuple(map(min, best.get(name, run), run))
    wall, cpu = best["kvcap size, a card"]
    print(f"{'one estimate, whole process':32}{'CPU ms':>9}{'x kvcap':>9}{'wall ms':>9}{'x kvcap':>9}{'peak MiB':>10}")
    for name, (own_wall, own_cpu) in best.items():
        peak = peak_mib(*tools[name], scratch / "npm")
        print(f"{name:32}{own_cpu * 1e3:9.1f}{own_cpu / cpu:9.1f}{own_wall * 1e3:9.1f}{own_wall / wall:9.1f}{peak:10.1f}")


if __name__ == "__main__":
    main()
