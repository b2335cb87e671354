# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines of models with frozen parameters: a stage of those alone has a forward pass and no
backward pass, and adapters beside frozen layers train as they do without a pipeline."""

import numpy as np
import pytest
from staged_models import equal_bits

import weft
import weft.numpy as wnp

WIDTH, ROWS, N, LAYERS = 8, 16, 4, 4


def arrays():
    r = np.random.default_rng(3)
    normal = lambda *shape: (r.normal(size=shape) * 0.4).astype(np.float32)  # noqa: E731
    frozen = [normal(WIDTH, WIDTH) for _ in range(LAYERS)]
    trained = [normal(WIDTH, WIDTH) for _ in range(LAYERS)]
    return frozen, trained, normal(ROWS, WIDTH), normal(ROWS, WIDTH)


def adapted(frozen, adapter, x):
    """Low rank, as in LoRA."""
    return wnp.tanh(x @ frozen + x @ adapter[:, :2] @ adapter[:2])


# What a layer computes with its frozen and its trained parameter.
MODELS = {
    "frozen first": lambda i: (lambda f, t, x: wnp.tanh(x @ f)) if i == 0 else (lambda f, t, x: wnp.tanh(x @ t)),
    "frozen middle": lambda i: (lambda f, t, x: wnp.tanh(x @ f)) if i == 1 else (lambda f, t, x: wnp.tanh(x @ t)),
    "frozen last": lambda i: (lambda f, t, x: wnp.tanh(x @ f)) if i == 3 else (lambda f, t, x: wnp.tanh(x @ t)),
    "only the last trained": lambda i: ((lambda f, t, x: wnp.tanh(x @ t)) if i == 3
                                        else (lambda f, t, x: wnp.tanh(x @ f))),
    "adapters": lambda i: adapted,
}


def train(name, pipeline=None, ranks=0, cuts=(0, 1, 2), steps=3):
    frozen, trained, x, y = arrays()

    def step(trained, frozen, x, y):
        def loss(trained, x, y):
            for i, (f, t) in enumerate(zip(frozen, trained, strict=True)):
                x = MODELS[name](i)(f, t, x)
                x = weft.stage_boundary(x) if i in cuts else x
            return ((x - y) ** 2).mean()

        value, gradients = weft.microbatches(weft.value_and_grad(loss), N)(trained, x, y)
        return weft.tree.map(lambda p, g: p - 0.1 * g, trained, gradients), value

    options = {"mesh": weft.Mesh((ranks,), ("pipe",)), "pipeline": pipeline} if pipeline else {}
    compiled = weft.jit(step, donate_argnums=0, **options).lower(trained, frozen, x, y).compile()
    values = []
    for _ in range(steps):
        trained, value = compiled(trained, frozen, x, y)
        values.append(np.array(value))
    return values, weft.tree.map(np.array, trained), compiled


SCHEDULES = [("gpipe", 1), ("1f1b", 1), ("zb-h1", 1), ("interleaved-1f1b", 2), ("zb-v", 2), ("dualpipev", 2)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("schedule", "chunks"), SCHEDULES)
def test_frozen_stages(name, schedule, chunks):
    *found, compiled = train(name, weft.Pipeline("pipe", schedule, chunks=chunks), LAYERS // chunks)
    *wanted, _ = train(name)
    equal_bits(found, wanted)
    assert [stage.parameters > 0 for stage in compiled.stages()] == [True] * LAYERS


def test_no_gradient_goes_to_a_frozen_first_stage():
    *_, compiled = train("frozen first", weft.Pipeline("pipe"), LAYERS)
    labels = [message.label for message in compiled.messages()]
    assert "gradients of stage 2 for stage 1" in labels and "gradients of stage 1 for stage 0" not in labels


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("schedule", "chunks", "ranks"), [
    ("1f1b", 1, 2), ("1f1b", 1, 3), ("zb-v", 2, 2), ("1f1b", 1, 4), ("auto", 0, 2)])
def test_the_compiler_places_boundaries(name, schedule, chunks, ranks):
    """Between frozen layers as well; each stage has a parameter of either kind."""
    pipeline = weft.Pipeline("pipe", schedule, stages="auto", **({"chunks": chunks} if chunks else {}))
    *found, compiled = train(name, pipeline, ranks, cuts=())
    *wanted, _ = train(name, cuts=())
    for a, b in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert all(stage.parameters > 0 for stage in compiled.stages())


def test_parts_without_a_parameter_are_no_stages():
    """A matmul of activations is a part of the model, which goes to a stage with another one."""
    def train(ranks):
        _, (*trained, _), x, y = arrays()

        def step(trained, x, y):
            def loss(trained, x, y):
                for t in trained:
                    x = wnp.tanh(x @ t)
                    x = wnp.tanh(x @ x.T)[:, :WIDTH // 2] @ x[:WIDTH // 2]
                return ((x - y) ** 2).mean()

            value, gradients = weft.microbatches(weft.value_and_grad(loss), 2)(trained, x, y)
            return weft.tree.map(lambda p, g: p - 0.1 * g, trained, gradients), value

        return weft.jit(step, mesh=weft.Mesh((ranks,), ("pipe",)), donate_argnums=0,
                        pipeline=weft.Pipeline("pipe", stages="auto")).lower(trained, x, y).compile()

    assert [stage.parameters for stage in train(3).stages()] == [WIDTH * WIDTH * 4] * 3
    with pytest.raises(weft.CompileError) as raised:
        train(4)
    assert "parts, where a single value leads from one to the next, of which 3 use a parameter, as each stage must; " \
           "the pipeline has 4 stages on 4 ranks along \"pipe\"; use fewer ranks or chunks, for at most 3 stages, " \
           "or put weft.stage_boundary in the model" in str(raised.value)
    assert "note: a part can begin here" in str(raised.value) and "x = wnp.tanh(x @ t)" in str(raised.value)
