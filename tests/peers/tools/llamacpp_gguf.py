# SPDX-License-Identifier: MIT
"""A GGUF header (metadata only, no tensors) from the metadata of a plan case, for tools that read such files."""
import struct

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def typed(value):
    if isinstance(value, bool):
        return BOOL, struct.pack("<?", value)
    if isinstance(value, int):
        return (U32, struct.pack("<I", value)) if 0 <= value < 2**32 else (U64, struct.pack("<Q", value))
    if isinstance(value, float):
        return F32, struct.pack("<f", value)
    if isinstance(value, str):
        return STRING, text(value)
    kinds = [typed(item) for item in value]
    if any(isinstance(item, int) and item < 0 for item in value):
        kinds = [(I32, struct.pack("<i", item)) for item in value]
    return ARRAY, struct.pack("<IQ", kinds[0][0] if kinds else U32, len(kinds)) + b"".join(raw for _, raw in kinds)


def write_gguf(path, metadata):
    pairs = {"general.alignment": 32, "tokenizer.ggml.model": "none", **metadata}
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)))
        for key, value in pairs.items():
            kind, raw = typed(value)
            file.write(text(key) + struct.pack("<I", kind) + raw)
        file.write(b"\0" * 64)
