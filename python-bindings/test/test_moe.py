# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft.nn.moe against loops over tokens, and what it refuses."""

import math

import numpy as np
import pytest
from running import evaluate

import weft
from weft import nn
from weft.tracing.errors import ShapeError

ROWS, TIME, WIDTH, HIDDEN, EXPERTS = 3, 12, 6, 10, 4


def normal(random, *shape):
    return random.normal(size=shape).astype(np.float32)


def perceptron(random, *front, gate=True):
    names = {"up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH)} | ({"gate": (WIDTH, HIDDEN)} if gate else {})
    return {name: normal(random, *front, *shape) * 0.5 for name, shape in names.items()}


def arguments(gate=True, seed=0):
    random = np.random.default_rng(seed)
    return (normal(random, ROWS, TIME, WIDTH), normal(random, WIDTH, EXPERTS),
            perceptron(random, EXPERTS, gate=gate))


def silu(x):
    return x / (1 + np.exp(-x))


def perceive(weights, x):
    up = x @ weights["up"]
    hidden = silu(x @ weights["gate"]) * up if "gate" in weights else silu(up)
    return hidden @ weights["down"]


def by_loops(x, router, experts, top_k=2, slots=math.inf, score="softmax", normalize=True, bias=0.0,
             group_size=TIME):
    """The result, the choices of each expert, and how many were dropped."""
    y, load, dropped = np.zeros_like(x, np.float64), np.zeros(EXPERTS, int), 0
    for row in range(ROWS):
        for start in range(0, TIME, group_size):
            logits = np.float64(x[row, start:start + group_size]) @ router
            scores = 1 / (1 + np.exp(-logits)) if score == "sigmoid" else (
                np.exp(logits) / np.exp(logits).sum(-1, keepdims=True))
            order = np.argsort(-(scores + bias), -1, kind="stable")[:, :top_k]
            taken = np.zeros(EXPERTS, int)
            for choice in range(top_k):
                for token in range(group_size):
                    expert = order[token, choice]
                    load[expert] += 1
                    if taken[expert] == slots:
                        dropped += 1
                        continue
                    taken[expert] += 1
                    weight = scores[token, expert]
                    if normalize:
                        weight /= scores[token, order[token]].sum()
                    one = {name: w[expert] for name, w in experts.items()}
                    y[row, start + token] += weight * perceive(one, x[row, start + token])
    return y, load, dropped


CASES = {
    "two of four": {},
    "one of four": {"top_k": 1},
    "one of four, divided": {"top_k": 1, "normalize": True},
    "two of four, as they are": {"normalize": False},
    "all": {"top_k": 4},
    "few slots": {"capacity": 0.5},
    "one slot": {"capacity": 0.01},
    "nothing dropped": {"capacity": None},
    "sigmoid": {"score": "sigmoid"},
    "bias": {"bias": np.float32([2, 0, 0, -2]), "score": "sigmoid"},
    "groups of a row": {"group_size": 4},
    "groups of a row, nothing dropped": {"group_size": 4, "capacity": None},
    "a slot for each token": {"capacity": EXPERTS / 2},
}


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_against_loops(case, gate):
    options, args = CASES[case], arguments(gate)
    top_k, capacity = options.get("top_k", 2), options.get("capacity", 1.25)
    size = options.get("group_size", TIME)
    slots = math.inf if capacity is None else min(size, max(1, math.ceil(size * top_k * capacity / EXPERTS)))
    known = {"top_k": top_k, "slots": slots, "normalize": options.get("normalize", top_k > 1), "group_size": size,
             "score": options.get("score", "softmax"), "bias": options.get("bias", 0.0)}
    wanted, load, dropped = by_loops(*args, **known)
    y, metrics = evaluate(lambda *args: nn.moe(*args, **options), *args)
    np.testing.assert_allclose(y, wanted, rtol=2e-5, atol=2e-6)
    assert (metrics.load.tolist(), int(metrics.dropped)) == (load.tolist(), dropped)
    assert dropped > 0 or case not in ("few slots", "one slot", "bias")


def test_shared_expert():
    x, router, experts = arguments()
    shared = perceptron(np.random.default_rng(1))
    y, _ = evaluate(lambda x, r, e, s: nn.moe(x, r, e, shared=s), x, router, experts, shared)
    alone, _ = evaluate(nn.moe, x, router, experts)
    np.testing.assert_allclose(y - alone, perceive(shared, x), rtol=1e-4, atol=1e-5)


def test_losses():
    """Even choices have a balance of 1; one expert for all has as many as there are experts."""
    x, router, experts = arguments()
    _, metrics = evaluate(nn.moe, x, router, experts)
    logits = np.float64(x) @ router
    scores = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    order = np.argsort(-scores, -1, kind="stable")[..., :2]
    shares = np.stack([(order == e).sum((1, 2)) for e in range(EXPERTS)], -1) / (2 * TIME)
    np.testing.assert_allclose(metrics.balance_loss, EXPERTS * (shares * scores.mean(1)).sum(-1).mean(), rtol=1e-5)
    np.testing.assert_allclose(metrics.z_loss, (np.log(np.exp(logits).sum(-1)) ** 2).mean(), rtol=1e-5)
    one = np.zeros_like(router)
    one[:, 0] = 100
    _, metrics = evaluate(lambda *args: nn.moe(*args, top_k=1), np.abs(x), one, experts)
    np.testing.assert_allclose(metrics.balance_loss, EXPERTS, rtol=1e-5)
    assert metrics.load.tolist() == [ROWS * TIME, 0, 0, 0]


def test_balance_of_sigmoid_scores():
    x, router, experts = arguments()
    _, metrics = evaluate(lambda *args: nn.moe(*args, score="sigmoid", top_k=EXPERTS), x, router, experts)
    np.testing.assert_allclose(metrics.balance_loss, 1, rtol=1e-5)


def test_gradients():
    """By differences in float64, of all that is differentiable; some tokens are dropped."""
    args = weft.tree.map(lambda a: a.astype(np.float64), (*arguments(), perceptron(np.random.default_rng(2))))

    def loss(args):
        x, router, experts, shared = args
        y, metrics = nn.moe(x, router, experts, shared=shared, capacity=0.75)
        return (y * y).mean() + 0.1 * metrics.balance_loss + 0.01 * metrics.z_loss

    # Arrays of float64 would be taken as float32.
    shapes = weft.tree.map(lambda a: weft.ShapeDtypeStruct(a.shape, "float64"), args)
    compiled = weft.jit(weft.value_and_grad(loss)).lower(shapes).compile()
    _, gradients = compiled(args)
    random = np.random.default_rng(3)
    leaves, structure = weft.tree.flatten(args)
    for number, gradient in enumerate(weft.tree.leaves(gradients)):
        direction = random.normal(size=gradient.shape)
        values = []
        for step in (1e-6, -1e-6):
            moved = [leaf + step * direction if i == number else leaf for i, leaf in enumerate(leaves)]
            values.append(float(compiled(structure.unflatten(moved))[0]))
        np.testing.assert_allclose((gradient * direction).sum(), (values[0] - values[1]) / 2e-6, rtol=1e-4, atol=1e-8)


def test_bfloat16():
    """Scores and weights are float32."""
    import ml_dtypes
    x, router, experts = weft.tree.map(lambda a: a.astype(ml_dtypes.bfloat16), arguments())
    y, metrics = evaluate(lambda *args: nn.moe(*args, capacity=None), x, router, experts)
    wanted, load, _ = by_loops(*weft.tree.map(lambda a: a.astype(np.float32), (x, router, experts)))
    assert y.dtype == x.dtype and metrics.balance_loss.dtype == np.float32
    assert metrics.load.tolist() == load.tolist()
    np.testing.assert_allclose(y.astype(np.float32), wanted, rtol=0.05, atol=0.05)


def test_jitter():
    """Depends on the key alone, and only where experts are chosen and weighted."""
    x, router, experts = arguments()

    def noisy(x, router, experts, key):
        return nn.moe(x, router, experts, jitter=0.5, key=key, capacity=None)[0]

    keys = [weft.random.key(seed) for seed in (0, 1)]
    first, second = (evaluate(noisy, x, router, experts, key) for key in keys)
    still = evaluate(lambda *args: nn.moe(*args, capacity=None)[0], x, router, experts)
    assert np.abs(first - second).max() > 1e-2 and np.abs(first - still).max() > 1e-2
    np.testing.assert_array_equal(first, evaluate(noisy, x, router, experts, keys[0]))


def test_a_bias_evens_the_load_without_a_loss():
    random = np.random.default_rng(5)
    x, router = normal(random, 8, 32, WIDTH) + 0.5, normal(random, WIDTH, EXPERTS)
    experts = perceptron(random, EXPERTS)

    def step(bias):
        _, metrics = nn.moe(x, router, experts, score="sigmoid", bias=bias)
        return nn.updated_router_bias(bias, metrics.load, 0.02), metrics.load

    step, bias, loads = weft.jit(step), np.zeros(EXPERTS, np.float32), []
    for _ in range(60):
        bias, load = step(bias)
        loads.append(load.max() / load.mean())
    assert loads[0] > 1.3 and max(loads[-5:]) < 1.1, loads


@pytest.mark.parametrize(("options", "message"), [
    ({"top_k": 5}, "top_k must be from 1 to the number of experts, 4, got 5"),
    ({"top_k": 0}, "top_k must be from 1 to the number of experts, 4, got 0"),
    ({"capacity": 0}, "capacity must be above 0, or None to drop nothing, got 0"),
    ({"score": "tanh"}, "score must be softmax or sigmoid, got 'tanh'"),
    ({"bias": np.zeros(3, np.float32)}, "the bias must have one number for each of 4 experts"),
    ({"jitter": 1.5}, "jitter must be at least 0 and below 1, got 1.5"),
    ({"jitter": 0.1}, "a key is for jitter above 0, and jitter needs one; got jitter 0.1 and no key"),
    ({"key": np.zeros(2, np.int32)}, "got jitter 0.0 and a key"),
    ({"group_size": 5}, "group_size must divide the 12 tokens along time, got 5"),
    ({"experts": {"up": np.zeros((4, 6, 10))}}, 'experts must have "up", "down" and perhaps "gate", got up'),
    ({"experts": {"up": np.zeros((4, 6, 10)), "down": np.zeros((4, 6, 10))}},
     'experts["down"] must have shape (4, 10, 6), got (4, 6, 10)'),
    ({"shared": {}}, 'shared must have "up", "down" and perhaps "gate", got nothing'),
    ({"router": np.zeros((5, 4), np.float32)}, "the router must be [features, experts] with 6 features"),
    ({"x": np.zeros(6, np.float32)}, "tokens must be floats [..., time, features]"),
])
def test_refusals(options, message):
    x, router, experts = arguments()
    given = {"x": x, "router": router, "experts": experts} | options
    with pytest.raises((ValueError, ShapeError)) as raised:
        weft.jit(lambda: nn.moe(**given)[0]).lower()
    assert message in str(raised.value) and "test_moe.py" in str(raised.value)


def test_refusals_of_the_bias():
    with pytest.raises(ShapeError, match="bias and load must have one number an expert"):
        weft.jit(nn.updated_router_bias).lower(np.zeros(3, np.float32), np.zeros(4, np.int32))
