# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples of every Markdown page and compares their output.

A page is one shell session in an empty folder, `examples/` of the repository
linked into it, with the tools and `python`:

    <!-- file: matmul.mlir -->       the next fenced block is written to the file
    ```console
    $ shard-opt --weft-propagate matmul.mlir
    what the command prints; a line `...` stands for any number of lines
    ```
    ```python
    >>> weft.P("data")
    what Python prints; all blocks of a page are one session
    ```

The package is that of the build. A page with the line `<!-- needs JAX -->` runs in
build/venv-jax, and is skipped where there is none.

`python3 test/Docs/test_docs.py --update` rewrites the output under every
command by what the tools print now; lines `...` are kept where they still match.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

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


def commands(lines, prompt, continuation=None):
    """Yields (command, expected lines) of a block. Lines right after a prompt
    that begin with `continuation` belong to its command."""
    command, expected = None, []
    for line in lines:
        if line.startswith(prompt):
            if command is not None:
                yield command, expected
            command, expected = line[len(prompt):], []
        elif continuation and not expected and line.startswith(continuation):
            command += "\n" + line[len(continuation) + 1:]
        else:
            expected.append(line)
    if command is not None:
        yield command, expected


def examples(lines):
    """Yields (first line, end line, language, [(command, expected lines)], file) of
    the blocks of a page."""
    for first, end, language, name in blocks(lines):
        if language == "console":
            found = commands(lines[first:end], "$ ")
        elif language == "python" and not name:
            found = commands(lines[first:end], ">>> ", "...")
        else:
            found = []
        yield first, end, language, list(found), name


def environment_of(python):
    """The environment of a page: the tools, `python`, and the package of the build."""
    environment = dict(os.environ)
    folders = [str(binaries()), str(pathlib.Path(python).parent), environment["PATH"]]
    package = str(binaries().parent / "python")
    environment["PATH"] = os.pathsep.join(folders)
    # mpirun in a container, where root has few cores.
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    "OMPI_MCA_rmaps_base_oversubscribe": "1",
                    "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [package, environment.get("PYTHONPATH")])
    )
    return environment


def run(command, folder, python):
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment_of(python),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    return lines_of(done.stdout)


def lines_of(output):
    return [line.rstrip() for line in output.rstrip("\n").split("\n")] if output else []


def interpreter(page):
    """The Python that a page wants."""
    if "<!-- needs JAX -->" in page.read_text().splitlines():
        return str(ROOT / "build" / "venv-jax" / "bin" / "python")
    return sys.executable


class PythonSession:
    """A Python that runs the examples of one page, one after the other."""

    def __init__(self, folder, python):
        self.process = subprocess.Popen(
            [python, str(pathlib.Path(__file__).with_name("python_session.py"))],
            cwd=folder,
            env=environment_of(python),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, source):
        self.process.stdin.write(json.dumps(source) + "\n")
        self.process.stdin.flush()
        return lines_of(json.loads(self.process.stdout.readline()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)


def shown(language, command):
    """A command as the page shows it."""
    if language == "console":
        return ["$ " + command]
    first, *rest = command.split("\n")
    return [">>> " + first] + [("... " + line).rstrip() for line in rest]


def matches(expected, actual):
    pattern = "".join(
        "(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + "\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in actual)) is not None


def prepare(folder):
    os.symlink(ROOT / "examples", pathlib.Path(folder) / "examples")


def outcomes(page, folder):
    """Runs one page; yields (first line, end line, [(language, command, expected,
    actual lines)]) of each of its blocks."""
    prepare(folder)
    lines, python = page.read_text().splitlines(), interpreter(page)
    with PythonSession(folder, python) as session:
        for first, end, language, found, name in examples(lines):
            if name:
                (pathlib.Path(folder) / name).write_text("\n".join(lines[first:end]) + "\n")
            yield first, end, [
                (
                    language,
                    command,
                    expected,
                    run(command, folder, python)
                    if language == "console"
                    else session.run(command),
                )
                for command, expected in found
            ]


def check(page):
    """Runs one page; returns the differences as text."""
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for first, _, found in outcomes(page, folder):
            for language, command, expected, actual in found:
                if not matches(expected, actual):
                    problems.append(
                        f"{page.relative_to(ROOT)}:{first}: {shown(language, command)[0]}\n"
                        + "the page says:\n  " + "\n  ".join(expected)
                        + "\nit printed:\n  " + "\n  ".join(actual)
                    )
    return problems


def update(page):
    lines = page.read_text().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        output, at = [], 0
        for first, end, found in outcomes(page, folder):
            if not found:
                continue
            output += lines[at:first]
            for language, command, expected, actual in found:
                output += shown(language, command)
                output += expected if matches(expected, actual) else actual
            at = end
        output += lines[at:]
    page.write_text("\n".join(output) + "\n")


def pytest_generate_tests(metafunc):
    metafunc.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])


def test_examples_print_what_the_page_says(page):
    if not pathlib.Path(interpreter(page)).exists():
        pytest.skip("the page wants JAX, and there is no build/venv-jax")
    problems = check(page)
    assert not problems, "\n\n".join(problems)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--update"]:
        sys.exit("usage: test_docs.py --update [PAGE...]")
    for page in [pathlib.Path(p).resolve() for p in sys.argv[2:]] or PAGES:
        update(page)
