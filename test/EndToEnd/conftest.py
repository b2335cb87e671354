# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example compiled and trained once a mesh, for all tests of the session."""

import contextlib
import dataclasses
import fcntl
import functools
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "mlp_lm"
sys.path[:0] = [str(EXAMPLE), str(ROOT / "test")]

import batches  # noqa: E402
import compare  # noqa: E402
import launchers  # noqa: E402
import reference  # noqa: E402
from few_collections import pytest_collection_finish  # noqa: E402, F401

# Enough to learn more than the frequencies of bytes.
STEPS = 120

# Layout -> (source, mesh).
LAYOUTS = {
    "one-device": ("mlp_lm.mlir", "data=1,model=1"),
    "data": ("mlp_lm.mlir", "data=4"),
    "model": ("mlp_lm.mlir", "model=4"),
    "data-model": ("mlp_lm.mlir", "data=2,model=2"),
    "fsdp": ("mlp_lm_fsdp.mlir", "data=4"),
}


def pytest_addoption(parser):
    parser.addoption("--sequences", type=int, default=150,
                     help="random sequences of passes to run (test_pass_sequences.py)")
    parser.addoption("--first-seed", type=int, default=0,
                     help="seed of the first sequence or graph")
    parser.addoption("--graphs", type=int, default=10,
                     help="random graphs to solve exactly (test_optimum.py)")


def binaries():
    """The folder with the tools: $WEFT_BIN, or the newest build."""
    if "WEFT_BIN" in os.environ:
        return pathlib.Path(os.environ["WEFT_BIN"])
    built = [tool for preset in ("release", "dev")
             if (tool := ROOT / "build" / preset / "bin" / "shard-compile").exists()]
    if not built:
        pytest.exit("no build of shard-compile; run scripts/test.sh", returncode=1)
    return max(built, key=lambda tool: tool.stat().st_mtime).parent


def tool(name, *arguments):
    """Runs a tool to its end; a failure keeps its output for the test."""
    return subprocess.run([binaries() / name, *map(str, arguments)], cwd=ROOT,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=300)


def succeed(name, *arguments):
    run = tool(name, *arguments)
    assert run.returncode == 0, f"{name} {arguments}\n{run.stdout}{run.stderr}"
    return run


@dataclasses.dataclass
class Training:
    """What a run leaves behind."""
    losses: np.ndarray
    states: dict


class Workshop:
    """Makes plans and runs in one folder, each once, whichever process of the session is the first
    to want it."""

    def __init__(self, folder):
        self.folder = folder
        text = batches.load_text(batches.DEFAULT_TEXT)
        self.x, self.y = batches.cut_batches(text, STEPS, seed=0)
        with self.first("batches") as is_first:
            if is_first:
                np.save(folder / "x.npy", self.x)
                np.save(folder / "y.npy", self.y)

    @contextlib.contextmanager
    def first(self, name):
        """Whether nobody has made this; others wait meanwhile."""
        made = self.folder / f"{name}.made"
        with open(self.folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield not made.exists()
            made.touch()

    @functools.cache
    def plan(self, layout, copy=0):
        source, mesh = LAYOUTS[layout]
        path = self.folder / f"{layout}-{copy}.plan"
        with self.first(path.name) as is_first:
            if is_first:
                succeed("shard-compile", EXAMPLE / source, "--mesh", mesh, "-o", path)
        return path

    @functools.cache
    def training(self, layout, copy=0, steps=STEPS):
        name = f"{layout}-{copy}-{steps}"
        metrics, states = (self.folder / f"{name}.{suffix}" for suffix in ("csv", "safetensors"))
        with self.first(states.name) as is_first:
            if is_first:
                succeed("shard-run", self.plan(layout), "--init", "init",
                        "--entry", "train_step", "--steps", steps,
                        "--input", f"x={self.folder / 'x.npy'}",
                        "--input", f"y={self.folder / 'y.npy'}",
                        "--metrics", metrics, "--save", states)
        return Training(compare.read_losses(metrics), load_file(states))

    @functools.cache
    def reference(self):
        losses, states = reference.train(self.x, self.y, STEPS)
        return Training(np.array(losses, np.float64), states)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= "mlp_lm"
    folder.mkdir(exist_ok=True)
    return Workshop(folder)


@pytest.fixture(params=launchers.COMMANDS)
def mpirun(request):
    return launchers.mpirun(request.param, binaries())


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param
