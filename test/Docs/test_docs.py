# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples of every Markdown page and compares their output.

A page is one shell session in an empty folder, `examples/` of the repository
linked into it:

    <!-- file: matmul.mlir -->       the next fenced block is written to the file
    ```console
    $ shard-opt --weft-propagate matmul.mlir
    what the command prints; a line `...` stands for any number of lines
    ```

`python3 test/Docs/test_docs.py --update` rewrites the output under every
command by what the tools print now; lines `...` are kept where they still match.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(p for p in ROOT.glob("docs/**/*.md") if "generated" not in p.parts),
        *ROOT.glob("examples/**/*.md"),
    ]
)


def binaries() -> pathlib.Path:
    """The folder with the tools: $WEFT_BIN, or the newest build."""
    if "WEFT_BIN" in os.environ:
        return pathlib.Path(os.environ["WEFT_BIN"]).resolve()
    builds = [ROOT / "build" / preset / "bin" for preset in ("release", "dev")]
    built = [b for b in builds if (b / "shard-compile").exists()]
    return max(built, key=lambda b: (b / "shard-compile").stat().st_mtime)


def blocks(lines):
    """Yields (first line, end line, language, file name or None)."""
    name, at = None, 0
    while at < len(lines):
        marker = re.fullmatch(r"<!-- file: (\S+) -->", lines[at])
        fence = re.fullmatch(r"```(\w*)", lines[at])
        if marker:
            name = marker.group(1)
        elif fence:
            end = lines.index("```", at + 1)
            yield at + 1, end, fence.group(1), name
            name, at = None, end
        at += 1


def commands(lines):
    """Yields (command, expected lines) of a console block."""
    command, expected = None, []
    for line in lines:
        if line.startswith("$ "):
            if command is not None:
                yield command, expected
            command, expected = line[2:], []
        else:
            expected.append(line)
    if command is not None:
        yield command, expected


def run(command, folder):
    environment = dict(os.environ)
    environment["PATH"] = f"{binaries()}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    return [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")] if done.stdout else []


def matches(expected, actual):
    pattern = "".join(
        "(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + "\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in actual)) is not None


def prepare(folder):
    os.symlink(ROOT / "examples", pathlib.Path(folder) / "examples")


def check(page):
    """Runs one page; returns the differences as text, and how many commands ran."""
    lines = page.read_text().splitlines()
    problems, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        for first, end, language, name in blocks(lines):
            if name:
                (pathlib.Path(folder) / name).write_text("\n".join(lines[first:end]) + "\n")
            if language != "console":
                continue
            for command, expected in commands(lines[first:end]):
                actual = run(command, folder)
                count += 1
                if not matches(expected, actual):
                    problems.append(
                        f"{page.relative_to(ROOT)}:{first}: $ {command}\n"
                        + "the page says:\n  " + "\n  ".join(expected)
                        + "\nthe tool printed:\n  " + "\n  ".join(actual)
                    )
    return problems, count


def update(page):
    lines = page.read_text().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        output, at = [], 0
        for first, end, language, name in blocks(lines):
            if name:
                (pathlib.Path(folder) / name).write_text("\n".join(lines[first:end]) + "\n")
            if language != "console":
                continue
            output += lines[at:first]
            for command, expected in commands(lines[first:end]):
                actual = run(command, folder)
                output.append("$ " + command)
                output += expected if matches(expected, actual) else actual
            at = end
        output += lines[at:]
    page.write_text("\n".join(output) + "\n")


def pytest_generate_tests(metafunc):
    metafunc.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])


def test_examples_print_what_the_page_says(page):
    problems, _ = check(page)
    assert not problems, "\n\n".join(problems)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--update"]:
        sys.exit("usage: test_docs.py --update [PAGE...]")
    for page in [pathlib.Path(p).resolve() for p in sys.argv[2:]] or PAGES:
        update(page)
