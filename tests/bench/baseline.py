#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""baseline.py FOLDER [--update]: runs the benchmark programs of FOLDER (build/bench/bin), takes the least CPU time of three
repetitions and compares it, as a multiple of the calibration loop of the same run, with baseline.json: more than twice the
recorded multiple fails. --update records instead, and keeps what it did not run. A case without a recorded multiple is shown."""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = {"growth": "", "fold": "", "vllm_plan": "", "points": "", "reuse": "/4096/", "reuse_fleet": "uniform",
            "trace": "_one|jsonl", "reuse_probe": "", "reuse_snapshots": ""}


def run(program, only):
    words = [str(program), "--benchmark_format=json", "--benchmark_repetitions=3", "--benchmark_min_time=0.02"]
    done = subprocess.run(words + ([f"--benchmark_filter={only}"] if only else []), capture_output=True, text=True, check=True)
    best = {}
    scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    for one in json.loads(done.stdout)["benchmarks"]:
        if one["run_type"] == "iteration":
            ns = one["cpu_time"] * scale[one["time_unit"]]
            best[one["name"]] = min(best.get(one["name"], ns), ns)
    return best


def main():
    folder, update = pathlib.Path(sys.argv[1]), "--update" in sys.argv
    known = json.loads((HERE / "baseline.json").read_text())["multiples"]
    found, worse = {}, 0
    for name, only in PROGRAMS.items():
        if not (folder / f"bench-{name}").exists():
            print(f"bench-{name}: not built")
            continue
        before = run(folder / "bench-growth", "calibration")["calibration"]
        times = run(folder / f"bench-{name}", only)
        unit = min(before, run(folder / "bench-growth", "calibration")["calibration"])
        for case, ns in times.items():
            key = f"{name}/{case}"
            found[key] = float(f"{ns / unit:.3g}")
            was = known.get(key)
            slow = not update and was is not None and case != "calibration" and found[key] > 2 * was
            worse += slow
            print(f"{key:78}{ns:14.1f} ns{found[key]:11.4g}" + ("" if was is None else f"{was:11.4g}") + ("  SLOWER" if slow else ""))
    if update:
        text = {"unit": "CPU time of 4,096 dependent 64-bit multiplications (calibration.hpp)", "multiples": {**known, **found}}
        (HERE / "baseline.json").write_text(json.dumps(text, indent=1) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
