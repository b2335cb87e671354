# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that combine the elements of a row, each for Weft and for JAX, and rows of all magnitudes."""

import dataclasses
import functools
from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np

COLUMNS = 8
LABELS_FROM = 3  # Row i has label (3 + i) % 8.


@dataclasses.dataclass(frozen=True, eq=False)
class Reduction:
    name: str
    # Of a namespace with the packages numpy and nn, and of rows: rows, or a column.
    call: Callable


def _numpy(name, **options):
    return Reduction(f"numpy.{name}", lambda x, v: getattr(x.numpy, name)(v, axis=-1, **options))


def _nn(name, **options):
    return Reduction(f"nn.{name}", lambda x, v: getattr(x.nn, name)(v, axis=-1, **options))


def _cross_entropy(x, v):
    labels = (LABELS_FROM + np.arange(v.shape[0], dtype=np.int32)) % COLUMNS
    return x.nn.softmax_cross_entropy_with_integer_labels(v, labels)[:, None]


REDUCTIONS = [
    *(_numpy(name, keepdims=True) for name in "sum mean max min prod var std".split()),
    _numpy("cumsum"), _numpy("cumprod"),
    _nn("logsumexp", keepdims=True), _nn("softmax"), _nn("log_softmax"), _nn("layer_norm"), _nn("rms_norm"),
    Reduction("nn.cross_entropy", _cross_entropy),
]


def _wide(v):
    """The norms of weft.nn compute in float32 at least."""
    return v.astype(jnp.promote_types(v.dtype, jnp.float32))


def _layer_norm(x, axis, epsilon=1e-5):
    wide = _wide(x)
    away = wide - wide.mean(axis, keepdims=True)
    return (away * jax.lax.rsqrt(jnp.square(away).mean(axis, keepdims=True) + epsilon)).astype(x.dtype)


def _rms_norm(x, axis, epsilon=1e-6):
    wide = _wide(x)
    return (wide * jax.lax.rsqrt(jnp.square(wide).mean(axis, keepdims=True) + epsilon)).astype(x.dtype)


def _optax_cross_entropy(logits, labels):
    """softmax_cross_entropy_with_integer_labels of optax."""
    logits -= jax.lax.stop_gradient(logits.max(-1, keepdims=True))
    label_logits = jnp.take_along_axis(logits, labels[:, None], -1)[:, 0]
    return jnp.log(jnp.sum(jnp.exp(logits), -1)) - label_logits


class TheirNn:
    logsumexp, softmax, log_softmax = jax.nn.logsumexp, jax.nn.softmax, jax.nn.log_softmax
    layer_norm, rms_norm = _layer_norm, _rms_norm
    softmax_cross_entropy_with_integer_labels = _optax_cross_entropy


@functools.cache
def rows(dtype):
    """Rows of one magnitude, of several, far from zero, of equal numbers, and with what is special."""
    limits, random = jnp.finfo(dtype), np.random.default_rng(3)
    low, high = int(np.log2(float(limits.smallest_subnormal))), int(limits.maxexp) - 1
    largest, tiny, denormal = (float(v) for v in (limits.max, limits.tiny, limits.smallest_subnormal))

    def signed(count):
        return random.choice([-1, 1], (count, COLUMNS)) * random.uniform(1, 2, (count, COLUMNS))

    powers = np.linspace(low, high, 40).round()[:, None]
    about_one = random.normal(0, 1, (16, COLUMNS))
    equal = np.array([0.0, -0.0, 1, -3, 100, largest, -largest, tiny, denormal])[:, None] + np.zeros(COLUMNS)
    special = np.tile(random.normal(0, 1, COLUMNS), (14, 1))
    for row, found in enumerate([
            {0: np.inf}, {7: -np.inf}, {1: np.inf, 2: -np.inf}, {3: np.nan}, {3: np.nan, 4: np.inf},
            {1: 0.0}, {1: 0.0, 5: -0.0}, {2: largest}, {2: largest, 6: -largest}, {5: denormal},
            {1: np.inf, 6: np.inf}, {0: tiny, 1: largest}]):
        for column, value in found.items():
            special[row, column] = value
    special[12], special[13] = np.inf, -np.inf
    return np.concatenate([
        signed(40) * 2.0**powers, np.abs(signed(40)) * 2.0**powers, signed(24) * 2.0**random.choice(
            powers[:, 0], (24, COLUMNS)), about_one, 4 * about_one, 100 + about_one, equal,
        special]).astype(dtype)
