# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the ten largest C++ files and functions of the repository.

    python3 scripts/sizes.py

A function is what starts with a line in the first column that ends in `{` and
ends with `}` in the first column, so the code must be formatted.
"""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
TYPE = re.compile(r"(template <.*> )?(struct|class|enum|union)\b")
NAME = re.compile(r"((?:\w+::)*~?\w+)\s*\(")


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cpp", "*.h"],
        cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [pathlib.Path(path) for path in listed if (ROOT / path).exists()]


def functions(lines):
    """Yields (name, first line, number of lines)."""
    start = None
    for number, line in enumerate(lines, 1):
        if start is None and re.match(r"[A-Za-z\[]", line):
            start = number
        if start is None:
            continue
        head = " ".join(lines[start - 1:number])
        if line.startswith("}"):
            name = NAME.search(head)
            if name and not TYPE.match(head):
                yield name.group(1), start, number - start + 1
            start = None
        elif re.match("(namespace|extern)", head) and line.endswith("{"):
            start = None
        elif line.endswith(";") and "{" not in head:
            start = None


def main():
    files, bodies = [], []
    for path in sources():
        lines = (ROOT / path).read_text().splitlines()
        files.append((len(lines), str(path)))
        bodies += [(count, f"{name} ({path}:{first})")
                   for name, first, count in functions(lines)]
    print(f"{sum(count for count, _ in files)} lines in {len(files)} files, "
          f"{len(bodies)} functions")
    for title, rows in (("files", files), ("functions", bodies)):
        print(f"\nlargest {title}")
        for count, name in sorted(rows, key=lambda row: (-row[0], row[1]))[:10]:
            print(f"{count:6} {name}")


if __name__ == "__main__":
    main()
