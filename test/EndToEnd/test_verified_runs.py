# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shard-run --verify: a training step is compared with one device, value by value."""

import pytest

from conftest import EXAMPLE, succeed, tool

MESH = ("--mesh", "data=2,model=2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A plan that was made to be verified, its reference, its SPMD program, and a step's input."""
    folder = tmp_path_factory.mktemp("verify")
    source = EXAMPLE / "mlp_lm.mlir"
    succeed("shard-compile", source, *MESH, f"--reference={folder}/reference.plan", "-o", folder / "model.plan")
    succeed("shard-compile", source, *MESH, f"--reference={folder}/same.plan", "--emit=spmd", "-o", folder / "spmd.mlir")
    return folder


@pytest.fixture(scope="module")
def inputs(workshop, folder):
    return [word for name in "xy" for word in ("--input", f"{name}={workshop.folder}/{name}.npy")]


def verify(folder, inputs, plan, *more, reference="reference.plan"):
    return tool("shard-run", folder / plan, "--verify", folder / reference, "--init", "init", *inputs, *more)


def test_right(folder, inputs):
    run = verify(folder, inputs, "model.plan")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "values of entry train_step on 4 ranks: all right; the largest error is " in run.stdout
    assert (folder / "reference.plan").read_bytes() == (folder / "same.plan").read_bytes()


def test_states_of_a_run(folder, inputs, tmp_path):
    """States come from a file as well."""
    succeed("shard-run", folder / "model.plan", "--init", "init", *inputs, "--save", tmp_path / "states.safetensors")
    run = tool("shard-run", folder / "model.plan", "--verify", folder / "reference.plan", "--load",
               tmp_path / "states.safetensors", *inputs)
    assert run.returncode == 0 and ": all right; " in run.stdout, run.stdout + run.stderr


def test_wrong(folder, inputs):
    text = (folder / "spmd.mlir").read_text()
    line = next(line for line in text.split("\n") if "weft.all_reduce" in line and '{"data"}> {' in line)
    (folder / "faulty.mlir").write_text(text.replace(line, line.replace('over <@mesh, {"data"}>', 'over <@mesh, {"model"}>')))
    succeed("shard-compile", folder / "faulty.mlir", "-o", folder / "faulty.plan")
    run = verify(folder, inputs, "faulty.plan")
    assert run.returncode == 1
    first, moved, ranks, at, differing = run.stdout.split("\n")[:5]
    assert first.endswith("on 4 ranks: 7 are wrong")  # what the collective was combined of
    assert moved.startswith('  moved: partial sums over {"data"} of ')
    assert ranks.startswith("    on ") and at.startswith("    at [") and "; error " in at and ", bound " in at
    assert differing == '    copies differ along "data"'


def test_bad_input(folder, inputs):
    succeed("shard-compile", EXAMPLE / "mlp_lm.mlir", *MESH, "-o", folder / "usual.plan")
    for plan, reference, more, message in (
            ("usual.plan", "reference.plan", (), '--verify: entry "train_step" of the plan was not made to be verified; '
                                                 "compile it with --reference=FILE"),
            ("model.plan", "usual.plan", (), '--verify: the reference is of another program: it has no entry "train_step" '
                                             "for one device"),
            ("model.plan", "none.plan", (), "none.plan"),
            ("model.plan", "reference.plan", ("--steps", "2", "--save", "x"), "--verify runs one step and writes nothing: "
                                                                             "leave out --s")):
        run = verify(folder, inputs, plan, *more, reference=reference)
        assert run.returncode == 2 and message in run.stderr, run.stderr
    run = tool("shard-run", folder / "model.plan", "--verify", folder / "reference.plan", "--init", "init")
    assert run.returncode == 2 and 'input "x"' in run.stderr and "is missing" in run.stderr


def test_of_a_graph_alone(folder):
    run = tool("shard-compile", folder / "spmd.mlir", f"--reference={folder}/other.plan", "-o", folder / "other2.plan")
    assert run.returncode == 1 and "is a form before it; give the model instead" in run.stderr
    run = tool("shard-compile", EXAMPLE / "mlp_lm.mlir", f"--reference={folder}", "-o", folder / "other2.plan")
    assert run.returncode == 1 and "is a folder" in run.stderr
