# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dimensions that their axes do not divide: the same numbers as on one device."""

import types
from functools import partial

import numpy as np
import pytest

import weft
from weft import P

pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import weft_models  # noqa: E402

VOCABULARY, WIDTH, TIME, BATCH, STEPS = 50257, 16, 6, 4, 4
CONFIG = types.SimpleNamespace(heads=2, dtype="float32")


def parameters(vocabulary=VOCABULARY, seed=0):
    random = np.random.default_rng(seed)

    def normal(*shape):
        return random.normal(0, 0.1, shape).astype(np.float32)

    norm = {"scale": np.ones(WIDTH, np.float32), "bias": normal(WIDTH)}
    attn = {f"w{n}": normal(WIDTH, WIDTH) for n in "qkvo"} | {f"b{n}": normal(WIDTH) for n in "qkvo"}
    mlp = {"w1": normal(WIDTH, 40), "b1": normal(40), "w2": normal(40, WIDTH), "b2": normal(WIDTH)}
    block = {"ln1": norm, "attn": attn, "ln2": norm, "mlp": mlp}
    return {
        "wte": normal(vocabulary, WIDTH),
        "wpe": normal(TIME, WIDTH),
        "blocks": [block],
        "ln_f": norm,
    }


def batch(size=BATCH, vocabulary=VOCABULARY):
    random = np.random.default_rng(7)
    tokens = random.integers(0, vocabulary, (size, TIME + 1)).astype(np.int32)
    # The last of the vocabulary, beside the padding.
    tokens[0, :3] = vocabulary - 1
    return {"tokens": tokens[:, :-1], "targets": tokens[:, 1:]}


LOSS = partial(weft_models.gpt2_loss, config=CONFIG)
STEP = weft_models.train_step(LOSS, weft_models.adamw(warmup=2, total=20))


def first_state():
    params = parameters()
    zeros = weft.tree.map(np.zeros_like, params)
    moments = {"mu": zeros, "nu": zeros, "step": np.int32(0)}
    return {"params": params, "optimizer": moments}


def vocabulary_parallel(ways):
    """Over one axis of the mesh; over two for 8 ways."""
    if ways == 8:
        return weft.Mesh((2, 4), ("data", "model")), P(("model", "data"))
    return weft.Mesh((ways,), ("model",)), P("model")


def compiled(ways):
    if ways == 1:
        return weft.jit(STEP, donate_argnums=0)
    mesh, spec = vocabulary_parallel(ways)
    rules = weft.rules([(".*wte", spec), (".*", P())])
    return weft.jit(
        STEP, donate_argnums=0, mesh=mesh, in_shardings=(rules, P()), out_shardings=(rules, None)
    )


def train(step, state, steps=STEPS):
    losses = []
    for _ in range(steps):
        state, loss = step(state, batch())
        losses.append(float(loss))
    return losses, weft.tree.map(np.asarray, state)


@pytest.fixture(scope="module")
def one_device():
    return train(compiled(1), first_state())


def close(found, expected, tolerance):
    for (path, a), b in zip(
        weft.tree.flatten_with_paths(found, "")[0], weft.tree.leaves(expected), strict=True
    ):
        # The loss does not depend on the bias of keys: its gradient is what rounding leaves.
        if path.endswith("['bk']"):
            continue
        distance = np.linalg.norm(np.float64(a) - b) / max(np.linalg.norm(b), 1e-6)
        assert distance < tolerance, f"{path}: {distance}"


@pytest.mark.parametrize("ways", [2, 4, 8])
def test_a_vocabulary_of_50257(ways, one_device):
    losses, state = train(compiled(ways), first_state())
    np.testing.assert_allclose(losses, one_device[0], rtol=2e-5)
    assert state["params"]["wte"].shape == (VOCABULARY, WIDTH)
    close(state["params"], one_device[1]["params"], 1e-4)
    close(state["optimizer"]["mu"], one_device[1]["optimizer"]["mu"], 1e-4)


