# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages name flags, options and passes that exist."""

import pathlib
import re

import pytest

from test_docs import PAGES, ROOT

FLAG = re.compile(r"(?<![\w-])--([a-z]\w*(?:-\w+)*)")

# Of the programs of others that pages call.
FOREIGN = {
    "build", "preset", "test-dir", "gtest_filter", "mlir-pass-statistics",  # CMake, CTest, GoogleTest, MLIR
    "nproc-per-node", "no-python",  # torchrun
    "allow-run-as-root", "bind-to", "hostfile", "map-by", "mca", "oversubscribe",  # mpirun
    "gpus-per-task", "mpi", "signal",  # srun, sbatch
    "accumulate-allreduce-grads-in-fp32",  # Megatron-LM
}
# The first column of its tables has flags of Megatron-LM.
COMING_FROM = ROOT / "docs" / "ComingFrom.md"


def literals():
    """Flags that programs of this repository take: arguments of parsers in Python and C++, cases in shell scripts."""
    found = set()
    for folder in ("scripts", "examples", "benchmarks", "test", "python-bindings/test", "tools"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".cpp") and path != pathlib.Path(__file__):
                found.update(re.findall(r'"--([a-z][\w-]*)', path.read_text()))
            elif path.suffix == ".sh":
                found.update(re.findall(r"--([a-z][\w-]*)(?: \||\)| \]\])", path.read_text()))
    return found


def generated():
    """Those of the pages that are made of --help and of the passes."""
    found = set(FLAG.findall((ROOT / "docs" / "CommandLine.md").read_text()))
    for page in (ROOT / "docs" / "generated").glob("*Passes.md"):
        found.update(re.findall(r"^### `-([\w-]+)`", page.read_text(), re.MULTILINE))
    return found


KNOWN = literals() | generated() | FOREIGN


def unknown_flags(page, text):
    if page == COMING_FROM:
        text = "\n".join(line.split("|", 2)[2] if line.startswith("|") else line for line in text.split("\n"))
    # `--weft-<phase>-pipeline` stands for several.
    text = re.sub(r"--[\w-]*-<\w+>[\w-]*", "", text)
    return sorted(set(FLAG.findall(text)) - KNOWN)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_flags_exist(page):
    assert unknown_flags(page, page.read_text()) == []


def test_an_unknown_flag_is_found():
    assert unknown_flags(ROOT / "README.md", "`--mesh`, `--no-such-flag`") == ["no-such-flag"]


def test_the_page_of_the_pipeline_has_every_pass():
    page = (ROOT / "docs" / "Pipeline.md").read_text()
    created = re.findall(r"\bcreate([A-Z]\w+)\(", (ROOT / "lib" / "Phases.cpp").read_text())
    names = {"--weft-" + re.sub(r"(?<!^)([A-Z])", r"-\1", name).lower() for name in created if name != "SymbolDCEPass"}
    assert len(names) > 20
    assert sorted(name for name in names if f"`{name}" not in page) == []
