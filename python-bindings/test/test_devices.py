# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes on devices in another order: the same numbers, on other ranks, at other prices."""

import dataclasses

import numpy as np
import pytest

import weft
from weft import Mesh, NamedSharding, P
from weft.simulation import simulate

TINY = dict(layers=2, hidden=16, heads=4, vocabulary=32, sequence=8, dtype="float32", global_batch=8)


def on(mesh, step):
    """The step of a model on another mesh of the same axes."""
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Elsewhere(type(step.parallelism)):
        def mesh(self):
            return mesh

    fields = {f.name: getattr(step.parallelism, f.name) for f in dataclasses.fields(step.parallelism)}
    return dataclasses.replace(step, parallelism=Elsewhere(**fields))


def trained(step):
    """Losses and parameters after three steps."""
    random = np.random.default_rng(1)
    state = weft.tree.map(lambda leaf: (random.normal(0, 0.1, leaf.shape) ** 2).astype(leaf.dtype)
                          if leaf.dtype == np.float32 else np.zeros(leaf.shape, leaf.dtype), step.state())
    batch = weft.tree.map(lambda leaf: random.integers(0, 32, leaf.shape).astype(leaf.dtype), step.batch())
    program, losses = step.lower().compile(), []
    for _ in range(3):
        state, loss = program(state, batch)
        losses.append(float(loss))
    return losses, [np.asarray(leaf) for leaf in weft.tree.leaves(state["params"])]


@pytest.mark.parametrize("settings", [
    dict(data=2, tensor=2, sequence_parallel=True, sharded="zero1"),
    dict(data=2, context=2, sharded="fsdp", recomputation="full"),
    dict(data=2, tensor=2, pipeline=2, micro_batch=2),
], ids=["tensor", "ring", "pipeline"])
def test_numbers_do_not_depend_on_devices(settings):
    step = weft.models.gpt(**TINY, **settings)
    losses, params = trained(step)
    usual = step.parallelism.mesh()
    for devices in (usual.devices.ravel()[::-1], np.roll(usual.devices.ravel(), 1)):
        mesh = usual.update(devices=devices.reshape(usual.axis_sizes))
        other_losses, other_params = trained(on(mesh, step))
        np.testing.assert_array_equal(other_losses, losses)
        for one, other in zip(params, other_params, strict=True):
            np.testing.assert_array_equal(other, one)


def test_a_rank_is_the_device_of_its_number():
    mesh = Mesh([[3, 1], [0, 2]], ("x", "y"))
    sharding = NamedSharding(mesh, P("x", "y"))
    program = weft.jit(lambda a: a * 2, mesh=mesh, in_shardings=sharding, out_shardings=sharding)
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    compiled = program.lower(weft.ShapeDtypeStruct((4, 4), "float32")).compile()
    np.testing.assert_array_equal(compiled(values), values * 2)
    session, entry = compiled.session(), compiled.entry
    session.set_input(entry.name, entry.inputs[0].name, values)
    session.run(entry.name)
    for rank, shard in enumerate(session.shards(entry.outputs[0].name)):
        np.testing.assert_array_equal(shard, (values * 2)[sharding.devices_indices_map((4, 4))[rank]])


def test_a_mesh_in_order_says_nothing():
    def text(mesh):
        return weft.jit(lambda a: a * 2, mesh=mesh, in_shardings=P("x")).lower(
            weft.ShapeDtypeStruct((4,), "float32")).as_text()

    assert text(Mesh([0, 1, 2, 3], "x")) == text(Mesh((4,), "x"))
    assert "weft.devices" not in text(Mesh((4,), "x"))
    assert "{weft.devices = array<i64: 1, 0, 3, 2>}" in text(Mesh([1, 0, 3, 2], "x"))


# What it costs

ORDER = np.arange(16)


def tensor_parallel(devices):
    """A step of two replicas of eight ranks each, on two nodes."""
    sizes = TINY | dict(hidden=1024, heads=8, sequence=512, vocabulary=1024)
    step = weft.models.gpt(**sizes, data=2, tensor=8)
    mesh = step.parallelism.mesh().update(devices=np.reshape(devices, (2, 8)))
    return simulate(on(mesh, step).lower().compile(None, cluster="dgx-h100"), "dgx-h100")


def communication(step):
    return {each["axes"]: each["exposed_seconds"] + each["hidden_seconds"] for each in step["roles"][0]["communication"]}


def test_the_axis_within_nodes_is_the_fast_one():
    usual, transposed = tensor_parallel(ORDER), tensor_parallel(ORDER.reshape(8, 2).T)
    assert transposed["step_seconds"] > 1.1 * usual["step_seconds"]
    assert communication(transposed)["tensor"] > 1.2 * communication(usual)["tensor"]
    assert communication(transposed)["data"] < 0.5 * communication(usual)["data"]
    # Reshards are chosen for where ranks lie: less leaves a node than twice as much, where the plan
    # of the usual order sends 2.8 times as much.
    in_node, above = (step["roles"][0]["sent_bytes"][1] for step in (usual, transposed))
    assert in_node < above < 2 * in_node


def test_one_device_elsewhere_makes_all_groups_wait():
    usual, swapped = tensor_parallel(ORDER), ORDER.copy()
    swapped[[3, 12]] = swapped[[12, 3]]
    assert tensor_parallel(swapped)["step_seconds"] > usual["step_seconds"]
    # Within nodes, and of nodes, any order is the same.
    assert tensor_parallel(ORDER[::-1])["step_seconds"] == usual["step_seconds"]


def test_scaling_keeps_the_order():
    step = weft.models.gpt(**TINY | dict(global_batch=16, data=16, tensor=4))
    compiled = on(step.parallelism.mesh().update(devices=np.arange(64).reshape(4, 16).T), step).lower().compile(
        None, cluster="dgx-h100")
    rows = simulate(compiled, "dgx-h100", scale=("data", [8, 16, 32, 64]))["scale"]
    assert [row["devices"] for row in rows] == [32, 64, 128, 256]
    same = simulate(compiled, "dgx-h100")
    assert rows[1]["step_seconds"] == same["step_seconds"]


def test_pipelines_cross_the_nodes_that_their_stages_lie_on():
    step = weft.models.gpt(**TINY | dict(global_batch=16, data=8, pipeline=2, hidden=256, sequence=256))
    times = {}
    for name, devices in {"nodes": np.arange(16).reshape(2, 8), "neighbours": np.arange(16).reshape(8, 2).T}.items():
        found = simulate(on(step.parallelism.mesh().update(devices=devices), step).lower().compile(
            None, cluster="dgx-h100"), "dgx-h100")
        times[name] = communication(found)
    assert times["neighbours"]["pipeline"] < times["nodes"]["pipeline"]
