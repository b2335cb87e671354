# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a test shows every message that the compiler can print.

    python3 scripts/check-messages.py

A message is a string literal in lib/ with at least three words (what stands
between its numbers and names, if it is composed); a test shows it if the same
words stand in a file of test/ or python-bindings/test/. A message that no input can cause, or that is
none, is marked on one of its lines:

    return "lost the file"; // no test: the disk would have to fail

Prints every message without a test, with its place, and fails if there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXEMPT = re.compile(r"no test: \S")

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | R"(?P<mark>[^(]*)\((?P<raw>.*?)\)(?P=mark)"
      | "(?P<text>(?:[^"\\\n]|\\.)*)"
      | '(?:[^'\\\n]|\\.)+'
      | (?P<space>\s+)
      | (?P<directive>^\#[^\n]*)
      | (?P<word>\w+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE)
ESCAPES = {"n": "\n", "t": "\t", "0": "\0"}
# Calls whose text is for developers, or is the help of a flag.
NOT_MESSAGES = {"llvm_unreachable", "assert", "static_assert", "desc", "clEnumValN",
                "PassPipelineRegistration"}


def unescape(text):
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def callee(before):
    """The name of the call that an opening parenthesis after `before` starts."""
    if before and before[-1] == ">" and "<" in before:
        before = before[:len(before) - 1 - before[::-1].index("<")]
    return before[-1] if before else ""


def literals(source):
    """Yields (first line, last line, text) of the string literals of a C++
    source that may be messages; neighbours are one."""
    begin = end = text = None
    before, calls = [], []
    for token in TOKEN.finditer(source):
        kind = token.lastgroup
        if kind in ("space", "comment"):
            continue
        if token["raw"] is not None or token["text"] is not None:
            piece = token["raw"] if token["raw"] is not None else unescape(token["text"])
            if text is None:
                begin, text = token.start(), ""
            text, end = text + piece, token.end()
            continue
        if text is not None:
            if NOT_MESSAGES.isdisjoint(calls):
                yield source.count("\n", 0, begin) + 1, source.count("\n", 0, end) + 1, text
            text = None
        if token.group() == "(":
            calls.append(callee(before))
        elif token.group() == ")" and calls:
            calls.pop()
        before = [*before[-20:], token.group()]


def normalized(text):
    return " ".join(text.split())


def fragments(text):
    """The parts of a literal between the placeholders of formatv and printf."""
    for part in re.split(r"\{\d*(?::[^}]*)?\}|%[-\d.l]*[a-z]", text):
        if len(re.findall(r"[A-Za-z]{2,}", part)) >= 3 and re.search(r"[a-z] [a-z]", part):
            yield normalized(part)


def corpus():
    """The text of all tests."""
    texts = []
    for path in sorted([*(ROOT / "test").rglob("*"), *(ROOT / "python-bindings" / "test").glob("*")]):
        if path.suffix in (".mlir", ".test", ".py", ".txt", ".sh"):
            texts.append(path.read_text())
        elif path.suffix in (".cpp", ".h"):
            texts += [text for _, _, text in literals(path.read_text())]
    return normalized("\n".join(texts))


def main():
    tests = corpus()
    checked, missing = 0, []
    for path in sorted((ROOT / "lib").rglob("*")):
        if path.suffix not in (".cpp", ".h"):
            continue
        source = path.read_text()
        lines = source.splitlines()
        for first, last, text in literals(source):
            # The mark may stand on the line above or after the literal.
            if any(EXEMPT.search(line) for line in lines[max(first - 2, 0):last + 1]):
                continue
            for fragment in fragments(text):
                checked += 1
                if fragment not in tests:
                    missing.append(f'{path.relative_to(ROOT)}:{first}: no test shows "{fragment}"')
    print("\n".join([*missing, f"{checked} messages checked, {len(missing)} without a test"]))
    return 1 if missing or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
