# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms are texts: with locations the first three, printed and read again, compile to the same
plan, and without them every form compiles to the same instructions, offsets and kernels."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("WEFT_BIN", ROOT / "build" / "dev" / "bin"))
FORMS = ("graph", "sharded", "spmd", "schedule")
MODELS = sorted([*(ROOT / "examples" / "mlp_lm").glob("*.mlir"),
                 ROOT / "test" / "EndToEnd" / "checkpoint-fsdp.mlir",
                 ROOT / "test" / "Plan" / "memory-report.mlir",
                 ROOT / "test" / "EndToEnd" / "wide-gradient-sums.mlir"])


def tool(name, *arguments, text=None):
    run = subprocess.run([BIN / name, *map(str, arguments)], input=text, text=True,
                         capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return run.stdout


def compile_text(text, path):
    """The plan of a program that has the name `path` has."""
    path.write_text(text)
    tool("shard-compile", path, "-o", path.with_suffix(".plan"))
    return path.with_suffix(".plan")


def dump(plan):
    """What a plan does; not what it says of the lines that it comes from."""
    return re.sub(r'"[^"]*"|\bhash \w+', '""', tool("shard-run", plan, "--dump"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_forms_compile_to_the_same_plan(path, tmp_path):
    whole = compile_text(path.read_text(), tmp_path / path.name)
    for form in FORMS[:3]:
        folder = tmp_path / form
        folder.mkdir()
        text = tool("shard-compile", tmp_path / path.name, f"--emit={form}",
                    "--mlir-print-debuginfo")
        again = compile_text(text, folder / path.name)
        assert again.read_bytes() == whole.read_bytes(), form


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_locations_decide_nothing(path, tmp_path):
    whole = dump(compile_text(path.read_text(), tmp_path / path.name))
    stripped = tool("shard-opt", "--strip-debuginfo", text=path.read_text())
    assert dump(compile_text(stripped, tmp_path / "stripped.mlir")) == whole
    for form in FORMS:
        text = tool("shard-compile", tmp_path / path.name, f"--emit={form}")
        assert dump(compile_text(text, tmp_path / f"{form}.mlir")) == whole, form
