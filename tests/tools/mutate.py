#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutation testing of the core: does a test notice when an operator or a constant of a header changes?

    mutate.py [--set core|reuse] [--sample N] [--seed S] [--jobs J] [--report FILE] [--resume] [--list]

Every mutant changes one token of one header in a scratch copy. It is killed when a file of tests/static no longer
compiles, or when the property tests of the set (built with the small stand-in for Catch2 in tests/tools/mutation)
fail, stop or run over time. Mutants listed in mutants-equivalent.txt change nothing that can be observed; they are
counted apart. Without --sample all mutants run. Exit status 1: over 5% of the others survive.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "kvcap"
EQUIVALENT = pathlib.Path(__file__).with_name("mutants-equivalent.txt")
SHIM = pathlib.Path(__file__).with_name("mutation")

SETS = {
    "core": {
        "headers": ["units.hpp", "result.hpp", "inplace.hpp", "element.hpp", "form.hpp", "layer/*.hpp", "quant/*.hpp",
                    "model.hpp", "models/lettered.hpp", "sharding.hpp", "fold.hpp", "capacity.hpp", "message.hpp"],
        "static": ["mutation_core", "units", "extremes", "laws", "facts", "models"],
        "programs": [["fold", "random_model"]],
    },
    "reuse": {
        "headers": ["reuse/*.hpp"],
        "static": ["reuse", "mutation_reuse", "depth_reuse"],
        "programs": [["reuse"], ["reuse_snapshots"], ["reuse_fleet"], ["reuse_probe"], ["reuse_repair"]],
    },
}

OPERATORS = {
    "<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["/"], "<<": [">>"], ">>": ["<<"], "+=": ["-="],
    "&": ["|"], "|": ["&"], "^": ["|"], "|=": ["&="], "&=": ["|="],
}
WORDS = {"true": "false", "false": "true", "smaller": "larger", "larger": "smaller"}
SPACED = re.compile(r"(?<= )(<=|>=|==|!=|&&|\|\||<<|>>|\+=|\|=|&=|<|>|\+|-|\*|/|%|&|\||\^)(?= )")
NEGATION = re.compile(r"(?<![\w)\]])!(?=[\w(])")
NUMBER = re.compile(r"(?<![\w.'\"])(0x[0-9a-fA-F']+|\d[\d']*)(?=[uU]?[lL]*\b)(?![\w.'])")
WORD = re.compile(r"\b(true|false|smaller|larger)\b(?! *(?:const|&))")
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#[^\n]*|static_assert\([^;]*;', re.S | re.M)


class Mutant:
    def __init__(self, header, text, start, end, new):
        self.header, self.start, self.end, self.new = header, start, end, new
        self.old = text[start:end]
        begin = text.rfind("\n", 0, start) + 1
        self.line = text.count("\n", 0, start) + 1
        whole = text[begin:text.find("\n", start)]
        self.text = whole.strip()
        # Which of the equal tokens of its line it is, so that the key survives edits elsewhere.
        self.nth = len(re.findall(re.escape(self.old), whole[:start - begin])) + 1

    def key(self):
        return f"{self.header} :: {self.text} :: {self.old} -> {self.new} #{self.nth}"


def mutants_of(path):
    text = path.read_text()
    header = str(path.relative_to(INCLUDE))
    seen = HIDDEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    found = []
    for m in SPACED.finditer(seen):
        if seen[:m.start()].rstrip().endswith("template") or "operator" in seen[m.start() - 10:m.start()]:
            continue
        found += [Mutant(header, text, m.start(), m.end(), new) for new in OPERATORS[m.group()]]
    for m in NEGATION.finditer(seen):
        found.append(Mutant(header, text, m.start(), m.end(), ""))
    for m in NUMBER.finditer(seen):
        value = int(m.group().replace("'", ""), 0)
        found.append(Mutant(header, text, m.start(), m.end(), str(value + 1)))
        if value == 1:
            found.append(Mutant(header, text, m.start(), m.end(), "0"))
    for m in WORD.finditer(seen):
        if re.match(r"constexpr u64 $", seen[max(0, m.start() - 14):m.start()]):
            continue  # the definition itself
        found.append(Mutant(header, text, m.start(), m.end(), WORDS[m.group()]))
    return sorted(found, key=lambda mutant: mutant.start)


