# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a traced function with the compiler and the runtime, as a user's shell would."""

import os
import pathlib
import subprocess
import tempfile

import numpy as np

from weft import tree
from weft.tracing import trace

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build" / "dev" / "bin"
BINARIES = pathlib.Path(os.environ.get("WEFT_BIN", BUILD))


def compile_text(text, folder):
    """The plan of a module; what the compiler says is the error."""
    source, plan = folder / "program.mlir", folder / "program.plan"
    source.write_text(text)
    done = subprocess.run([BINARIES / "shard-compile", source, "-o", plan], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return plan


def evaluate(fn, *args, **options):
    """fn(*args) on one rank, or on those of a mesh: a tree of NumPy arrays."""
    program = trace(fn, args, **options)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plan = compile_text(program.text, folder)
        command = [BINARIES / "shard-run", plan, "--steps", "1", "--quiet"]
        for i, ((path, spec), leaf) in enumerate(zip(program.inputs, tree.leaves(args))):
            np.save(folder / f"in{i}.npy", np.asarray(leaf, spec.dtype))
            command += ["--input", f"{path}={folder}/in{i}.npy"]
        for i, (path, _) in enumerate(program.outputs):
            command += ["--output", f"{path}={folder}/out{i}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        leaves = [np.load(folder / f"out{i}.npy") for i in range(len(program.outputs))]
    return program.out_tree.unflatten(leaves)
