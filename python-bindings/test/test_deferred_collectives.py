# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks with several stages gather the parameters of those that begin late (UNSHARD), and reduce the
gradients of those that are done (REDUCE_GRAD), while they compute for the others; what a pass gathers
first they gather one action ahead (UNSHARD_F, UNSHARD_B): no bit of a training step changes, on ranks
of the host and on a device."""

import functools
import pathlib
import re
import subprocess

import numpy as np
import pytest
import running
from staged_models import MODELS, cut_behind, equal_bits
from test_pipelines import CUTS, layout_of, optimizer_of, state_of

import weft
from weft import _runtime, tree

STEPS, MICROBATCHES = 3, 4
MERGED, SPLIT = ("interleaved-1f1b", "looped-bfs"), ("zb-v", "dualpipev")
# Data parallelism, with parameters in shards that are gathered once a step or in each pass.
WAYS = {"dp": ("dp", "use"), "fsdp": ("fsdp", "step"), "fsdp in passes": ("fsdp", "use")}
EMULATOR = pathlib.Path(_runtime.__file__).parents[2] / "emulator/lib"


@functools.cache
def lowered(name, way, schedule=None):
    """The model's training step on 2 ranks of 2 stages each, or without a pipeline, with data
    parallelism over 2 ranks inside."""
    model, state = MODELS[name], state_of(name)
    way, gather = WAYS[way]
    layout, way = layout_of(way, model.params(), 2 if schedule else 0, gather=gather)
    step = weft.jit(model.train_step(optimizer_of(name), cut_behind(CUTS), MICROBATCHES), donate_argnums=0,
                    layout=layout, in_shardings=way.in_shardings(layout, state),
                    pipeline=weft.Pipeline("pipe", schedule) if schedule else None)
    return step.lower(state, tree.map(lambda steps: steps[0], batches(name)))


@functools.cache
def batches(name):
    return MODELS[name].batches(STEPS, 2 * MICROBATCHES)


@functools.cache
def trained(name, way, schedule=None, target="cpu"):
    """Losses of some steps and the last state."""
    compiled, state = lowered(name, way, schedule).compile(target), state_of(name)
    losses = []
    for i in range(STEPS):
        state, loss = compiled(state, tree.map(lambda steps, i=i: steps[i], batches(name)))
        losses.append(float(loss))
    return losses, tree.map(np.array, state)


def deferred(text):
    """The segments of a plan that go on beside others."""
    return [entry.split('"')[0] for entry in text.split('entry "')[1:] if "deferred from" in entry]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["gpt", "untied gpt"])
@pytest.mark.parametrize("schedule", [*MERGED, *SPLIT])
def test_bits_are_those_without_a_pipeline(name, way, schedule):
    equal_bits(trained(name, way, schedule), trained(name, way))


@pytest.mark.parametrize("way, kind", [("dp", "REDUCE_GRAD"), ("fsdp", "UNSHARD")])
def test_each_rank_has_one_for_its_second_stage(tmp_path, way, kind):
    """And the certificate of the plan knows of them."""
    for schedule in (*MERGED, *SPLIT):
        compiled = lowered("untied gpt", way, schedule).compile()
        stages = sorted(name.split(".")[-1] for name in deferred(compiled.as_text()) if name.endswith(kind))
        assert stages == [f"2{kind}", f"3{kind}"], schedule
        assert all(stage.parameters > 0 for stage in compiled.stages()), schedule
        compiled.save(tmp_path / "x.plan")
        check = subprocess.run([running.BINARIES / "shard-sim", "check", tmp_path / "x.plan"], capture_output=True,
                               text=True)
        assert check.returncode == 0 and "safe" in check.stdout, check.stdout + check.stderr
    assert not deferred(lowered("untied gpt", way).compile().as_text())


@pytest.mark.parametrize("recomputation", ["none", "full"])
def test_gathers_of_passes(recomputation):
    """What both passes need is gathered once, and so are biases that the forward pass alone takes; what is recomputed for
    each micro-batch, of which no more than one has it."""
    plan = weft.models.gpt(layers=4, hidden=64, heads=4, vocabulary=128, sequence=16, data=2, sharded="fsdp", pipeline=2,
                           global_batch=16, recomputation=recomputation).lower().compile()
    kinds = {name.split(".")[-1].lstrip("0123456789") for name in deferred(plan.as_text())}
    assert kinds == ({"UNSHARD_F", "UNSHARD_B"} if recomputation == "full" else {"UNSHARD_F"})
    text = plan.as_text("spmd")
    slots = {int(slots) for slots in re.findall(r'weft.name = "[^"]*UNSHARD[^"]*", weft.slots = (\d+)', text)}
    assert slots <= {1}
    gathers = {name: text.split(f"@train_step.{name}(")[1].split("func.func")[0].count(" = weft.all_gather")
               for name in ("0P0", "0B")}
    assert gathers["0B"] > 5 * gathers["0P0"] if recomputation == "full" else gathers["0P0"] > 0 == gathers["0B"]


@pytest.mark.sampled(2)
@pytest.mark.skipif(not (EMULATOR / "libcublasLt.so.13").exists(),
                    reason="no emulated device was built; it needs the CUDA toolkit")
@pytest.mark.filterwarnings("ignore:.*the driver compiled the plan's PTX", "ignore:.*not by cuDNN")
@pytest.mark.parametrize("way", ["fsdp", "fsdp in passes"])
@pytest.mark.parametrize("schedule, other", [*((name, None) for name in MERGED), SPLIT])
def test_bits_on_a_device(schedule, other, way, monkeypatch):
    """Schedules with weight gradients apart have the bits of each other: what the others sum in
    GEMMs' epilogues, they sum in kernels."""
    monkeypatch.setenv("WEFT_CUDA_LIBRARIES", str(EMULATOR))
    monkeypatch.setenv("WEFT_CUDA_TUNE", "off")
    found, wanted = (trained("gpt", way, each, "cuda:sm_90") for each in (schedule, other))
    equal_bits(found, wanted)
    np.testing.assert_allclose(found[0], trained("gpt", way)[0], rtol=1e-5)
