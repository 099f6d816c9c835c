#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs vLLM's own memory planner (two files of its released wheels, under a stub of torch) and compares its plans with
kvcap's, release by release: groups and their order, blocks, bytes, length, logged numbers, and why it refuses.

    pip download --no-deps --no-binary :none: -d wheels vllm==0.28.0 vllm ...          # 250 to 450 MB each
    g++ -O1 -std=c++20 -I include tests/peers/vllm/cases.cpp -o cases
    python3 tests/peers/vllm/compare.py ./cases configs/models wheels/vllm-0.28.0-*.whl ...

No GPU, no torch. KVCAP_SEED and KVCAP_CASES choose the random layers (1, 1000). Exit 1 when something differs.
"""
import collections
import dataclasses
import enum
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import types
import typing
import zipfile
from types import SimpleNamespace

PLANNER = "vllm/v1/core/kv_cache_utils.py"
SPECS = "vllm/v1/kv_cache_interface.py"
REGISTRY = "vllm/v1/kv_cache_spec_registry.py"
WIDTH = {"bfloat16": 2, "float16": 2, "float32": 4, "uint8": 1, "int8": 1}
CLASSES = {"full_attention": "FullAttentionSpec", "mla_attention": "MLAAttentionSpec",
           "sliding_window": "SlidingWindowSpec", "sliding_window_mla": "SlidingWindowMLASpec",
           "chunked_local_attention": "ChunkedLocalAttentionSpec", "cross_attention": "CrossAttentionSpec",
           "sink_full_attention": "SinkFullAttentionSpec", "state": "MambaSpec"}


class Anything(types.ModuleType):
    """A module in which every name is a class without behaviour."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Lines:
    """A logger that keeps what is logged."""

    def __init__(self):
        self.text = []

    def __getattr__(self, name):
        def log(message, *values, **_):
            try:
                self.text.append(message % values)
            except TypeError:
                self.text.append(message)
        return log