@pytest.mark.parametrize("ways", [2, 4, 8])
def test_gradients(ways):
    params = parameters()
    function = weft.value_and_grad(LOSS)
    mesh, spec = vocabulary_parallel(ways)
    rules = weft.rules([(".*wte", spec), (".*", P())])
    loss, expected = weft.jit(function)(params, batch())
    sharded = weft.jit(function, mesh=mesh, in_shardings=(rules, P()), out_shardings=(None, rules))
    value, found = sharded(params, batch())
    np.testing.assert_allclose(value, loss, rtol=1e-6)
    close(weft.tree.map(np.asarray, found), expected, 1e-5)


def test_logits_are_not_gathered():
    step = compiled(4).lower(first_state(), batch()).compile()
    table = VOCABULARY * WIDTH * 4
    assert sum(c.total_bytes for c in step.collectives()) < table / 20


def test_resumed_on_another_mesh(one_device):
    losses, state = train(compiled(4), first_state(), steps=2)
    more, state = train(compiled(8), state, steps=1)
    last, state = train(compiled(2), state, steps=1)
    np.testing.assert_allclose(losses + more + last, one_device[0], rtol=2e-5)
    close(state["params"], one_device[1]["params"], 1e-4)


def test_every_dimension_uneven():
    """Batch, time, vocabulary and the hidden width over numbers that do not divide them."""
    params, data = parameters(101), batch(5, 101)
    function = weft.value_and_grad(LOSS)
    loss, expected = weft.jit(function)(params, data)
    mesh = weft.Mesh((2, 3), ("data", "model"))
    rules = weft.rules(
        [
            ("wte", P("model", None)),
            (".*/(w1|wq|wk|wv)", P("data", "model")),
            (".*/(w2|wo)", P("model", "data")),
            (".*", P()),
        ]
    )
    sharded = weft.jit(
        function, mesh=mesh, in_shardings=(rules, P("data")), out_shardings=(None, rules)
    )
    value, found = sharded(params, data)
    np.testing.assert_allclose(value, loss, rtol=1e-6)
    close(weft.tree.map(np.asarray, found), expected, 1e-5)


def test_parts_hold_zeros_behind_the_last_row():
    mesh = weft.Mesh((4,), ("model",))
    program = weft.jit(lambda w: w + 1, mesh=mesh, in_shardings=P("model"), out_shardings=P("model"))
    w = np.arange(10, dtype=np.float32).reshape(5, 2)
    compiled = program.lower(w).compile()
    np.testing.assert_array_equal(compiled(w), w + 1)
    parts = compiled.call_sharded(w)
    assert [part.shape for part in parts] == [(2, 2)] * 4
    np.testing.assert_array_equal(parts[2], [[9, 10], [0, 0]])
    np.testing.assert_array_equal(parts[3], np.zeros((2, 2)))
    # Whatever a caller leaves there is not read.
    dirty = weft.Shards([part + 100 * (part == 0) for part in parts])
    again = compiled.call_sharded(dirty)
    np.testing.assert_array_equal(again[2], [[10, 11], [0, 0]])


def test_the_report_says_what_is_padded():
    mesh = weft.Mesh((4,), ("model",))
    w = weft.ShapeDtypeStruct((50257, 768), "float32")
    compiled = weft.jit(lambda w: w.sum(), mesh=mesh, in_shardings=P("model")).lower(w).compile(None)
    assert (
        "w: dim 0 of size 50257 over 4 shards of 12565, padded by 3 (0.006 %), 9.00 KiB in all"
        in compiled.report()
    )
    (record,) = compiled.padding()
    assert record == weft.Padding("w", dim=0, size=50257, shards=4, local_size=12565, bytes=3 * 768 * 4)
    assert record.padded_size == 50260
    even = weft.jit(lambda w: w.sum(), mesh=mesh, in_shardings=P(None, "model"))
    assert even.lower(w).compile(None).padding() == []
