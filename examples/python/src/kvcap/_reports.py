# SPDX-License-Identifier: MIT
"""The program's reports as dicts. Options are its flags: `kv_budget="8GiB"` is `--kv-budget 8GiB`, `True` a switch,
a list is comma-separated; `None` and `False` are left out. Their JSON is described in docs/reference/schemas."""

from __future__ import annotations

import json
from typing import Any, Mapping

from . import _library as c
from . import _model


def report(verb: str, *positional: str | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """`kvcap VERB ... --json`. A load that does not fit is a report as well."""
    words = [verb]
    words += [value if isinstance(value, str) else json.dumps(value) for value in positional]
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
    return json.loads(c.run(words + ["--json"])[1])


def size(model: str | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Held bytes by rank, group and length: `tokens="8k,32k"`, `tp=8`, `engine="vllm"` ..."""
    return report("size", model, **options)


def show(model: str | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """What each layer caches."""
    return report("show", model, **options)


def fit(model: str | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Whether it fits, by how much, and what would make it fit: `gpu="h200"`, `gpus=8`, `tokens="32k"` ..."""
    return report("fit", model, **options)


def pools(model: str | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """What an engine allocates: `engine="vllm@0.28.0"`, `gpu="h100"` ..."""
    return report("pools", model, **options)


def plan(model: str | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """The best splits over GPUs: `gpu="h100"`, `gpus=16` ..."""
    return report("plan", model, **options)


def compare(*models: str | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Models side by side."""
    return report("compare", *models, **options)


def advise(model: str | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """What to do about a goal: `goal="memory"`, `gpu="l40s"` ..."""
    return report("advise", model, **options)


def identity(model: str | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """What makes two caches the same."""
    return report("identity", model, **options)


reuse = _model.reuse
