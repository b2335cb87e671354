# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random training steps as pipelines: random cuts, schedules, tables, meshes and shardings change
no bit of what the plan without a pipeline computes.

Half as many as random functions, of which one takes half the time:

    pytest python-bindings/test/test_random_pipelines.py --functions 2800 --first-function 1000
"""

import dataclasses
import random

import numpy as np
import test_random_microbatches as steps

import weft
from weft import tree

# What is inside a stage.
INNER = [{}, {}, {}, {"data": 2}, {"model": 2}, {"data": 3}, {"data": 2, "model": 2}]
# Layers that have no parameter: a stage of those alone is refused.
EMPTY = {"captured", "dropout", "mask", "skip", "stopped"}
STEPS = 2


@dataclasses.dataclass(frozen=True)
class Case:
    program: steps.Program
    cuts: frozenset[int]
    ranks: int
    pipe_first: bool
    schedule: str
    # Of a random table.
    csv: str
    donated: bool
    keeps_gradients: bool


def random_table(r, ranks, stages, microbatches):
    """A valid table with any stages on each rank, passes in any order that their inputs allow, and
    backward passes whole or in halves, a stage."""
    places = [rank for rank in range(ranks) for _ in range(stages // ranks)]
    r.shuffle(places)
    halves = [r.random() < 0.5 for _ in range(stages)]
    rows = [[] for _ in range(ranks)]
    done = {}

    def ready(stage, kind):
        number = done.get((stage, kind), 0)
        if number == microbatches:
            return False
        last = "I" if stage + 1 < stages and halves[stage + 1] else "B"
        needed = {"F": [(stage - 1, "F")] if stage else [],
                  "W": [(stage, "I")]}.get(kind, [(stage, "F")] + ([(stage + 1, last)] if stage + 1 < stages else []))
        return all(done.get(one, 0) > number for one in needed)

    passes = [(stage, kind) for stage in range(stages) for kind in ("FIW" if halves[stage] else "FB")]
    while candidates := [one for one in passes if ready(*one)]:
        stage, kind = one = r.choice(candidates)
        rows[places[stage]].append(f"{stage}{kind}{done.get(one, 0)}")
        done[one] = done.get(one, 0) + 1
    return "\n".join(",".join(row) for row in rows) + "\n"


def admitted(ranks, chunks, microbatches):
    """The published schedules for a pipeline."""
    for name in weft.pipeline.schedule_names():
        try:
            weft.pipeline.schedule(name, ranks, microbatches, chunks=chunks)
        except ValueError:
            continue
        yield name


def case(seed):
    r = random.Random(f"pipeline {seed}")
    program = steps.program(seed)
    ranks, chunks = r.choice([(2, 1), (2, 1), (2, 2), (3, 1), (4, 1), (2, 3), (1, 2)])
    layers = r.choices([*steps.LAYERS, "skip", "stopped"], k=r.randint(ranks * chunks, ranks * chunks + 3))
    cuts = frozenset(r.sample(range(1, len(layers)), ranks * chunks - 1))
    # The first stage has the embedding and the last one the head.
    begins = sorted(cuts)
    for begin, end in zip(begins, begins[1:], strict=False):
        if set(layers[begin:end]) <= EMPTY:
            layers[begin] = "mlp"
    program = dataclasses.replace(
        program, layers=tuple(layers), calls=1, mesh=r.choice(INNER),
        dtype=r.choice(["float32", "float32", "bfloat16", "float64"]), n=r.choice([2, 3, 4, 6, 8]))
    names = list(admitted(ranks, chunks, program.n))
    schedule = r.choice([*names, "random"])
    csv = random_table(r, ranks, ranks * chunks, program.n) if schedule == "random" else ""
    return Case(program, cuts, ranks, r.random() < 0.7, schedule, csv, r.random() < 0.6, r.random() < 0.3)


def step_of(one):
    program = one.program

    def boundary(x, index):
        return weft.stage_boundary(x) if index in one.cuts else x

    value_and_grad = weft.value_and_grad(steps.loss_of(program, boundary), has_aux=program.has_aux)
    rule = {"none": weft.optim.sgd(0.1),
            "clipped": weft.optim.chain(weft.optim.clip_by_global_norm(0.1), weft.optim.sgd(0.5)),
            "adamw": weft.optim.adamw(0.01)}[program.update]

    def step(state, batch):
        value, gradients = weft.microbatches(value_and_grad, program.n, dtype=program.sum_dtype)(
            state["params"], batch)
        updates, moments = rule.update(gradients, state["optimizer"], state["params"])
        params = weft.optim.apply_updates(state["params"], updates)
        moments = tree.map(lambda new, old: new.astype(old.dtype), moments, state["optimizer"])
        state = {"params": params, "optimizer": moments, "step": state["step"] + 1}
        return state, value, gradients if one.keeps_gradients else None

    return step, rule


def run(one, seed, pipeline):
    step, rule = step_of(one)
    params, batch = steps.arrays(one.program, seed)
    state = {"params": params, "step": np.int32(0),
             "optimizer": steps.call(rule.init, params)}
    inner = {} if one.program.mesh is None else one.program.mesh
    program = dataclasses.replace(one.program, mesh=inner)
    options = steps.options(program, params, batch)
    specs = options.pop("in_shardings", None)
    mesh = dict(inner)
    if pipeline:
        mesh = {"pipe": one.ranks, **inner} if one.pipe_first else {**inner, "pipe": one.ranks}
        options["pipeline"] = weft.Pipeline("pipe", weft.pipeline.table(one.csv) if one.csv else one.schedule)
    options.pop("out_shardings", None)
    if mesh:
        options["mesh"] = weft.Mesh(tuple(mesh.values()), tuple(mesh))
    if specs:
        of_state = {"params": specs[0], "step": None, "optimizer": None}
        options |= {"in_shardings": (of_state, specs[1]), "out_shardings": (of_state, None, None)}
    if one.donated:
        options["donate_argnums"] = 0
    compiled = weft.jit(step, **options).lower(*tree.map(
        lambda x: weft.ShapeDtypeStruct(x.shape, x.dtype), (state, batch))).compile()
    found = []
    for number in range(STEPS):
        state, *results = compiled(state, tree.map(lambda x, n=number: np.roll(x, n, axis=0), batch))
        found.append(tree.map(np.array, results))
    return found, tree.map(np.array, state)


def check(seed):
    one = case(seed)
    found, wanted = run(one, seed, True), run(one, seed, False)
    for (path, a), (_, b) in zip(*(tree.flatten_with_paths(x, "")[0] for x in (found, wanted)), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{seed}: {one}: {path}: {a.dtype} {b.dtype}"
        assert a.tobytes() == b.tobytes(), (
            f"{seed}: {one}: {path}: {np.abs(np.float64(a) - np.float64(b)).max()}")


def test_random_pipelines(pytestconfig):
    first, count = pytestconfig.getoption("--first-function"), pytestconfig.getoption("--functions") // 2
    for seed in range(first, first + count):
        check(seed)


def test_reshards_that_stages_and_weight_gradients_share():
    """All-gathers of cotangents, which another stage waits for, and shards of which one stage needs
    the elements without padding."""
    for seed in (1152, 1263, 201896):
        check(seed)


def test_random_numbers_that_are_computed_from_each_other():
    """In so many ways that looking through all of them took minutes."""
    check(7100003)