class Killer:
    def __init__(self, chosen, compiler, work):
        self.chosen, self.compiler = chosen, compiler
        self.work = pathlib.Path(work)
        self.include = self.work / "include"
        shutil.copytree(ROOT / "include", self.include)

    def run(self, command, seconds, cases=None):
        env = dict(os.environ, KVCAP_CASES=cases) if cases else os.environ
        try:
            done = subprocess.run(["prlimit", f"--cpu={seconds}", "--as=4294967296"] + [str(c) for c in command],
                                  capture_output=True, text=True, env=env, timeout=seconds * 40)
            return done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            return -1, "timeout"

    def compile(self, source, *more):
        limits = ["-fconstexpr-ops-limit=3000000", "-fconstexpr-loop-limit=20000"] if "g++" in self.compiler else []
        return self.run([self.compiler, "-std=c++20", "-O0", "-w", *limits, f"-I{SHIM}", f"-I{self.include}", *more,
                         source], 60)

    def alone(self, header):
        """Whether the changed header still compiles by itself."""
        door = self.work / "alone.cpp"
        door.write_text(f"#include <kvcap/core.hpp>\n#include <kvcap/{header}>\n")
        return self.compile(door, "-fsyntax-only")[0] == 0

    def verdict(self, mutant):
        target = self.include / "kvcap" / mutant.header
        original = target.read_text()
        try:
            target.write_text(original[:mutant.start] + mutant.new + original[mutant.end:])
            return self.judge(mutant)
        finally:
            target.write_text(original)

    def judge(self, mutant):
        for name in self.chosen["static"]:
            source = ROOT / "tests" / "static" / f"{name}.cpp"
            if not source.exists():
                continue
            code, words = self.compile(source, "-fsyntax-only")
            if code != 0:
                inside = re.search(r"include/kvcap/\S+ error:", words) is not None
                return ("stillborn", "") if inside and not self.alone(mutant.header) else ("killed", f"static/{name}")
        built = []
        for names in self.nearest_first(mutant):
            objects = [self.object(name) for name in names]
            if None in objects:
                return "killed", f"property/{names[0]} does not compile"
            built.append((names[0], self.work / f"program-{names[0]}"))
            self.run([self.compiler, *objects, self.main(), "-o", built[-1][1]], 60)
            if self.run([built[-1][1]], 20, "150")[0] != 0:
                return "killed", f"property/{names[0]}"
        for name, program in built:  # as many cases as the tests take by default
            if self.run([program], 60)[0] != 0:
                return "killed", f"property/{name}"
        return "survived", ""

    def nearest_first(self, mutant):
        """The programs, that which has the header's word in its name before the others."""
        words = {"staircase": "repair", "snapshot_tree": "snapshots", "fleet_lane": "fleet"}
        stem = pathlib.Path(mutant.header).stem
        return sorted(self.chosen["programs"], key=lambda names: words.get(stem, stem) not in names[0])

    def object(self, name):
        out = self.work / f"{name}.o"
        return out if self.compile(ROOT / "tests" / "property" / f"{name}.cpp", "-c", "-o", out)[0] == 0 else None

    def main(self):
        out = self.work / "main.o"
        if not out.exists():
            assert self.compile(SHIM / "main.cpp", "-c", "-o", out)[0] == 0
        return out


def equivalents():
    """key -> reason. A line `header :: line :: old -> new #n :: reason`."""
    known = {}
    for line in EQUIVALENT.read_text().splitlines():
        if line and not line.startswith("#"):
            key, _, reason = line.rpartition(" :: ")
            known[key] = reason
    return known


def stale():
    """Keys of the list that no header has any more: their lines changed, and so may have what they mean."""
    paths = {path for each in SETS.values() for pattern in each["headers"] for path in INCLUDE.glob(pattern)}
    there = {mutant.key() for path in paths for mutant in mutants_of(path)}
    return [key for key in equivalents() if key not in there]


def earlier(options):
    """key -> (verdict, by) of a report, without what survived."""
    if not options.resume or not options.report or not os.path.exists(options.report):
        return {}
    rows = [line.rstrip("\n").split("\t") for line in open(options.report)]
    return {key: (verdict, by) for verdict, _, key, by in rows if verdict in ("killed", "stillborn")}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=sorted(SETS), default="core")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=20261129)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--report")
    parser.add_argument("--resume", action="store_true", help="keep the verdicts that REPORT has, but run survivors again")
    parser.add_argument("--only", default="", help="only mutants whose key contains this text")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--compiler", default="g++")
    return parser.parse_args()


def select(options):
    chosen = SETS[options.set]
    paths = sorted({p for pattern in chosen["headers"] for p in INCLUDE.glob(pattern)})
    mutants = [m for path in paths for m in mutants_of(path) if options.only in m.key()]
    total = len(mutants)
    if options.sample and options.sample < total:
        mutants = random.Random(options.seed).sample(mutants, options.sample)
    return chosen, mutants, total


def main():
    options = parse()
    chosen, mutants, total = select(options)
    if options.list:
        print("\n".join(m.key() for m in mutants))
        return 0
    for key in stale():
        print(f"{EQUIVALENT.name}: no such mutant: {key}", file=sys.stderr)
    known = {key: ("equivalent", reason) for key, reason in equivalents().items()}
    known.update(earlier(options))
    counts = {"killed": 0, "survived": 0, "stillborn": 0, "equivalent": 0}
    report = open(options.report, "w") if options.report else sys.stdout

    def work(share):
        with tempfile.TemporaryDirectory() as folder:
            killer = Killer(chosen, options.compiler, folder)
            for mutant in share:
                verdict, by = known[mutant.key()] if mutant.key() in known else killer.verdict(mutant)
                counts[verdict] += 1
                print(f"{verdict}\t{mutant.header}:{mutant.line}\t{mutant.key()}\t{by}", file=report, flush=True)

    shares = [mutants[i::options.jobs] for i in range(options.jobs)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in [pool.submit(work, share) for share in shares]:
            done.result()
    judged = counts["killed"] + counts["survived"]
    rate = 100 * counts["survived"] / judged if judged else 0
    print(f"{options.set}: {len(mutants)} of {total} mutants (seed {options.seed}): {counts['killed']} killed, "
          f"{counts['survived']} survived, {counts['equivalent']} equivalent, {counts['stillborn']} do not compile; "
          f"{rate:.1f}% of the killable survive")
    return 1 if rate > 5 else 0


if __name__ == "__main__":
    sys.exit(main())