def cdiv(a, b):
    return -(a // -b)


def stub(name, **content):
    module = Anything(name)
    module.__path__ = []
    module.__dict__.update(content)
    sys.modules[name] = module


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Unknown(Exception):
    """This release has no such layer or format."""


class Release:
    """The planner of one wheel."""

    def __init__(self, wheel):
        self.version = re.search(r"vllm-(\d+\.\d+\.\d+)", wheel).group(1)
        self.log = Lines()
        for name in [n for n in sys.modules if n == "vllm" or n.startswith("vllm.")]:
            del sys.modules[name]
        self.stubs()
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            for path in [REGISTRY, SPECS, PLANNER]:
                if path in names:
                    archive.extract(path, folder)
            if REGISTRY in names:
                load("vllm.v1.kv_cache_spec_registry", os.path.join(folder, REGISTRY))
            self.specs = load("vllm.v1.kv_cache_interface", os.path.join(folder, SPECS))
            self.register()
            self.planner = load("vllm.v1.core.kv_cache_utils", os.path.join(folder, PLANNER))

    def stubs(self):
        stub("torch", dtype=str, **{name: name for name in WIDTH})
        for name in ["", ".envs", ".config", ".utils", ".v1", ".v1.core", ".v1.attention", ".v1.attention.backends",
                     ".v1.request", ".v1.utils", ".v1.metrics", ".v1.metrics.stats", ".utils.hashing", ".multimodal",
                     ".multimodal.utils"]:
            stub("vllm" + name)
        width = WIDTH.__getitem__
        stub("vllm.utils", cdiv=cdiv, get_dtype_size=width, GiB_bytes=2**30)
        stub("vllm.utils.mem_constants", GiB_bytes=2**30)
        stub("vllm.utils.mem_utils", format_gib=lambda n: f"{n / 2**30:.2f}")
        stub("vllm.utils.torch_utils", get_dtype_size=width)
        stub("vllm.utils.math_utils", cdiv=cdiv, round_up=lambda a, b: cdiv(a, b) * b,
             round_down=lambda a, b: a // b * b)
        stub("vllm.logger", init_logger=lambda name: self.log)
        stub("vllm.v1.attention.backends.registry", MambaAttentionBackendEnum=enum.Enum("Backend", ["MAMBA2"]))
        extensions = types.ModuleType("typing_extensions")
        extensions.Self = typing.Any
        sys.modules["typing_extensions"] = extensions

    def register(self):
        """Managers register the specs they serve; here they are not loaded."""
        registry = sys.modules.get("vllm.v1.kv_cache_spec_registry")
        kinds = getattr(registry, "KVCacheSpecRegistry", None) if registry else None
        if kinds is None:
            return
        full = self.specs.FullAttentionSpec

        def base(cls, spec):
            own = type(spec)
            return full if issubclass(own, full) else own
        kinds.get_uniform_type_base_spec = classmethod(base)
        kinds.check_kv_cache_spec_registry = classmethod(lambda cls, *a, **k: None)

    def spec(self, given):
        """One of kvcap's specs as one of vLLM's; its page must be the same."""
        cls = getattr(self.specs, CLASSES[given["kind"]], None)
        if cls is None:
            raise Unknown(given["kind"])
        fields = {f.name for f in dataclasses.fields(cls)}
        values = self.state(given) if given["kind"] == "state" else self.attention(given, fields)
        values.update(block_size=given["block"], page_size_padded=given["padded"] or None)
        made = cls(**{k: v for k, v in values.items() if k in fields})
        if made.page_size_bytes != given["page"]:
            raise Unknown(f"page of {given['kind']} {given['quant']}: {made.page_size_bytes}, not {given['page']}")
        return made

    @staticmethod
    def state(given):
        return dict(shapes=((given["state_bytes"],), (0, given["origin"])), dtypes=("int8", "int8"),
                    num_speculative_blocks=given["drafts"], mamba_cache_mode=given["mode"])

    def attention(self, given, fields):
        width = {1: "uint8", 2: "bfloat16", 4: "float32"}[given["dtype_bytes"]]
        values = dict(num_kv_heads=given["heads"], head_size=given["key_dim"], dtype=width,
                      indexes_kv_by_block_stride=given["by_stride"], sliding_window=given["window"] or None,
                      attention_chunk_size=given["chunk"] or None, sink_len=given["sinks"],
                      alignment=given["align"] or None, compress_ratio=given["ratio"],
                      model_version="deepseek_v4" if given["version"] else None)
        latent = "mla" in given["kind"]
        scaled = "per_token_head" in given["quant"]
        packed = given["tag"] and given["cell"] in (656, 584) and not scaled
        if given["tag"]:
            values["cache_dtype_str"] = "fp8_ds_mla" if packed else "other"
        if latent and not packed and given["cell"] % given["dtype_bytes"] == 0:
            values["head_size"] = given["cell"] // given["dtype_bytes"]
        elif not latent:
            values["head_size_v"] = given["value_dim"]
        if latent and scaled and given["cell"] == given["key_dim"] + 8:
            values["head_size"] = given["key_dim"]
        if scaled and latent and given["cell"] != given["key_dim"] + 8:
            pass                                       # index keys and DeepSeek-V4's states are never scaled
        elif given["quant"] != "none" and "kv_quant_mode" in fields:
            values["kv_quant_mode"] = self.specs.KVQuantMode[given["quant"].upper()]
        elif scaled:
            raise Unknown(given["quant"])
        if "state_content_bytes" in fields:
            values.update(num_head_slots=given["slots"], state_content_bytes=given["cell"])
        return values

    def config(self, given):
        length = given["max_model_len"]
        in_flight = given["in_flight"]
        return SimpleNamespace(
            model_config=SimpleNamespace(max_model_len=length,
                                         original_max_model_len=-1 if given["auto_length"] else length),
            parallel_config=SimpleNamespace(decode_context_parallel_size=given["dcp"], prefill_context_parallel_size=1,
                                            pipeline_parallel_size=1),
            cache_config=SimpleNamespace(num_gpu_blocks_override=given["override"] or None,
                                         mamba_cache_mode=given["mode"], enable_prefix_caching=True, block_size=16,
                                         prefix_match_unit=None),
            scheduler_config=SimpleNamespace(max_num_batched_tokens=in_flight, async_scheduling=False,
                                             disable_hybrid_kv_cache_manager=not given["hybrid_manager"],
                                             max_num_encoder_input_tokens=given["encoder_tokens"]),
            speculative_config=None, kv_transfer_config=None, max_in_flight_tokens=in_flight)

    def plan(self, given):
        workers = [{name: self.spec(given["specs"][at]) for name, at in worker.items()} for worker in given["workers"]]
        config = self.config(given)
        self.log.text = []
        try:
            made = self.planner.get_kv_cache_configs(config, workers, list(given["available_bytes"]))
            return self.answer(config, made)
        except (AssertionError, ValueError, NotImplementedError, ZeroDivisionError) as error:
            return {"error": category(error)}

    def answer(self, config, made):
        groups = [[{"layers": list(g.layer_names), "block": g.kv_cache_spec.block_size} for g in one.kv_cache_groups]
                  for one in made]
        answer = {"max_model_len": config.model_config.max_model_len, "blocks": made[0].num_blocks, "groups": groups,
                  "bytes": [sum(t.size for t in one.kv_cache_tensors) for one in made]}
        if hasattr(self.planner, "get_kv_cache_capacity") and made[0].kv_cache_groups:
            tokens, concurrency = self.planner.get_kv_cache_capacity(config, made[0])
            answer.update(tokens=tokens, concurrency=f"{concurrency:.2f}")
        for line in self.log.text:
            if found := re.match(r"GPU KV cache size: ([\d,]+) tokens", line):
                answer.setdefault("tokens", int(found.group(1).replace(",", "")))
            if found := re.match(r"Maximum concurrency for .*: ([\d.]+)x", line):
                answer.setdefault("concurrency", found.group(1))
        return answer


def category(error):
    text = str(error)
    for words, name in [("Failed to promote", "cannot_promote_to_single_type"),
                        ("failed to convert", "cannot_promote_to_single_type"),
                        ("same window size", "window_mismatch"), ("No available memory", "no_memory"),
                        ("uto-fit", "auto_fit_impossible"), ("To serve at least", "not_enough_memory"),
                        ("DCP", "context_parallel_unsupported")]:
        if words in text:
            return name
    if isinstance(error, NotImplementedError):
        return "cannot_unify_page_size"
    return "assertion" if isinstance(error, (AssertionError, ZeroDivisionError)) else text


def normal(answer):
    """kvcap's answer in the words of the other side."""
    if "error" not in answer:
        answer["concurrency"] = f"{answer['concurrency'] // 100}.{answer['concurrency'] % 100:02}"
    return answer


def differences(want, got, shrunk):
    if "error" in want or "error" in got:
        return [] if want == got else [("error", want.get("error"), got.get("error"))]
    keys = [k for k in want if k != "bytes" or (got["bytes"] is not None and shrunk)]
    if not any(want["groups"]):
        keys = ["max_model_len"]
    return [(k, want[k], got.get(k)) for k in keys if want[k] != got.get(k)]


def compare(program, cards, wheel):
    release = Release(wheel)
    command = [program, release.version, cards, os.environ.get("KVCAP_SEED", "1"), os.environ.get("KVCAP_CASES", "1000")]
    counts = collections.Counter()
    unknown = collections.Counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as cases:
        for line in cases.stdout:
            case = json.loads(line)
            set_ = "random" if case["case"].startswith("random") else "cards"
            try:
                want = release.plan(case["input"])
            except Unknown as reason:
                unknown[str(reason)] += 1
                continue
            shrunk = not release.version.startswith("0.11.")        # it leaves tensors at each worker's own blocks
            wrong = differences(want, normal(case["answer"]), shrunk)
            counts[set_, "differ" if wrong else "refused alike" if "error" in want else "plans equal"] += 1
            if wrong and counts[set_, "differ"] <= int(os.environ.get("KVCAP_SHOW", "3")):
                print(f"{release.version} {case['case']}: " + "; ".join(f"{k}: vLLM {w}, kvcap {g}" for k, w, g in wrong))
    if cases.returncode != 0:
        sys.exit(cases.returncode)
    row = " | ".join(f"{set_}: {counts[set_, 'plans equal']} equal, {counts[set_, 'refused alike']} refused alike, "
                     f"{counts[set_, 'differ']} differ" for set_ in ("cards", "random"))
    print(f"{release.version} | {row} | not in this release: {dict(unknown)}")
    return counts["cards", "differ"] + counts["random", "differ"]


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(1 if sum([compare(sys.argv[1], sys.argv[2], wheel) for wheel in sys.argv[3:]]) else 0)
