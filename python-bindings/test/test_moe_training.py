# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with experts train under every parallelism as on one device, and tokens move by
all-to-alls whose bytes are what the formula says."""

import dataclasses
import functools
import math

import numpy as np
import pytest
import running
from moe_models import MODELS, SEQUENCE_WAYS, WAYS, Way
from staged_models import cut_behind
from tiny_models import adamw
from traffic import UNIFORM, traffic

import weft
from weft import P, nn, tree

STEPS, ROWS = 6, 16
TOLERANCE = 1e-5


@functools.cache
def state_of(name):
    return MODELS[name].state(adamw())


@functools.cache
def on_one_device(name, microbatches=1):
    return running.train(MODELS[name].train_step(adamw(), microbatches=microbatches), state_of(name),
                         MODELS[name].batches(STEPS, ROWS))


def options_of(name, way, state, **mesh):
    model = MODELS[name]
    way = dataclasses.replace(way, mesh=mesh | way.mesh)
    layout = way.layout(model.params(), model.config)
    return {"layout": layout, "in_shardings": way.in_shardings(layout, state)}


def assert_same(found, wanted):
    """Losses, and parameters by their largest elements."""
    np.testing.assert_allclose(found[0], wanted[0], rtol=TOLERANCE)
    pairs = zip(tree.flatten_with_paths(found[1]["params"], "")[0], tree.leaves(wanted[1]["params"]), strict=True)
    far = {path: distance for (path, a), b in pairs
           if not (distance := np.abs(a - b).max() / np.abs(b).max()) < TOLERANCE}
    assert not far


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, way", [
    *((name, way) for name in ("mixtral", "switch") for way in WAYS),
    *(("shared", way) for way in ("ep4", "dp", "dp+ep2+tp")),
    *(("dropless", way) for way in ("dp", "tp", "dp+tp", "ep4")), ("bounded", "ep4"), ("bounded", "dp+ep2+tp"),
    *(("grouped", way) for way in (*SEQUENCE_WAYS, "ep4"))])
def test_ways(name, way):
    model, way = MODELS[name], (WAYS | SEQUENCE_WAYS)[way]
    found = running.train(model.train_step(adamw()), state_of(name), model.batches(STEPS, ROWS),
                          **options_of(name, way, state_of(name)))
    assert_same(found, on_one_device("dropless" if name == "bounded" else name))


@pytest.mark.parametrize("way", ["dp", "tp", "dp+tp"])
def test_what_is_not_dropped_stays_where_it_is(way):
    """Without a capacity no token moves: gradients are reduced, and the partial sums of hidden features."""
    found, _ = of_a_layer("dropless", WAYS[way])
    assert {kind for kind, _ in found} == {"all_reduce"}


PIPELINES = {
    "pp+ep2": ("mixtral", WAYS["ep2"], "1f1b"),
    "pp+ep4": ("switch", WAYS["ep4"], "zb-h1"),
    "pp+dp+ep2": ("mixtral", WAYS["dp+ep2"], "1f1b"),
    "pp+ep2+tp": ("shared", WAYS["ep2+tp"], "zb-h1"),
    "pp+dp, dropless": ("dropless", WAYS["dp"], "1f1b"),
}


@pytest.mark.parametrize("case", PIPELINES)
def test_pipelines(case):
    """Each block is a stage; losses that balance experts go along."""
    name, way, schedule = PIPELINES[case]
    model = MODELS[name]
    found = running.train(model.train_step(adamw(), cut_behind({0}), 4), state_of(name),
                          model.batches(STEPS, ROWS), pipeline=weft.Pipeline("pipe", schedule),
                          **options_of(name, way, state_of(name), pipe=2))
    assert_same(found, on_one_device(name, 4))


# ===----------------------------------------------------------------------===
# What is sent
# ===----------------------------------------------------------------------===


def plan_of(name, way, layers, is_bare):
    model = MODELS[name]
    model = dataclasses.replace(model, config=dataclasses.replace(model.config, layers=layers))
    optimizer, params = weft.optim.adamw(1e-3), model.params()
    state = {"params": params, "optimizer": weft.eval_shape(optimizer.init, params)}
    layout = way.layout(params, model.config)
    if is_bare:
        layout.activations.clear()
    batch = tree.map(lambda steps: steps[0], model.batches(1, ROWS))
    return weft.jit(model.train_step(optimizer), layout=layout, in_shardings=way.in_shardings(layout, state),
                    donate_argnums=0).lower(state, batch).compile(
                        None, combine_collectives=False, cluster=UNIFORM), model.config


def of_a_layer(name, way, is_bare=False):
    """What a layer adds to a step, by kind and axes."""
    one, _ = plan_of(name, way, 1, is_bare)
    two, config = plan_of(name, way, 2, is_bare)
    one, two = traffic(one), traffic(two)
    added = {key: (two[key].count - one.get(key, (0, 0))[0], two[key].bytes - one.get(key, (0, 0))[1]) for key in two}
    return {key: value for key, value in added.items() if value[0]}, config


def slots_bytes(config, way):
    """Of the slots of all experts for the groups of a rank, of the other ranks: what an all-to-all sends."""
    time = config.group_size or config.context
    slots = min(time, math.ceil(time * config.top_k * config.capacity / config.experts))
    ways = math.prod(way.mesh[axis] for axis in (*way.batch, *([way.sequence] if way.sequence else [])))
    groups = ROWS * config.context // time // ways
    n = way.mesh[way.expert]
    return (n - 1) / n * config.experts * groups * slots * config.width * 4


# Groups of a row are for what is split along time.
EXPERT_CASES = [(name, way) for name in ("mixtral", "switch", "shared") for way in WAYS if WAYS[way].expert]
EXPERT_CASES += [("grouped", way) for way in SEQUENCE_WAYS]


@pytest.mark.parametrize("name, way", EXPERT_CASES)
def test_tokens_move_by_all_to_alls(name, way):
    """Two forward and two backward; over the axis of experts nothing else but the gradients of parameters
    that its ranks share, and what one number sums up."""
    way = (WAYS | SEQUENCE_WAYS)[way]
    found, config = of_a_layer(name, way)
    moved = {axes: value for (kind, axes), value in found.items() if kind == "all_to_all"}
    assert moved == {(way.expert,): (4, 4 * slots_bytes(config, way))}
    others = {kind for kind, axes in found if way.expert in axes} - {"all_to_all"}
    if way.tp != way.expert and way.sequence != way.expert:
        assert others == {"all_reduce"}
        shared = sum(leaf.nbytes for path, leaf in tree.flatten_with_paths(MODELS[name].params()["blocks"][0], "")[0]
                     if "experts" not in path)
        sent = sum(bytes_ for (kind, axes), (_, bytes_) in found.items()
                   if kind == "all_reduce" and way.expert in axes)
        assert sent <= 2 * shared + 64


@pytest.mark.parametrize("name, way", [
    ("mixtral", "ep4"), ("mixtral", "ep8"), ("switch", "ep8"), ("mixtral", "dp+ep4"), ("switch", "dp+ep2")])
def test_shardings_of_experts_and_batch_are_enough(name, way):
    """Without words on activations they follow by cost."""
    found, config = of_a_layer(name, WAYS[way], is_bare=True)
    moved = {axes: value for (kind, axes), value in found.items() if kind == "all_to_all"}
    assert moved == {("expert",): (4, 4 * slots_bytes(config, WAYS[way]))}


def test_tokens_move_while_the_shared_expert_computes():
    """A matmul of it hides each of the two exchanges of the forward pass."""
    width, hidden, shape = 512, 2048, functools.partial(weft.ShapeDtypeStruct, dtype="float32")
    params = {"router": shape((width, 8)), "experts": {"up": shape((8, width, hidden)), "down": shape((8, hidden, width))},
              "shared": {"up": shape((width, hidden)), "down": shape((hidden, width))}}

    def step(params, x):
        def loss(params):
            y, _ = nn.moe(x, params["router"], params["experts"], shared=params["shared"])
            return ((x + y) ** 2).mean()

        value, gradients = weft.value_and_grad(loss)(params)
        return tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    specs = {"router": P(), "experts": P("expert"), "shared": P()}
    plan = weft.jit(step, mesh=weft.Mesh((8,), ("expert",)), in_shardings=(specs, P("expert")), donate_argnums=0).lower(
        params, shape((16, 512, width))).compile(None)
    steps = plan.as_text("plan").splitlines()
    for number, n in ((0, hidden), (1, width)):
        begin, end = (next(i for i, line in enumerate(steps) if f"{word} #{number} " in line)
                      for word in ("comm start", "wait"))
        assert "all_to_all" in steps[begin]
        assert [line for line in steps[begin:end] if "compute gemm" in line and f" m 1024 n {n} " in line]
