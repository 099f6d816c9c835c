#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a case's answer must be, written from the definitions alone: position by position, boundary by boundary,
slow, and with nothing of kvcap in it. `oracle.py FILE...` checks that the answers in the files are these, and that what
engines answered about presence agrees; plans are theirs alone, but for blocks of TensorRT-LLM."""
import functools
import json
import math
import struct
import sys

BLOCKS = {"bf16": (1, 2), "f16": (1, 2), "f32": (1, 4), "fp8": (1, 1), "int8": (1, 1), "fp8_128": (128, 132),
          "q8_0": (32, 34), "q4_0": (32, 18), "q5_1": (32, 24), "nvfp4": (16, 9), "mxfp4": (32, 17)}
PLANE = {"key": "kv", "value": "kv", "latent": "kv", "rope": "kv", "index": "index", "conv": "conv", "state": "state"}


class Refused(Exception):
    """No answer exists: a rank cannot hold a part of a head or of a block."""


def row_bytes(width, name):
    elements, size = BLOCKS[name]
    if width % elements:
        raise Refused("block")
    return width // elements * size


def heads_on_rank(stream, tp):
    heads, split = stream.get("heads", 1), stream["split"]
    if split == "whole" or tp == 1:
        return heads
    if heads % tp == 0:
        return heads // tp
    if split == "heads" and tp % heads == 0:
        return 1                                   # fewer heads than ranks: copies
    if split == "groups":
        return 1                                   # state-space groups: one each
    raise Refused("heads")


@functools.lru_cache(maxsize=None)
def most_alive(keep, tokens, stride, span, sinks):
    """Entries that were ever alive at once while `tokens` positions arrived one by one."""
    alive = most = done = 0
    for n in range(1, tokens + 1):
        if n % stride:
            continue                               # an unfinished entry holds nothing yet
        done += 1
        alive += 1
        if keep in ("window", "budget") and alive > (span + sinks) // stride:
            alive -= 1                             # the oldest that is no sink (window), or any one (budget), leaves
        if keep == "chunk" and done > 1 and (done - 1) % (span // stride) == 0:
            alive = 1                              # a new chunk begins
        most = max(most, alive)
    return most


def entries(cache, case, upto):
    """Entries of a cache after `upto` decoder tokens."""
    keep = cache.get("keep", "all")
    tokens = case.get("encoder_tokens", 0) if keep == "encoder" else upto
    if keep == "prompt":
        tokens = min(upto, case["tokens"] - case.get("decoded_tokens", 0))
    if keep == "state":
        return 1 if tokens > 0 else 0
    arrived = max(0, tokens - cache.get("lag", 0))
    return most_alive(keep, arrived, cache.get("stride", 1), cache.get("span", 0), cache.get("sinks", 0))


def dealt(count, ranks, rank):
    return sum(1 for entry in range(count) if entry % ranks == rank) if ranks > 1 else count


def layer_numbers(layers):
    return [(number, group) for group in layers for first, end in group["at"] for number in range(first, end)]


def stage_of(number, split):
    for stage, size in enumerate(split):
        if number < size:
            return stage
        number -= size
    return len(split) - 1


def held(layers, case, upto, tp=1, split=None, cp=1, want=lambda role: True):
    """Bytes on each (stage, context rank)."""
    split = split or [max(n for n, _ in layer_numbers(layers)) + 1 if layers else 1]
    if case.get("query_heads") and case["query_heads"] % tp:
        raise Refused("query heads")
    ranks = [[0] * cp for _ in split]
    for group in layers:
        for cache in group["caches"]:
            slot = 0
            for stream in cache["streams"]:
                name = stream.get("format") or case["formats"][PLANE[stream["role"]]]
                one = heads_on_rank(stream, tp) * stream.get("rows", 1) * row_bytes(stream["width"], name)
                slot += one if want(stream["role"]) else 0
            count = entries(cache, case, upto)
            for first, end in group["at"]:
                for number in range(first, end):
                    for rank in range(cp):
                        own = dealt(count, cp, rank) if cache.get("keep", "all") in ("all", "prompt") else count
                        ranks[stage_of(number, split)][rank] += own * slot
    return ranks


def growth(layers, case, tp):
    """Bytes that each further token adds once every window is full: a difference over all strides, far out."""
    strides = [c.get("stride", 1) for g in layers for c in g["caches"]]
    step = math.lcm(1, *strides)
    far = max([1] + [c.get("span", 0) + c.get("sinks", 0) + c.get("lag", 0) for g in layers for c in g["caches"]])
    far = (far // step + 2) * step
    at = dict(case, tokens=far + 2 * step, decoded_tokens=0)
    total = [sum(map(sum, held(layers, at, n, tp))) for n in (far, far + step)]
    return (total[1] - total[0]) / step


def bytes_answer(case, layers):
    tp, split, cp = case.get("tp", 1), case.get("pp_layers"), case.get("cp", 1)
    sequences = case.get("sequences", 1)
    try:
        ranks = held(layers, case, case["tokens"], tp, split, cp)
        whole = held(layers, case, case["tokens"])
        roles = sorted({s["role"] for g in layers for c in g["caches"] for s in c["streams"]})
        streams = {r: sequences * sum(map(sum, held(layers, case, case["tokens"], want=lambda role, r=r: role == r)))
                   for r in roles}
        grown = growth(layers, case, tp)
    except Refused as why:
        return {"refused": str(why)}
    return {"rank_bytes": [sequences * n for stage in ranks for n in stage],
            "unique_bytes": sequences * sum(map(sum, whole)),
            "growth_per_token": int(grown) if grown == int(grown) else grown, "unique_bytes_by_stream": streams}


def depth_answer(case, layers):
    return {"rank_bytes": [sum(map(sum, held(layers, case, n))) for n in case["lengths"]]}


# --- presence -------------------------------------------------------------------------------------------------------
def page_set(case, group):
    if "present" in group:
        return {i for i, c in enumerate(group["present"]) if c == "1"}
    pages = set()
    for part in group["held"]:
        pages |= set(range(*part)) if isinstance(part, list) else {part}
    return pages


def tokens_needed(case, group, b):
    """The tokens that boundary b > 0 needs of a group, or None where no set of pages would do."""
    page, needs = group["page_tokens"], group["needs"]
    if needs == "everything":
        kept = max(0, b - group.get("lag_tokens", 0))
        return range(0, kept - kept % group.get("stride_tokens", 1))
    if needs == "window":
        reach = group["window_tokens"] - (0 if group.get("window_edge") == "full" else 1)
        sinks = range(0, min(b, group.get("sink_tokens", 0)))
        return list(sinks) + list(range(max(0, b - reach), b))
    if needs == "chunk":
        return range(b - b % group["chunk_tokens"], b)
    if needs == "snapshot":
        return range(b - 1, b) if b % page == 0 else None
    raise ValueError(needs)


def pages_needed(case, group, b):
    tokens = tokens_needed(case, group, b)
    return None if tokens is None else {t // group["page_tokens"] for t in tokens}


def presence_answer(case):
    groups = case["groups"]
    held_pages = [page_set(case, g) for g in groups]
    unit = case.get("unit_tokens") or math.lcm(*[g["page_tokens"] for g in groups])
    limit = case.get("limit_tokens", case["prompt_tokens"] - 1)
    boundaries = [b for b in range(1, limit + 1) if b % unit == 0]
    needed = {(g, b): pages_needed(case, groups[g], b) for g in range(len(groups)) for b in boundaries}

    def accepts(g, b):
        return needed[g, b] is not None and needed[g, b] <= held_pages[g]

    def greatest(leave_out=()):
        return max([0] + [b for b in boundaries
                          if all(accepts(g, b) for g in range(len(groups)) if g not in leave_out)])

    now = greatest()
    names = [g["name"] for g in groups]
    without = [greatest((g,)) for g in range(len(groups))]
    limiting = [names[without.index(max(without))]] if max(without) > now else []
    if not limiting and now < max([0] + boundaries):
        best = now
        for g in range(len(groups)):
            for h in range(g + 1, len(groups)):
                if greatest((g, h)) > best:
                    best, limiting = greatest((g, h)), [names[g], names[h]]
    costs = {}
    for b in boundaries:
        if b > now and all(needed[g, b] is not None for g in range(len(groups))):
            costs[b] = sum(len(needed[g, b] - held_pages[g]) * groups[g].get("bytes_per_page", 0)
                           for g in range(len(groups)))
    cheapest = max([b for b in costs if costs[b] == min(costs.values())], default=None)
    return {"boundary_tokens": now, "limiting_groups": limiting, "without_tokens": without,
            "cheapest_repair": None if cheapest is None else {"tokens": cheapest, "bytes": costs[cheapest]}}


# --- blocks of TensorRT-LLM -----------------------------------------------------------------------------------------
def single(number):
    """In single precision, as the C++ manager multiplies."""
    return struct.unpack("f", struct.pack("f", number))[0]


def token_bytes(asked):
    """Heads on a rank are rounded up, a latent is whole; nvfp4 is half a byte and one for each 16."""
    ranks = 1 if asked.get("attention_dp") else asked["tp"]
    row = asked["latent_dim"] if "latent_dim" in asked else math.ceil(asked["kv_heads"] / ranks) * asked["head_dim"]
    elements = asked["kv_factor"] * asked["layers_on_rank"] * row
    return {"bf16": 2 * elements, "fp16": 2 * elements, "fp8": elements, "nvfp4": elements // 2 + elements // 16}[asked["dtype"]]


def blocks_answer(asked):
    """One window: a fraction of what is free, or max_tokens. Several: equal or given shares. Python rounds blocks down, in
    doubles; C++ the primary ones up, in single precision."""
    per, cpp = asked["tokens_per_block"], asked["path"] == "cpp"
    if "windows_to_layers" not in asked:
        each, fraction = token_bytes(asked), asked.get("free_fraction")
        tokens = asked["free_bytes"] * fraction / each if fraction else math.inf
        blocks = int(min(tokens, asked.get("max_tokens", math.inf)) // per)
        return {"primary_blocks": blocks, "secondary_blocks": asked["host_bytes"] // each // per,
                "primary_tokens": blocks * per, "bytes_per_token": each}
    answer = {"primary_blocks": [], "secondary_blocks": []}
    windows = sorted(asked["windows_to_layers"].items(), key=lambda one: int(one[0]))
    for at, (_, layers) in enumerate(windows):
        each = len(layers) * asked["bytes_per_token_per_layer"]
        share = asked["shares"][at] if "shares" in asked else 1 / len(windows)
        if cpp:
            primary, secondary = (single(single(asked[pool]) * single(share)) / each for pool in ("primary_bytes", "secondary_bytes"))
        else:
            primary, secondary = (asked[pool] * share / each for pool in ("primary_bytes", "secondary_bytes"))
        answer["primary_blocks"].append(-(-int(primary) // per) if cpp else int(primary // per))
        answer["secondary_blocks"].append(int(secondary // per))
    return answer


def answer(case, models):
    if case["kind"] == "plan":
        return blocks_answer(case["question"])
    layers = models.get(case.get("model"), {}).get("layers", case.get("layers"))
    if case["kind"] == "bytes":
        return bytes_answer(case, layers)
    return depth_answer(case, layers) if case["kind"] == "depth" else presence_answer(case)


def main():
    wrong = count = 0
    for path in sys.argv[1:]:
        data = json.load(open(path))
        for case in data["cases"]:
            if case["kind"] == "plan" and case["source"] != "derived":
                continue
            got = answer(case, data.get("models", {}))
            want = case["want"]
            count += 1
            if any(got[k] != v for k, v in want.items()):
                wrong += 1
                print(case["id"], "file", want, "oracle", {k: got[k] for k in want})
    print(f"{count - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
