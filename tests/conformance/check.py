#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scores a tool: check.py [--cases FILE]... [--kind KIND]... [--show N] TOOL [ARGUMENT]... (README.md has the protocol).
Exit 0 when every answer is right, 1 when one is not."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

LEADS = {"bytes": ["rank_bytes"], "depth": ["rank_bytes"], "presence": ["boundary_tokens"],
         "plan": ["num_blocks", "total_bytes", "tokens", "state_slots", "primary_blocks"]}
FILES = [pathlib.Path(__file__).with_name(f"{name}.json") for name in ("cards", "layers", "presence", "plan")]


def close(want, got):
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(close, want, got))
    return isinstance(got, (int, float)) and abs(got - want) <= 0.01 * abs(want)


def judge(kind, want, got):
    if "unsupported" in got:
        return "unsupported"
    if "refused" in want or "error" in want:
        return "right" if "refused" in got or got.get("error") == want.get("error", 0) else "wrong"
    lead = next((field for field in LEADS[kind] if field in want and field in got), None)
    if lead and all(got[field] == want[field] for field in want if field in got):
        return "right"
    return "within 1%" if lead and close(want[lead], got[lead]) else "wrong"


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--cases", action="append", type=pathlib.Path)
parser.add_argument("--kind", action="append", choices=list(LEADS))
parser.add_argument("--show", type=int, default=0, help="print the first N answers that are not right")
parser.add_argument("tool")
parser.add_argument("arguments", nargs=argparse.REMAINDER)
asked = parser.parse_args()
score = {kind: collections.Counter() for kind in LEADS}
tool = subprocess.Popen([asked.tool, *asked.arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for data in (json.loads(path.read_text()) for path in asked.cases or FILES):
    for case in (one for one in data["cases"] if one["kind"] in (asked.kind or LEADS)):
        config = {"config": data["models"][case["model"]]["config"]} if "model" in case else {}
        question = {key: value for key, value in case.items() if key not in ("want", "source")}
        try:
            print(json.dumps({**question, **config}), file=tool.stdin, flush=True)
            got = dict(json.loads(tool.stdout.readline()))
        except (OSError, TypeError, ValueError):
            got = {"error": "no JSON object on a line of its own"}
        verdict = judge(case["kind"], case["want"], got)
        score[case["kind"]][verdict] += 1
        if verdict in ("wrong", "within 1%") and sum(of["wrong"] + of["within 1%"] for of in score.values()) <= asked.show:
            print(case["id"], "want", case["want"], "got", got, file=sys.stderr)
print(f"{'kind':10}{'cases':>7}{'answered':>10}{'right':>7}{'within 1%':>11}{'wrong':>7}")
for kind, of in {**score, "all": sum(score.values(), collections.Counter())}.items():
    print(f"{kind:10}{sum(of.values()):7}{sum(of.values()) - of['unsupported']:10}{of['right']:7}{of['within 1%']:11}{of['wrong']:7}")
sys.exit(any(of["wrong"] or of["within 1%"] for of in score.values()))
