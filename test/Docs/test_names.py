# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pages call by its name in the sources exists: qualified names, files and folders."""

import re

import pytest

from test_docs import PAGES, ROOT

FOLDERS = [path for path in sorted(ROOT.iterdir()) if path.is_dir() and path.name != "build" and not path.name.startswith(".")]
FILES = [file for folder in FOLDERS for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "test_names.py"]
NAMES = [f"/{path.relative_to(ROOT)}" for path in FILES]
WORDS = {word for path in FILES if path.suffix in {".cpp", ".h", ".td", ".fbs", ".in"}
         for word in re.findall(r"\w+", path.read_text())}
# Of the standard library and of those that the runtime calls.
FOREIGN = {"std"}


def exists(path):
    return any(name.endswith(f"/{path}") or f"/{path}/" in name for name in NAMES)


def unknown(text):
    """Qualified names of C++, sources and folders, in backticks, that are nowhere."""
    found = []
    for name in sorted(set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))):
        if re.fullmatch(r"[\w-]+\.(h|cpp|td|fbs|py|mlir|sh)", name):
            found += [] if exists(name) else [name]
        elif re.fullmatch(r"(?:[\w-]+/)+[\w.-]*", name) and name.split("/")[0] in {"src", *(f.name for f in FOLDERS)}:
            found += [] if exists(name.rstrip("/")) else [name]
        elif re.fullmatch(r"\w+(::\w+)+(\(.*\))?", name) and name.split("::")[0] not in FOREIGN:
            found += [] if set(name.split("(")[0].split("::")) <= WORDS else [name]
    return found


@pytest.mark.parametrize("page", PAGES,
                         ids=lambda page: str(page.relative_to(ROOT)))
def test_names(page):
    assert unknown(page.read_text()) == []


def test_unknown_names_are_found():
    assert unknown("`Session::run` `Session::tango` `lib/Import` `lib/Export` `Session.h` `Sessions.h`\n"
                   "```\n`Session::tango`\n```") == ["Session::tango", "Sessions.h", "lib/Export"]
