# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages, descriptions of ops and passes, and sources use the terms of the field."""

import re

import pytest

from test_docs import PAGES, ROOT

FILES = [*PAGES, *sorted(ROOT.glob("emulator/*.md")), *sorted(ROOT.glob("benchmarks/**/*.md")),
         *sorted(ROOT.glob("include/**/*.td"))]
SOURCES = [path for pattern in ("include/**/*.h", "lib/**/*.h", "lib/**/*.cpp", "runtime/include/**/*.h", "runtime/schema/*.fbs",
                                "runtime/src/**/*.h", "runtime/src/**/*.cpp", "tools/**/*.h", "tools/**/*.cpp",
                                "python-bindings/weft/**/*.py")
           for path in sorted(ROOT.glob(pattern))]

# What is not said, wherever it stands, and what is said instead.
INSTEAD = {
    r"matrix products?": "matmul, GEMM",
    r"factors of (the|a) (product|matmul|GEMM)s?": "operands",
    r"(compute[sd]?|computing) (\w+ )?again": "recompute",
    r"terms of (a|the) (sum|gradient|group)s?": "partial sums",
    r"(each|every|another) turn": "iteration",
    r"(device|library|libraries|GPU|cuDNN|NCCL) in software": "emulated",
    r"there (is|are) no such": "not found, unknown, not supported",
    r"go(es)? on from": "continue",
}


def improper(text):
    """(line, words, what is said instead)."""
    found = []
    for words, instead in INSTEAD.items():
        # Words may be on two lines, which comments begin with slashes.
        pattern = words.replace(" ", r"(?:\s|//+)+")
        found += [(text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), instead)
                  for match in re.finditer(rf"\b{pattern}\b", text, re.IGNORECASE)]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_words(path):
    assert improper(path.read_text()) == []


def test_words_of_sources():
    assert len(SOURCES) > 1000
    assert [f"{path}:{line}: {words}: {instead}" for path in SOURCES
            for line, words, instead in improper(path.read_text())] == []


def test_improper_words_are_found():
    assert improper("one\nMatrix products.\n    sums that are computed\n    again") == [
        (2, "Matrix products", "matmul, GEMM"), (3, "computed again", "recompute")]
