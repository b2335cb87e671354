# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong input to the tools is a message and an exit status, never a crash."""

import numpy as np
import pytest

from conftest import EXAMPLE, tool

SOURCE = EXAMPLE / "mlp_lm.mlir"


def check_message(run, *words):
    """The tool ended by itself, failed, and said `words` on stderr."""
    assert 0 < run.returncode < 126, f"status {run.returncode}\n{run.stderr}"
    assert "error" in run.stderr
    for word in words:
        assert word in run.stderr


@pytest.mark.parametrize("mesh, words", [
    ("data=3000", ("256", "3000")),
    ("rows=4", ("rows", "data")),
    ("data", ("data",)),
    ("data=0", ("data",)),
    ("data=four", ("four",)),
    ("data=2,data=2", ("data",)),
])
def test_compile_refuses_mesh(tmp_path, mesh, words):
    out = tmp_path / "out.plan"
    check_message(tool("shard-compile", SOURCE, "--mesh", mesh, "-o", out), *words)
    assert not out.exists()


def test_compile_names_missing_file(tmp_path):
    missing = tmp_path / "missing.mlir"
    check_message(tool("shard-compile", missing, "-o", tmp_path / "out.plan"),
                  "missing.mlir")


@pytest.mark.parametrize("text, word", [
    ("func.func @f( {", "expected"),
    ("module {}", "func"),
    ("func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }",
     "?"),
    ('func.func @f(%x: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>})'
     " -> tensor<8xf32> { return %x : tensor<8xf32> }", "@mesh"),
])
def test_compile_refuses_module(tmp_path, text, word):
    source = tmp_path / "model.mlir"
    source.write_text(text)
    check_message(tool("shard-compile", source, "-o", tmp_path / "out.plan"), word)


def test_compile_names_unwritable_output(tmp_path):
    out = tmp_path / "no" / "such" / "folder" / "out.plan"
    check_message(tool("shard-compile", SOURCE, "-o", out), "out.plan")


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "text"])
def test_run_refuses_damaged_plan(workshop, tmp_path, damage):
    good = bytearray(workshop.plan("data").read_bytes())
    if damage == "flipped":
        good[len(good) // 2] ^= 1
    bad = {"truncated": good[:len(good) // 2], "flipped": good, "empty": b"",
           "text": b"weft.mesh @mesh"}[damage]
    path = tmp_path / "bad.plan"
    path.write_bytes(bytes(bad))
    check_message(tool("shard-run", path, "--init", "init"), "bad.plan")


@pytest.mark.parametrize("name, array, words", [
    ("x", np.zeros((5, 256, 15), np.int32), ("x", "16", "15")),
    ("x", np.zeros((5, 256, 16), np.float32), ("x", "i32", "f32")),
    ("z", np.zeros((5, 256, 16), np.int32), ("z",)),
])
def test_run_refuses_input(workshop, tmp_path, name, array, words):
    file = tmp_path / "input.npy"
    np.save(file, array)
    run = tool("shard-run", workshop.plan("data"), "--init", "init",
               "--input", f"{name}={file}", "--input", f"y={workshop.folder / 'y.npy'}")
    check_message(run, *words)


def test_run_names_inputs_that_nobody_set(workshop):
    check_message(tool("shard-run", workshop.plan("data"), "--init", "init"),
                  "x", "y")
