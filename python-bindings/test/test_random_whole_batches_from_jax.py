# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random JAX functions of a batch that the compiler splits into micro-batches: the numbers of jax.jit,
or an error that says that the batch cannot be split.

    build/venv-jax/bin/python -m pytest python-bindings/test/test_random_whole_batches_from_jax.py --functions 800

`--functions` is 4 for each function, which is as much work.
"""

import random
import subprocess

import numpy as np
import pytest
from running import BINARIES

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")
jnp = jax.numpy

import weft  # noqa: E402
from weft.lowered import Lowered, Source  # noqa: E402

ROWS, MICROBATCHES, WIDTH = 8, 4, 12
SHAPES = [(8, 4), (8, 6), (8, 3, 4), (8, 2, 6), (8, 8)]


class Step:
    """A function that is drawn again, alike, whenever it is called."""

    def __init__(self, seed):
        self.seed = seed

    def __call__(self, params, x, i, s):
        r = random.Random(self.seed)
        values = [x, i.astype(jnp.float32)]
        for _ in range(r.randint(4, 12)):
            value = r.choice(values) if r.random() < 0.6 else values[-1]
            value = value.sum(-1) if value.size > 2048 else value
            values.append((r.choice(OPS)(r, value, params, i, s) if value.ndim else jnp.tanh(value)) / 4)
        return values[-1], values[-2].sum()


def axis(r, x):
    """Seldom that of the rows."""
    return r.randrange(x.ndim) if x.ndim == 1 or x.shape[0] != ROWS or r.random() < 0.1 else r.randrange(1, x.ndim)


def narrow(x):
    return x[..., :WIDTH]


def permuted(r, x, *_):
    return jnp.transpose(x, r.sample(range(x.ndim), x.ndim))


def split(r, x, *_):
    return x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2) if x.shape[-1] % 2 == 0 else x


def joined(r, x, *_):
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]) if x.ndim > 1 else x


def taken(r, x, params, i, s):
    return x[jnp.arange(ROWS), jnp.abs(i[:, 0]) % x.shape[1]] if x.ndim > 1 and x.shape[0] == ROWS else x


def of_rows(r, x, params, i, s):
    return x + s.reshape(ROWS, *[1] * (x.ndim - 1)) if x.shape[0] == ROWS else x


OPS = [
    lambda r, x, params, *_: narrow(x) @ params["m"][:narrow(x).shape[-1]],
    lambda r, x, params, *_: narrow(x) + params["b"][:narrow(x).shape[-1]],
    lambda r, x, params, *_: params["e"][jnp.clip(jnp.abs(x).astype(jnp.int32), 0, 5)] if x.size < 300 else x,
    lambda r, x, *_: jnp.tanh(x),
    lambda r, x, *_: x - x.mean(axis(r, x), keepdims=True),
    lambda r, x, *_: x.sum(axis(r, x)),
    lambda r, x, *_: x.max(axis(r, x)),
    lambda r, x, *_: jax.nn.softmax(x, axis=axis(r, x)),
    lambda r, x, *_: jnp.cumsum(x, axis(r, x)),
    lambda r, x, *_: jnp.flip(x, axis(r, x)),
    lambda r, x, *_: jnp.concatenate([x, x * 2], axis(r, x)),
    lambda r, x, *_: x.reshape(-1),
    lambda r, x, *_: x * jnp.arange(x.shape[-1]),
    lambda r, x, *_: jnp.broadcast_to(x[None], (3, *x.shape)),
    lambda r, x, *_: jnp.zeros((6, *x.shape[1:])).at[jnp.arange(x.shape[0]) % 6].add(x),
    permuted, split, joined, taken, of_rows,
]


def trained(function):
    def step(params, *batch):
        def loss(params):
            results = function(params, *batch)
            return sum((x * x).sum() for x in results), results

        (value, results), gradients = jax.value_and_grad(loss, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), value, results

    return step


def arguments(seed):
    r = np.random.default_rng(seed)
    params = {name: r.normal(size=shape).astype(np.float32)
              for name, shape in (("m", (WIDTH, WIDTH)), ("b", (WIDTH,)), ("e", (6, 3)))}
    return (params, r.normal(size=SHAPES[seed % len(SHAPES)]).astype(np.float32),
            r.integers(-3, 7, (ROWS, 3)).astype(np.int32), r.normal(size=ROWS).astype(np.float32))


def check(seed):
    """Whether the batch of a function can be split."""
    args, step = arguments(seed), trained(Step(seed))
    lowered = weft.from_jax(step, *args, donate_argnums=0)
    split = subprocess.run(
        [BINARIES / "shard-opt", "-", "--allow-unregistered-dialect", "--weft-import-stablehlo", "--weft-inline-calls",
         "--weft-decompose", "--symbol-dce", f"--weft-split-batch=microbatches={MICROBATCHES}",
         "--weft-verify-form=form=graph"],
        input=lowered.as_text(), capture_output=True, text=True, check=False)
    if split.returncode:
        assert "cannot be split into 4" in split.stderr or "is a batch that can be split into 4" in split.stderr, split.stderr
        return False
    found = Lowered(Source(split.stdout, "split.mlir"), lowered.signature, lowered.mesh).compile()(*args)
    for a, b in zip(*map(jax.tree.leaves, (found, jax.jit(step)(*args))), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * max(1, np.abs(b).max()), err_msg=f"function {seed}")
    return True


def test_numbers(pytestconfig):
    first, count = pytestconfig.getoption("--first-function"), pytestconfig.getoption("--functions")
    count = max(count // 4, 1)
    assert sum(map(check, range(first, first + count))) >= count // 5
