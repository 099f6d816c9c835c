# SPDX-License-Identifier: MIT
"""Exact KV-cache memory of language models.

    >>> import kvcap
    >>> model = kvcap.Model("61*mla(512,64)")
    >>> model.size(tokens=32768, tp=8).per_token
    70272
    >>> kvcap.fit("8*gqa(8,128)", kv_budget="8GiB", tokens="32k")["most_sequences"]
    8

Bytes, tokens and counts are exact integers. Errors carry the sentence that the program prints. Numbers come
from the C interface (examples/capi), so they are the program's to the byte.
"""

from ._library import (BadInput, DoesNotFit, Error, OutOfMemory, UnknownArchitecture, UsageError, WrongLibrary, run,
                       version)
from ._model import Group, Model, Reuse, Size
from ._reports import advise, compare, fit, identity, plan, pools, report, reuse, show, size

__version__ = version()

__all__ = [
    "BadInput", "DoesNotFit", "Error", "Group", "Model", "OutOfMemory", "Reuse", "Size", "UnknownArchitecture",
    "UsageError", "WrongLibrary", "advise", "compare", "fit", "identity", "plan", "pools", "report", "reuse", "run", "show", "size",
    "version",
]
