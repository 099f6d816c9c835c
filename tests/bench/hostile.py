#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile.py KVCAP: writes hostile configs, GGUF files, scenarios, traces, logs and arguments (up to 16 MiB) into a temporary
folder and gives each to the program. Every one must end with an exit code of its table (never a signal), in under 60
seconds of CPU and 256 MiB. Needs GNU time. Exit 1 when one does not."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

MIB = 1 << 20
HUGE = 1 << 60


def config(**values):
    return json.dumps({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 4096, "num_attention_heads": 32, **values})


def gguf(tensors, keys, rest=b""):
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + rest


def text(value):
    return struct.pack("<Q", len(value)) + value


def group(count, **values):
    return [{"name": f"g{i}", "needs": "everything", "page_tokens": 16, **values} for i in range(count)]


def trace(lines, ids):
    random.seed(1)
    return "".join(json.dumps({"timestamp": n, "input_length": 512 * ids, "output_length": 10,
                               "hash_ids": [random.randrange(1 << 62) for _ in range(ids)]}) + "\n" for n in range(lines))


def files():
    """Name, verb and options, content; a number is that many zero bytes, which take no disk. A name in a folder asks for
    the folder, in which a config is too."""
    size, reuse, doctor = ["size"], ["reuse"], ["doctor"]
    simulate = ["simulate", "--model", "llama-3.1-8b"]
    half = 8 * MIB
    yield "nesting.json", size, "[" * half + "]" * half
    yield "long_string.json", size, '{"model_type":"' + "a" * (16 * MIB - 20) + '"}'
    yield "many_numbers.json", size, "[" + "0," * (half - 2) + "0]"
    yield "many_objects.json", size, "[" + "{}," * (16 * MIB // 3 - 2) + "{}]"
    yield "many_keys.json", size, "{" + ",".join(f'"k{i}":0' for i in range(16 * MIB // 13)) + "}"
    yield "many_layers.json", size, config(layer_types=["full_attention"] * (16 * MIB // 20))
    yield "too_large.json", size, '{"a":"' + "a" * (32 * MIB) + '"}'
    yield "same_key.json", size, '{"model_type":"llama","num_hidden_layers":2,"num_hidden_layers":3}'
    yield "huge_heads.json", size, config(num_attention_heads=HUGE, num_key_value_heads=HUGE, head_dim=HUGE)
    yield "huge_layers.json", size, config(num_hidden_layers=HUGE)
    yield "negative.json", size, config(num_hidden_layers=-2)
    yield "float.json", size, config(num_hidden_layers=1e308)
    yield "huge_tensors.gguf", size, gguf(HUGE, 1)
    yield "huge_keys.gguf", size, gguf(0, HUGE)
    yield "huge_array.gguf", size, gguf(0, 1, text(b"general.architecture") + struct.pack("<IIQ", 9, 4, HUGE))
    yield "huge_string.gguf", size, gguf(0, 1, struct.pack("<Q", HUGE))
    yield "arrays_of_arrays.gguf", size, gguf(0, 1, text(b"k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 100000)
    yield "empty_strings.gguf", size, gguf(0, 1, text(b"k") + struct.pack("<IIQ", 9, 8, 2 * MIB) + bytes(16 * MIB))
    yield "huge_prompt.json", reuse, json.dumps({"prompt_tokens": HUGE, "groups": group(1, held=[[0, HUGE]])})
    yield "full_presence.json", reuse, json.dumps({"prompt_tokens": 1 << 28, "groups": group(32, held=[[0, 1 << 24]])})
    yield "numbers_for_groups.json", reuse, "[" + "0," * (half - 2) + "0]"
    yield "empty_groups.json", reuse, '{"prompt_tokens":100,"groups":[' + "{}," * (2 * MIB) + "{}]}"
    yield "ranges.json", reuse, json.dumps({"prompt_tokens": 1 << 20, "groups": group(1, held=[[1, 2]] * 690_000)})
    yield "too_many_ranges.json", reuse, json.dumps({"prompt_tokens": 1 << 20, "groups": group(1, held=[[1, 2]] * 1_300_000)})
    yield "identity_nesting.json", ["identity"], "[" * half + "]" * half
    yield "identity_objects.json", ["identity"], "[" + "{}," * (16 * MIB // 3 - 2) + "{}]"
    yield "identity_tokens.json", ["identity"], '{"content":{"tokens":[' + "1," * (half - 20) + "1]}}"
    fit = ["fit", "--gpu", "h100"]
    yield "index/model.safetensors.index.json", fit, '{"weight_map":{' + ",".join(f'"{i}":{{}}' for i in range(MIB)) + "}}"
    header = b'{"__metadata__":{"a":[' + b"0," * (half - 20) + b"0]}}"
    yield "header/model.safetensors", fit, struct.pack("<Q", len(header)) + header
    parts = ("mlp", "attn", "k_proj", "norm", "experts.")
    header = json.dumps({f"layers.{4095 - i % 4096}.{parts[i // 4096 % 5]}{i}": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
                         for i in range(200_000)}).encode()
    yield "tensors/model.safetensors", fit, struct.pack("<Q", len(header)) + header
    yield "trace.jsonl", simulate, trace(20000, 32)
    yield "one_line_trace.jsonl", simulate, '{"timestamp":0,"input_length":%d,"hash_ids":[%s]}' % (HUGE, ",".join("1" * (4 * MIB)))
    yield "one_line.log", doctor, "INFO " + "x" * (16 * MIB)
    yield "same_line.log", doctor, "INFO 01-01 00:00:00 [kv_cache_utils.py:849] GPU KV cache size: 99,999 tokens\n" * (16 * MIB // 78)
    yield "gigabyte_line.jsonl", simulate, 1 << 30
    yield "gigabyte_line.log", doctor, 1 << 30
    random.seed(2)
    yield "noise.log", doctor, random.randbytes(16 * MIB)
    yield "noise.gguf", size, b"GGUF" + random.randbytes(16 * MIB)
    yield "noise.json", size, random.randbytes(16 * MIB)


def arguments():
    yield "brackets", ["size", "(" * 100000]
    yield "huge count", ["size", f"{HUGE}*gqa(8,128)"]
    yield "9,000 layers", ["size", "+".join(["gqa(8,128)"] * 9000)]
    yield "huge tokens", ["size", "llama-3.1-8b", "--tokens", str(HUGE), "--batch", str(HUGE)]
    yield "20 digits", ["size", "llama-3.1-8b", "--tokens", "9" * 20]
    yield "launch line", ["plan", "--gpu", "h100", "--launch", "vllm serve llama-3-8b " + "--a " * 30000]
    yield "huge split", ["size", "llama-3.1-8b", "--tp", str(1 << 31), "--pp", str(1 << 31)]


def run(words):
    with tempfile.NamedTemporaryFile("r") as file:
        done = subprocess.run(["/usr/bin/time", "-f", "%U %S %M", "-o", file.name, *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        user, system, peak = file.read().split()[-3:]
    return done.returncode, float(user) + float(system), int(peak) / 1024, done.stderr.decode(errors="replace")


def main():
    kvcap = os.path.abspath(sys.argv[1])
    bad = 0
    print(f"{'input':36}{'MiB':>7}{'exit':>6}{'CPU s':>8}{'peak MiB':>10}")
    with tempfile.TemporaryDirectory() as folder:
        asked = [(name, [verb[0], str(pathlib.Path(folder, name.split("/")[0])), *verb[1:]], content)
                 for name, verb, content in files()]
        asked += [(name, words, None) for name, words in arguments()]
        for name, words, content in asked:
            path = pathlib.Path(folder, name)
            size = 0
            if content is not None:
                if "/" in name:
                    path.parent.mkdir()
                    (path.parent / "config.json").write_text(config())
                path.write_bytes(content.encode() if isinstance(content, str) else b"" if isinstance(content, int) else content)
                if isinstance(content, int):
                    os.truncate(path, content)
                size = path.stat().st_size
            code, cpu, peak, said = run([kvcap, *words])
            wrong = code not in (0, 1, 2, 3, 4) or cpu > 60 or peak > 256 or (code >= 2 and not said.strip())
            bad += wrong
            print(f"{name:36}{size / MIB:7.1f}{code:6}{cpu:8.2f}{peak:10.1f}{'   WRONG' if wrong else ''}")
            path.unlink(missing_ok=content is None)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
