# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the cost model alone knows numbers of machines.

    python3 scripts/check-machine-constants.py

A rate, a latency or a bandwidth is in a cluster file (clusters/) or in the
cost model (lib/Cost, include/weft/Cost); everything else asks it. Looked for
in the compiler, the tools and the Python package:

- a number with an exponent of at least +9 or at most -6: 50e9, 5e-6, 2e12, but
  for powers of a thousand, which are units;
- what a name of seconds, a latency or a rate begins with, but for 0, 1 and
  powers of a thousand: `double latencySeconds = 0.002;`;
- a number of at least 10,000 that a name of bytes begins with.

A number that is none of a machine is marked on its line, or on the one before:

    constexpr double most = 9e18; // no machine: what fits int64_t

Prints every such number with its place, and fails if there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("lib", "include/weft", "tools", "python-bindings/weft")
MODEL = ("lib/Cost", "include/weft/Cost")
# Polynomials, what models are trained with, and deadlines.
NO_MACHINE = ("lib/Codegen", "lib/Import", "python-bindings/weft/lax", "python-bindings/weft/nn",
              "python-bindings/weft/numpy", "python-bindings/weft/optim", "tools/shard-run")
SUFFIXES = {".cpp", ".h", ".py", ".td"}
EXEMPT = re.compile(r"(//|#) no machine: \S")

TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|(?<!\S)#[^\n]*')
NUMBER = re.compile(r"(?<![\w.])\d[\d.']*e(?P<exponent>[+-]?\d+)", re.IGNORECASE)
NAMED = re.compile(
    r"\b\w*(?:seconds|latency|bandwidth|per_?second|per_?byte|per_?flop)\s*[={(]\s*"
    r"(?P<value>\d[\d.']*(?:e[+-]?\d+)?)", re.IGNORECASE)

BYTES = re.compile(r"\b\w*bytes\s*[={(]\s*(?:\d+ << [1-9]\d|[\d']{5,})", re.IGNORECASE)
UNITS = {float(f"1e{exponent}") for exponent in range(-30, 31, 3)}


def finds(line):
    code = TEXT.sub(lambda found: '""' if found[0].startswith('"') else "", line)
    for number in NUMBER.finditer(code):
        if not -6 < int(number["exponent"]) < 9 and float(number[0].replace("'", "")) not in UNITS:
            yield number[0]
    for named in NAMED.finditer(code):
        if float(named["value"].replace("'", "")) not in (0, *UNITS):
            yield named[0]
    yield from BYTES.findall(code)


def files():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in SUFFIXES and not name.startswith(MODEL + NO_MACHINE):
                yield name, path.read_text()


def problems(name, text):
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not EXEMPT.search(line) and not EXEMPT.search(before):
            for found in dict.fromkeys(finds(line)):
                yield f"{name}:{number}: {found}: a number of a machine belongs to the cost model"
        before = line


def main():
    found = [problem for name, text in files() for problem in problems(name, text)]
    print("\n".join([*found, f"{len(found)} numbers of machines outside of the cost model"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
