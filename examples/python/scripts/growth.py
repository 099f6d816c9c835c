# SPDX-License-Identifier: MIT
"""Draws how caches grow with the context: python scripts/growth.py growth.png [MODEL...]"""

import sys

import kvcap
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

DASHES = ("-", "--", "-.", ":")


def main(path: str, names: list[str]) -> None:
    tokens = [1024 << step for step in range(11)]
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for i, name in enumerate(names):
        model = kvcap.Model(name)
        held = [model.size(n).unique / 2**30 for n in tokens]
        axes.loglog(tokens, held, DASHES[i % 4], base=2, marker=".", label=name)
    axes.set_xlabel("tokens of one request")
    axes.set_ylabel("KV cache, GiB, each byte once")
    axes.set_xticks(tokens, [f"{n // 1024}K" if n < 2**20 else "1M" for n in tokens])
    axes.grid(True, alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:] or ["llama-3.1-70b", "deepseek-v3", "gemma-3-27b", "qwen3-next-80b-a3b"])
