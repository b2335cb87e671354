# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports the training steps of inputs/ and partitions them: every state has
its name and its place, and scans leave no stacks behind."""

import gzip
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = sorted((ROOT / "test" / "Import" / "inputs").iterdir())


def compile_to(form, path, folder):
    """The text of a fixture in a form."""
    model = folder / "model.mlir"
    model.write_bytes(gzip.decompress(path.read_bytes()))
    tool = pathlib.Path(os.environ.get("WEFT_BIN", ROOT / "build" / "dev" / "bin")) / "shard-compile"
    run = subprocess.run([tool, model, f"--emit={form}"], capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return run.stdout


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name.split(".")[0])
def test_import(path, tmp_path):
    graph = compile_to("graph", path, tmp_path)
    signature = next(line for line in graph.splitlines() if "func.func @train_step" in line)
    arguments, results = signature.split(") -> (")
    inputs = re.findall(r'weft\.name = "([^"]*)"', arguments)
    outputs = re.findall(r'weft\.name = "([^"]*)"', results)
    states = [name for name in inputs if name.startswith("state[")]
    assert states == outputs[:-1] and outputs[-1] == "result[1]"
    assert inputs[len(states):] == (["batch['x']", "batch['y']"] if path.name.startswith("mlp")
                                    else ["batch['targets']", "batch['tokens']"])
    assert "stablehlo" not in graph and "unrealized" not in graph
    # Stacked gradients are written once each; residuals of a scan never.
    if "scan" in path.name:
        leaves = len({name for name in states if "['params']['blocks']" in name})
        assert len(re.findall(r"weft\.concat .* dim = 0 (?:{.*} )?: \(tensor<1x", graph)) == leaves
    else:
        assert not re.search(r"weft\.concat .* dim = 0", graph)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name.split(".")[0])
def test_partition(path, tmp_path):
    program = compile_to("spmd", path, tmp_path)
    assert "weft.all_reduce" in program or "weft.reduce_scatter" in program
