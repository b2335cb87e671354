# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and lines of text fit a terminal."""

from weft.columns import WIDTH, aligned, wrapped
from weft.diagnostics import CompileError, Diagnostic, brief


def test_lines_are_cut_between_words():
    lines = wrapped("word " * 40, "first: ", "  ")
    assert max(map(len, lines)) <= WIDTH and lines[0].startswith("first: word") and lines[1].startswith("  word")
    assert wrapped("params['blocks'][*]['attention']['wq']-and-more" * 3) == ["params['blocks'][*]['attention']['wq']-and-more" * 3]


def test_a_column_has_lines_of_its_own_where_a_row_is_too_long():
    text = aligned([["", "", "time", ""], ["1", "data=2", "1.0 s", "fits"],
                    ["2", ", ".join(["micro-batches"] * 8), "20.0 s", "exceeds 79.1 GiB"]], left=(1,))
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH and len(lines) == 5
    assert lines[1].split() == ["1", "data=2", "1.0", "s", "fits"]
    assert lines[2].startswith("2  micro-batches, ") and lines[2].endswith("20.0 s  exceeds 79.1 GiB")
    assert all(line.startswith("     micro-batches") for line in lines[3:])
    assert "".join(lines[2:]).count("micro-batches") == 8
    text = aligned([["", "", "time"], ["1", "params['blocks'][{0..11}]['feed_forward']['weight'] as P(None, 'model')" * 2, "1.0 s"]], left=(1,))
    assert max(map(len, text.splitlines())) <= WIDTH and "".join(text.split()).count("feed_forward") == 2


def test_what_is_wrong_first_in_a_line():
    found = Diagnostic("error", "axis 'data' splits two dimensions\nmore", "/home/me/model.py", 12, 3)
    warning = Diagnostic("warning", "is replicated", "/home/me/model.py", 1, 1)
    assert brief(CompileError([warning, found])) == "model.py:12: axis 'data' splits two dimensions"
    assert brief(CompileError([found, found])) == "model.py:12: axis 'data' splits two dimensions (and 1 more)"
    assert brief(CompileError([Diagnostic("error", "no mesh")])) == "no mesh"
    assert brief(ValueError("\none\ntwo")) == "one" and brief(ValueError()) == "ValueError"
