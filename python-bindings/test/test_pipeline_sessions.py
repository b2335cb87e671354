# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of pipelines as any other plan: saved, loaded, pickled, reported, traced, interrupted, and
resumed without a pipeline."""

import copy
import functools
import json
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from staged_models import equal_bits

import weft
import weft.numpy as wnp
from weft import P, tree

WIDTH, ROWS = 16, 16


def step(layers, n, stages):
    def loss(params, batch):
        x = batch["x"]
        for i, w in enumerate(params):
            x = x + wnp.tanh(x @ w)
            if (i + 1) % (layers // stages) == 0 and i + 1 < layers:
                x = weft.stage_boundary(x)
        return ((x - batch["y"]) ** 2).mean()

    def step(state, batch):
        value, gradients = weft.microbatches(weft.value_and_grad(loss), n)(state["params"], batch)
        norm = wnp.sqrt(sum((g * g).sum() for g in gradients))
        m = tree.map(lambda m, g: 0.9 * m + g / norm, state["m"], gradients)
        return {"params": tree.map(lambda p, m: p - 0.01 * m, state["params"], m), "m": m,
                "step": state["step"] + 1}, value

    return step


def arguments(layers, rows=ROWS):
    r = np.random.default_rng(0)
    params = [r.normal(size=(WIDTH, WIDTH)).astype(np.float32) * 0.3 for _ in range(layers)]
    batch = {name: r.normal(size=(rows, WIDTH)).astype(np.float32) for name in "xy"}
    return {"params": params, "m": tree.map(np.zeros_like, params), "step": np.int32(0)}, batch


@functools.cache
def compiled(schedule=None, ranks=2, layers=4, n=4, inner=(), rows=ROWS):
    """Schedules that need several stages a rank get two."""
    stages = ranks * (1 if schedule in ("1f1b", "zb-h1", "gpipe") else 2) if schedule else 1
    mesh = ({"pipe": ranks} if schedule else {}) | dict(inner)
    options = {"mesh": weft.Mesh(tuple(mesh.values()), tuple(mesh))} if mesh else {}
    if schedule:
        options["pipeline"] = weft.Pipeline("pipe", schedule)
    if inner:
        options |= {"in_shardings": (P(), P("data")), "out_shardings": P()}
    return weft.jit(step(layers, n, stages), donate_argnums=0, **options).lower(*arguments(layers, rows)).compile()


def run(function, state, batch, steps=3):
    losses = []
    for _ in range(steps):
        state, loss = function(state, batch)
        losses.append(np.array(loss))
    return tree.map(np.array, (state, losses))


@pytest.fixture(params=["1f1b", "zb-v"])
def plan(request):
    return compiled(request.param)


def test_copies_compute_the_same(plan, tmp_path):
    wanted = run(compiled(), *arguments(4))
    plan.save(tmp_path / "step.plan")
    for one in (plan, weft.load(tmp_path / "step.plan"), pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):
        equal_bits(run(one, *arguments(4)), wanted)
    assert weft.load(tmp_path / "step.plan").plan == plan.plan


def test_what_is_said_of_a_plan(plan):
    for form in ("graph", "sharded", "spmd", "schedule", "plan"):
        assert "1" in plan.as_text(form)
    memory = plan.memory()
    assert 0 < memory.parameters < memory.arena
    assert plan.cost().flops > 0 and plan.cost().gemms > 0
    assert "step" in plan.report() and plan.collectives() == []
    assert set(plan.donated) == {name for name in plan.input_shardings if name.startswith("state")}


def test_resumed_without_and_with_another_pipeline(tmp_path):
    """Half of the steps in one plan, the rest in another."""
    wanted = run(compiled(), *arguments(4), steps=6)
    plans = [compiled("1f1b"), compiled(), compiled("zb-h1", ranks=4), compiled("interleaved-zb"),
             compiled("gpipe", ranks=4, inner=(("data", 1),)), compiled()]
    state, batch = arguments(4)
    losses = []
    for one in plans:
        state, loss = one(state, batch)
        losses.append(np.array(loss))
    equal_bits((tree.map(np.array, state), losses), wanted)


def test_states_stay_in_sessions(plan):
    """A session keeps states on their roles; any of them can be read and set."""
    state, batch = arguments(4)
    wanted, _ = run(compiled(), state, batch, steps=4)
    session = plan.session()
    names = {path: leaf for path, leaf in tree.flatten_with_paths((state,), "")[0]}
    for info, leaf in zip(plan.plan.entries[0].inputs, tree.leaves((state, batch)), strict=True):
        session.set_input("step", info.name, leaf)
    for _ in range(2):
        session.run("step")
    kept = {info.name: session.state(info.name) for info in plan.plan.entries[0].inputs if info.is_state}
    assert len(kept) == len(names)
    other = plan.session()
    for info, leaf in zip(plan.plan.entries[0].inputs, tree.leaves((state, batch)), strict=True):
        if info.is_state:
            other.set_state(info.name, kept[info.name])
        else:
            other.set_input("step", info.name, leaf)
    assert other.unset_inputs("step") == []
    for _ in range(2):
        other.run("step")
    found = [other.state(name) for name in kept]
    equal_bits(found, tree.leaves(wanted))
    assert all(len(other.shards(name)) == plan.plan.ranks for name in kept)


def test_shards_are_kept_by_the_caller():
    for schedule, inner in (("1f1b", ()), ("zb-v", (("data", 2),))):
        state, batch = arguments(4)
        wanted = run(compiled(None, inner=inner), state, batch)
        losses = []
        for _ in range(3):
            state, loss = compiled(schedule, inner=inner).call_sharded(state, batch)
            losses.append(loss[0])
        equal_bits((tree.map(lambda shards: shards[-1], state), losses), wanted)


def test_traces(plan, tmp_path):
    session = plan.session(trace_runs=1)
    for info, leaf in zip(plan.plan.entries[0].inputs, tree.leaves(arguments(4)), strict=True):
        session.set_input("step", info.name, leaf)
    for _ in range(2):
        session.run("step")
    session.write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events if event["ph"] == "X"} == {0, 1}


def test_many_steps_on_many_ranks():
    for schedule, ranks, layers, inner in (("1f1b", 8, 8, ()), ("zb-h1", 8, 8, (("data", 2),)),
                                           ("interleaved-1f1b", 4, 8, (("data", 2),))):
        state, batch = arguments(layers)
        found = run(compiled(schedule, ranks, layers, 8, inner), state, batch, steps=40)
        equal_bits(found, run(compiled(None, 0, layers, 8, inner), state, batch, steps=40))


def test_no_thread_is_left():
    before = threading.active_count(), len(os.listdir("/proc/self/task"))
    for _ in range(3):
        session = compiled("1f1b", ranks=4).session()
        for info, leaf in zip(session.plan.entries[0].inputs, tree.leaves(arguments(4)), strict=True):
            session.set_input("step", info.name, leaf)
        session.run("step")
        del session
    assert (threading.active_count(), len(os.listdir("/proc/self/task"))) == before


def test_several_sessions_at_once():
    wanted = run(compiled(), *arguments(4), steps=10)
    found = []

    def train():
        found.append(run(pickle.loads(pickle.dumps(compiled("1f1b"))), *arguments(4), steps=10))

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        equal_bits(one, wanted)


def test_ctrl_c_and_on():
    """An interrupted step; the next call begins anew."""
    function = compiled("1f1b", rows=2**15, n=8)
    state, batch = arguments(4, 2**15)
    run(function, state, batch, steps=1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        end = time.monotonic() + 20
        with pytest.raises(KeyboardInterrupt):
            while time.monotonic() < end:
                function(state, batch)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    equal_bits(run(function, state, batch, steps=2), run(compiled(None, rows=2**15, n=8), state, batch, steps=2))
