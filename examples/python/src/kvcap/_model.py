# SPDX-License-Identifier: MIT
"""A model: its size at any length and split, and how far a prompt can be skipped."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from . import _library as c

NEEDS = ("everything", "window", "chunk", "snapshot", "whole", "nothing")


@dataclass(frozen=True)
class Size:
    """Bytes. `ranks`: of each rank, pp slowest, then tp, cp, dp."""

    per_token: int  #: growth by one more token of one sequence, each byte once
    unique: int  #: all sequences, each byte once
    all_ranks: int  #: all sequences, copies counted
    rank: int  #: held by the fullest rank
    rank_per_token: int  #: growth of the rank that grows most
    state: int  #: of one sequence: fixed once it begins
    ranks: tuple[int, ...] = field(repr=False)


@dataclass
class Group:
    """A group of caches. `present[i]`: whether page i (or the state after (i + 1) * page tokens) is there."""

    needs: str  #: everything, window, chunk, snapshot, whole or nothing
    page: int  #: tokens of a page
    reach: int = 0  #: tokens of a window before the boundary, or of a chunk
    sinks: int = 0  #: first tokens that are always needed
    stride: int = 1
    lag: int = 0
    present: Sequence[bool] = ()


@dataclass(frozen=True)
class Reuse:
    """`tokens`: the greatest boundary that every group accepts; `limiting`: the group without which most would be
    gained (None: no single one), `page`: what it lacks at `refused`, the boundary without it."""

    tokens: int
    reason: str
    limiting: int | None
    refused: int
    page: int | None


class Model:
    """A model, read once. Immutable; may be shared between threads.

    model: a card's name, a Hugging Face id, a file (config.json, GGUF) or folder, a spec line, the text of a
    config.json, or the config itself as a dict. kv_cache_dtype: "auto", "bf16", "fp8" ...
    """

    def __init__(self, model: str | Mapping[str, Any], kv_cache_dtype: str = "auto") -> None:
        self._handle = ctypes.c_void_p()
        text = model if isinstance(model, str) else json.dumps(model)
        error = c._text()
        c.check(c.library.kvcap_model_read(c.encoded(text, "model"), c.encoded(kv_cache_dtype, "kv_cache_dtype"),
                                           ctypes.byref(self._handle), ctypes.byref(error)), error)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            c.library.kvcap_model_free(self._handle)

    def __repr__(self) -> str:
        return f"Model({self.spec!r})"

    @property
    def spec(self) -> str:
        """The model in one line; reads back as the same model."""
        return c.library.kvcap_model_spec(self._handle).decode()

    @property
    def layers(self) -> int:
        return c.library.kvcap_model_layers(self._handle)

    @property
    def max_context(self) -> int | None:
        """Tokens; None when the file names no longest context."""
        return c.library.kvcap_model_max_context(self._handle) or None

    def size(self, tokens: int, sequences: int = 1, *, tp: int = 1, pp: int = 1, cp: int = 1, dp: int = 1,
             dp_attention: bool = False, encoder_tokens: int = 0) -> Size:
        """Bytes held by `sequences` sequences of `tokens` tokens each.

        >>> Model("2*gqa(8,128)").size(tokens=10).unique
        81920
        """
        for name, value in (("tp", tp), ("pp", pp), ("cp", cp), ("dp", dp)):
            _within(name, value, 1, 2**32 - 1)
        _within("sequences", sequences, 1, 2**64 - 1)
        for name, value in (("tokens", tokens), ("encoder_tokens", encoder_tokens)):
            _within(name, value, 0, 2**64 - 1)
        asked = c.SizeRequest(ctypes.sizeof(c.SizeRequest), tp, pp, cp, dp, int(dp_attention), 0, tokens, sequences,
                              encoder_tokens)
        got = c.SizeResult(struct_size=ctypes.sizeof(c.SizeResult))
        error = c._text()
        c.check(c.library.kvcap_size(self._handle, asked, got, ctypes.byref(error)), error)
        ranks = (ctypes.c_uint64 * got.ranks)()
        c.check(c.library.kvcap_size_ranks(self._handle, asked, ranks, got.ranks, ctypes.byref(error)), error)
        return Size(got.per_token, got.unique, got.all_ranks, got.rank, got.rank_per_token, got.state, tuple(ranks))

    def groups(self, page: int = 16, snapshot: int | None = None) -> list[Group]:
        """Its groups of caches, without pages: set `present` of each and call `reuse`."""
        _within("page", page, 0, 2**64 - 1)
        _within("snapshot", snapshot or page, 0, 2**64 - 1)
        count = ctypes.c_size_t(32)
        all_groups = (c.GroupStruct * 32)()
        error = c._text()
        c.check(c.library.kvcap_model_groups(self._handle, page, snapshot or page, all_groups, ctypes.byref(count),
                                             ctypes.byref(error)), error)
        return [Group(NEEDS[g.needs], g.page, g.reach, g.sinks, g.stride, g.lag) for g in all_groups[:count.value]]


def reuse(groups: Sequence[Group], prompt: int) -> Reuse:
    """How many of `prompt` tokens can be skipped, and why not more.

    >>> reuse([Group("everything", page=16, present=[True, True, False, True])], prompt=64).tokens
    32
    """
    _within("prompt", prompt, 0, 2**64 - 1)
    given = (c.GroupStruct * max(len(groups), 1))()
    kept = []
    for at, group in zip(given, groups):
        if group.needs not in NEEDS:
            raise c.UsageError(f"needs: {group.needs!r}; wanted one of {', '.join(NEEDS)}")
        for name in ("page", "reach", "sinks", "stride", "lag"):
            _within(name, getattr(group, name), 0, 2**64 - 1)
        words = _words(group.present)
        kept.append(words)
        at.struct_size, at.needs = ctypes.sizeof(c.GroupStruct), NEEDS.index(group.needs)
        at.page, at.reach, at.sinks, at.stride, at.lag = group.page, group.reach, group.sinks, group.stride, group.lag
        at.pages, at.words = len(group.present), words
    got = c.ReuseResult(struct_size=ctypes.sizeof(c.ReuseResult))
    reason, error = c._text(), c._text()
    c.check(c.library.kvcap_reuse(given, len(groups), prompt, got, ctypes.byref(reason), ctypes.byref(error)), error)
    return Reuse(got.tokens, c.taken(reason), None if got.limiting == 2**32 - 1 else got.limiting, got.refused,
                 None if got.page == 2**64 - 1 else got.page)


def _words(present: Sequence[bool]) -> Any:
    words = (ctypes.c_uint64 * max((len(present) + 63) // 64, 1))()
    for page, there in enumerate(present):
        words[page // 64] |= int(bool(there)) << (page % 64)
    return words


def _within(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise c.UsageError(f"{name}: {value!r}; wanted a whole number from {least:,} to {most:,}")
