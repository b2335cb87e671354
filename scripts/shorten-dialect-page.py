# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes of the page that mlir-tblgen writes of a dialect one for readers: a single table of what
an op takes and gives, and nothing of traits, interfaces and C++ types.

Reads the page from standard input. scripts/generate-docs.sh calls it."""

import re
import sys

ANY_TENSOR = "static ranked tensor of f32, bf16, f16, f64, i64, i32, i16, i8 or i1"


def rows(kind: str, section: str) -> list[str]:
    """The rows of a table, in Markdown or in HTML, without its heads."""
    found = re.findall(r"^\| (`.*?`) \| (.*) \|$", section, re.MULTILINE)
    found += [(f"`{name}`", what) for name, what in
              re.findall(r"<td><code>(.*?)</code></td><td>.*?</td><td>(.*?)</td>", section)]
    return [f"| {kind} {name} | {what.replace(ANY_TENSOR, 'tensor')} |" for name, what in found]


def shorten(op: str) -> str:
    op = re.sub(r"^(Traits|Interfaces|Effects): .*\n\n", "", op, flags=re.MULTILINE)
    head, *sections = re.split(r"^#### (?=Attributes:|Operands:|Results:)", op, flags=re.MULTILINE)
    table = []
    for section in sections:
        table += rows(section.split(":")[0].lower().rstrip("s"), section)
    return head + ("| | |\n| --- | --- |\n" + "\n".join(table) + "\n\n" if table else "")


def main() -> None:
    page = sys.stdin.read()
    # What follows the ops has parameters, whose C++ types the syntax says.
    page = re.sub(r"#### Parameters:\n\n(\|.*\n)+", "", page)
    page = page.replace("\n## Operations\n", f"\n## Operations\n\nA *tensor* below is a {ANY_TENSOR}.\n")
    page = "".join(map(shorten, re.split(r"^(?=##+ )(?!####)", page, flags=re.MULTILINE)))
    sys.stdout.write(re.sub(r"\n{3,}", "\n\n", page))


if __name__ == "__main__":
    main()
