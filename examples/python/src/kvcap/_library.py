# SPDX-License-Identifier: MIT
"""The loaded C interface: its functions, its structs, and how a status becomes an exception."""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Sequence

CAPI_VERSION = 1


class Error(Exception):
    """Anything that kvcap refuses; the text names the place, the value and what was wanted."""


class UsageError(Error):
    """Options that do not exist, do not go together or do not suit the model."""


class BadInput(Error):
    """A model, file or scenario that cannot be read."""


class UnknownArchitecture(Error):
    """An architecture, engine or version without rules here."""


class DoesNotFit(Error):
    """An engine that does not start with this load (reports that say by how much are returned, not raised)."""


class WrongLibrary(Error):
    """A C library of another version, or none."""


class OutOfMemory(Error):
    """No memory for the answer."""


_kinds = {1: DoesNotFit, 2: UsageError, 3: BadInput, 4: UnknownArchitecture, 5: WrongLibrary, 6: OutOfMemory}

_text = ctypes.c_void_p
_status = ctypes.c_int


class SizeRequest(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("tp", ctypes.c_uint32), ("pp", ctypes.c_uint32),
                ("cp", ctypes.c_uint32), ("dp", ctypes.c_uint32), ("dp_attention", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("tokens", ctypes.c_uint64), ("sequences", ctypes.c_uint64),
                ("encoder_tokens", ctypes.c_uint64)]


class SizeResult(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("ranks", ctypes.c_uint32), ("per_token", ctypes.c_uint64),
                ("unique", ctypes.c_uint64), ("all_ranks", ctypes.c_uint64), ("rank", ctypes.c_uint64),
                ("rank_per_token", ctypes.c_uint64), ("state", ctypes.c_uint64)]


class GroupStruct(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("needs", ctypes.c_uint32), ("page", ctypes.c_uint64),
                ("reach", ctypes.c_uint64), ("sinks", ctypes.c_uint64), ("stride", ctypes.c_uint64),
                ("lag", ctypes.c_uint64), ("pages", ctypes.c_uint64), ("words", ctypes.POINTER(ctypes.c_uint64))]


class ReuseResult(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("limiting", ctypes.c_uint32), ("tokens", ctypes.c_uint64),
                ("refused", ctypes.c_uint64), ("page", ctypes.c_uint64)]


def _find() -> str:
    """$KVCAP_LIBRARY, else the library that was installed beside this module."""
    named = os.environ.get("KVCAP_LIBRARY")
    if named:
        return named
    return str(pathlib.Path(__file__).with_name("libkvcap_c.so"))


def _load() -> ctypes.CDLL:
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as failure:
        raise WrongLibrary(f"{failure}; pip install examples/python builds it, KVCAP_LIBRARY names another") from None
    for name, result, arguments in (
        ("kvcap_capi_version", ctypes.c_uint32, []),
        ("kvcap_version", ctypes.c_char_p, []),
        ("kvcap_text_data", ctypes.c_char_p, [_text]),
        ("kvcap_text_free", None, [_text]),
        ("kvcap_run", _status, [ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t, ctypes.POINTER(_text),
                                ctypes.POINTER(_text)]),
        ("kvcap_model_read", _status, [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p),
                                       ctypes.POINTER(_text)]),
        ("kvcap_model_free", None, [ctypes.c_void_p]),
        ("kvcap_model_spec", ctypes.c_char_p, [ctypes.c_void_p]),
        ("kvcap_model_layers", ctypes.c_uint64, [ctypes.c_void_p]),
        ("kvcap_model_max_context", ctypes.c_uint64, [ctypes.c_void_p]),
        ("kvcap_size", _status, [ctypes.c_void_p, ctypes.POINTER(SizeRequest), ctypes.POINTER(SizeResult),
                                 ctypes.POINTER(_text)]),
        ("kvcap_size_ranks", _status, [ctypes.c_void_p, ctypes.POINTER(SizeRequest), ctypes.POINTER(ctypes.c_uint64),
                                       ctypes.c_size_t, ctypes.POINTER(_text)]),
        ("kvcap_model_groups", _status, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64,
                                         ctypes.POINTER(GroupStruct), ctypes.POINTER(ctypes.c_size_t),
                                         ctypes.POINTER(_text)]),
        ("kvcap_reuse", _status, [ctypes.POINTER(GroupStruct), ctypes.c_size_t, ctypes.c_uint64,
                                  ctypes.POINTER(ReuseResult), ctypes.POINTER(_text), ctypes.POINTER(_text)]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.kvcap_capi_version() != CAPI_VERSION:
        raise WrongLibrary(f"{path}: C interface {library.kvcap_capi_version()}; wanted {CAPI_VERSION}")
    return library


library = _load()


def taken(text: _text) -> str:
    """The text, which is freed."""
    out = library.kvcap_text_data(text).decode("utf-8", "replace")
    library.kvcap_text_free(text)
    return out


def encoded(text: str, what: str) -> bytes:
    """UTF-8; a NUL inside would be lost on the way and is refused."""
    data = str(text).encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise UsageError(f"{what}: a NUL character inside; wanted text without one")
    return data


def check(status: int, error: _text) -> None:
    """Raises what the status says."""
    said = taken(error)
    if status != 0:
        raise _kinds.get(status, Error)(said.strip().removeprefix("kvcap: "))


def run(arguments: Sequence[str]) -> tuple[int, str]:
    """The program in process: (exit code, output). Raises when there is no output.

    >>> run(["size", "8*gqa(8,128)", "--csv"])[0]
    0
    """
    words = [encoded(word, f"argument {i}") for i, word in enumerate(arguments)]
    given = (ctypes.c_char_p * len(words))(*words)
    out, error = _text(), _text()
    status = library.kvcap_run(given, len(words), ctypes.byref(out), ctypes.byref(error))
    if out:
        return status, taken(out)
    check(status, error)
    return status, ""


def version() -> str:
    """The library's version."""
    return library.kvcap_version().decode()
