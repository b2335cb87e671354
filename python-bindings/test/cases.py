# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of the functions of weft.numpy, weft.nn and weft.lax, each written once and
run on Weft, NumPy and JAX.

A case gets `x`, a namespace of the packages (numpy, nn, lax), and its arrays.
"""

import dataclasses
import functools
from typing import Any, Callable

import numpy as np

RANDOM = np.random.default_rng(0)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    name: str
    call: Callable
    args: tuple
    tolerance: float = 2e-6


NUMPY: list[Case] = []
JAX_ONLY: list[Case] = []


def floats(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def ints(*shape, low=-5, high=6, dtype=np.int32):
    return RANDOM.integers(low, high, shape).astype(dtype)


def bools(*shape):
    return RANDOM.random(shape) < 0.5


def case(call: Callable, *args: Any, name: str = "", tolerance: float = 2e-6, into=NUMPY) -> None:
    into.append(Case(f"{len(into)}-{name}" if name else str(len(into)), call, args, tolerance))


def each(names: str, *args: Any, tolerance: float = 2e-6, into=NUMPY, package: str = "numpy") -> None:
    """A case for each function, which is called with the arrays alone."""
    for name in names.split():
        case(lambda x, *a, name=name: getattr(getattr(x, package), name)(*a), *args,
             name=f"{package}.{name}", tolerance=tolerance, into=into)


F, G, I, J, B, C = floats(3, 4), floats(3, 4), ints(3, 4), ints(3, 4), bools(3, 4), bools(3, 4)
POSITIVE = floats(3, 4, low=0.1, high=3.0)
SMALL = ints(3, 4, low=1, high=4)
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 0.5], np.float32)

# Elementwise.
each("add subtract multiply divide maximum minimum power logaddexp", POSITIVE, floats(3, 4, low=0.5))
each("floor_divide remainder", F, G, tolerance=1e-5)
each("floor_divide remainder", np.array([5, -3.5, 5, -5, 0, 1, -1, np.inf, np.nan, 5, 7, -7, 1e30], np.float32),
     np.array([np.inf, np.inf, -np.inf, -np.inf, np.inf, 0.1, 0.1, 2, 1, np.nan, -2, 2, 3], np.float32))
each("floor_divide", np.array([5, -5, 0], np.float32), np.zeros(3, np.float32))
each("add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor", I, J)
each("floor_divide remainder power left_shift right_shift divide", I, SMALL)
each("floor_divide remainder", np.array([5, -5, 0, 7], np.int32), np.array([0, 0, 0, -2], np.int32), into=JAX_ONLY)
case(lambda x, a: [a // 0, a % 0, 5 // a, 5 % a], np.array([5, -5, 0], np.int32), name="by zero", into=JAX_ONLY)
each("add multiply maximum minimum bitwise_and bitwise_or bitwise_xor", B, C)
each("equal not_equal less less_equal greater greater_equal", I, J)
each("equal not_equal less less_equal greater greater_equal", B, C)
each("equal not_equal less less_equal greater greater_equal maximum minimum add", ODD, ODD[::-1].copy())
each("logical_and logical_or logical_xor", I, J)
each("logical_not isnan isinf isfinite sign abs floor ceil trunc round nan_to_num negative", ODD)
each("negative abs sign square bitwise_not invert logical_not round isnan isfinite positive", I)
each("bitwise_not logical_not abs isinf", B)
each("exp exp2 expm1 sin cos tan tanh sinh cosh square floor ceil trunc rint reciprocal", F, tolerance=5e-6)
each("log log1p log2 log10 sqrt", POSITIVE)
each("exp sqrt log", SMALL)
for n in (0, 1, 2, 3, 7, -1, -2):
    case(lambda x, a, n=n: a**n, POSITIVE, name=f"power {n}", tolerance=5e-6)
case(lambda x, a: a**0.5, POSITIVE, name="power 0.5")
case(lambda x, a: 2.0**a, F, name="2.0 ** x")
case(lambda x, a: x.numpy.clip(a, -1, 1), F, name="clip")
case(lambda x, a: x.numpy.clip(a, None, 2), I, name="clip below")
case(lambda x, a, b, c: x.numpy.where(a, b, c), B, F, G, name="where")
case(lambda x, a, b: x.numpy.where(a > 0, b, 0), F, G, name="where scalar")
case(lambda x, a, b: x.numpy.where(a[:, :1], b, b[0]), B, F, name="where broadcast")
case(lambda x, a: x.numpy.round(a, 2), F, name="round 2")
case(lambda x, a, b: x.numpy.divmod(a, b), I, SMALL, name="divmod")

# Operators, with numbers and arrays on either side.
case(lambda x, a, b: [a + b, a - b, a * b, a / b, a // b, a % b, -a, +a, abs(a)], F, POSITIVE,
     name="operators", tolerance=1e-5)
case(lambda x, a: [1 + a, 1 - a, 2 * a, 1 / a, a / 2, a // 2, a % 2, 7 // a, 7 % a], SMALL, name="numbers")
case(lambda x, a: [a & 3, a | 4, a ^ 1, ~a, a << 1, a >> 1, 3 & a, 1 << a], SMALL, name="bit operators")
case(lambda x, a: [a < 1, a <= 1, a > 1, a >= 1, a == 1, a != 1, 1 < a], I, name="comparisons")
case(lambda x, a, b: a @ b, F, floats(4, 5), name="@")
case(lambda x, a: np.float32(2) * a + np.ones((3, 1), np.float32), F, name="numpy operands")

# Shapes.
T = floats(2, 3, 4)
case(lambda x, a: [a.reshape(6, 4), a.reshape((4, 6)), a.reshape(-1, 2), a.reshape(2, -1, 2)], T, name="reshape")
case(lambda x, a: [a.T, a.transpose(2, 0, 1), a.transpose((0, 2, 1)), a.swapaxes(0, -1), a.ravel()], T,
     name="transpose")
case(lambda x, a: [x.numpy.moveaxis(a, 0, -1), x.numpy.moveaxis(a, (0, 1), (-1, 0))], T, name="moveaxis")
case(lambda x, a: [x.numpy.expand_dims(a, 1), x.numpy.expand_dims(a, (0, -1)), x.numpy.squeeze(a[:1]),
                   x.numpy.squeeze(a[:, :1], 1)], T, name="expand, squeeze")
case(lambda x, a: [x.numpy.broadcast_to(a, (5, 2, 3, 4)), x.numpy.broadcast_to(a[:, :1], (2, 3, 4))], T,
     name="broadcast_to")
case(lambda x, a, b: x.numpy.broadcast_arrays(a, b), floats(3, 1), floats(4), name="broadcast_arrays")
case(lambda x, a, b: [x.numpy.concatenate([a, b], 1), x.numpy.concatenate([a, b], axis=-2),
                      x.numpy.stack([a, b]), x.numpy.stack([a, b], -1), x.numpy.vstack([a, b]),
                      x.numpy.hstack([a, b])], F, G, name="concatenate")
case(lambda x, a, b: x.numpy.concatenate([a, b], axis=None), F, T, name="concatenate flat")
case(lambda x, a: x.numpy.split(a, 2, axis=2) + x.numpy.split(a, [1, 2], axis=1)
     + x.numpy.array_split(a, 2, axis=1), T, name="split")
case(lambda x, a: [x.numpy.repeat(a, 3, axis=1), x.numpy.repeat(a, 2), x.numpy.tile(a, 2),
                   x.numpy.tile(a, (2, 1, 2, 1))], T, name="repeat, tile")
case(lambda x, a: [x.numpy.flip(a), x.numpy.flip(a, 1), x.numpy.roll(a, 1, 1), x.numpy.roll(a, -5),
                   x.numpy.roll(a, (1, 2), (0, 2))], T, name="flip, roll")
case(lambda x, a: [x.numpy.pad(a, 1), x.numpy.pad(a, ((1, 2), (0, 3))),
                   x.numpy.pad(a, (1, 2), constant_values=3)], F, name="pad")
case(lambda x, a: x.numpy.pad(a, ((0, 1), (2, 0)), constant_values=-1), I, name="pad integers")
case(lambda x, a: [x.numpy.tril(a), x.numpy.triu(a), x.numpy.tril(a, -1), x.numpy.triu(a, 2)], T, name="tril")
case(lambda x, a: [x.numpy.diag(a), x.numpy.diagonal(a), x.numpy.trace(a)], floats(4, 4), name="diag")
case(lambda x, a: x.numpy.diag(a), floats(4), name="diag vector")
case(lambda x, a: [x.numpy.diag(a, k) for k in (-2, -1, 0, 1, 3)], floats(3, 4), name="diag k")
case(lambda x, a: [x.numpy.diag(a, k=k) for k in (-2, 0, 1)], floats(3), name="diag vector k")
case(lambda x, a: list(a) + [len(a), a.ndim, a.size], T, name="iterate")

# Creation.
case(lambda x: [x.numpy.zeros((2, 3)), x.numpy.ones(4, np.int32), x.numpy.full((2,), 7),
                x.numpy.full((2, 2), 0.5), x.numpy.eye(3), x.numpy.eye(2, 4, 1), x.numpy.identity(2),
                x.numpy.tri(3, 4, 1)], name="creation")
case(lambda x: [x.numpy.arange(5), x.numpy.arange(2, 11, 3), x.numpy.arange(5, 0, -1),
                x.numpy.arange(0.0, 1.0, 0.25), x.numpy.arange(4, dtype=np.float32),
                x.numpy.linspace(0, 1, 5), x.numpy.linspace(1, 2, 4, endpoint=False)], name="ranges")
case(lambda x, a: [x.numpy.zeros_like(a), x.numpy.ones_like(a), x.numpy.full_like(a, 2)], I, name="like")
case(lambda x, a: [x.numpy.array([1, 2, 3]), x.numpy.array([[1.5, 2], [3, 4]]), x.numpy.asarray(2.5),
                   x.numpy.array([True, False])], I, name="array")
case(lambda x, a, b: x.numpy.meshgrid(a, b) + x.numpy.meshgrid(a, b, indexing="ij"), floats(2), floats(3),
     name="meshgrid")
case(lambda x, a: [a + np.arange(12, dtype=np.float32).reshape(3, 4), a * np.tri(3, 4, dtype=bool)], F,
     name="constants")

# Reductions.
for name in "sum mean max min var std prod".split():
    def reduction(x, a, name=name):
        f = getattr(x.numpy, name)
        return [f(a), f(a, 1), f(a, axis=(0, -1)), f(a, axis=0, keepdims=True), getattr(a, name)(-1)]
    case(reduction, T, name=name, tolerance=1e-5)
for name in "any all argmax argmin max min sum prod".split():
    case(lambda x, a, name=name: [getattr(x.numpy, name)(a), getattr(x.numpy, name)(a, 1)], I, name=name)
case(lambda x, a: [x.numpy.sum(a), x.numpy.max(a, 0), x.numpy.mean(a), x.numpy.count_nonzero(a, 0)], B,
     name="of bools")
case(lambda x, a: [x.numpy.argmax(a), x.numpy.argmin(a, 0, keepdims=True), x.numpy.argmax(a, -1)], ODD.reshape(2, 4),
     name="argmax NaN")
case(lambda x, a, b: [x.numpy.sum(a, where=b), x.numpy.mean(a, 0, where=b),
                      x.numpy.max(a, 1, where=b, initial=-9.0), x.numpy.min(a, initial=-3.0)],
     F, np.array([[1, 0, 1, 1], [1, 1, 0, 1], [0, 1, 1, 0]], bool), name="where", tolerance=1e-5)
case(lambda x, a: [x.numpy.var(a, ddof=1), x.numpy.std(a, 0, ddof=1), x.numpy.ptp(a, 1)], F, name="ddof",
     tolerance=1e-5)
case(lambda x, a: [x.numpy.cumsum(a), x.numpy.cumsum(a, 1), x.numpy.cumprod(a, 0)], T, name="cumsum",
     tolerance=1e-5)
case(lambda x, a: [x.numpy.cumsum(a, 1), x.numpy.cumsum(a > 0)], I, name="cumsum integers")
case(lambda x, a, b: [x.numpy.average(a), x.numpy.average(a, 0, weights=b)], F, POSITIVE, name="average",
     tolerance=1e-5)
case(lambda x, a: [x.numpy.linalg.norm(a), x.numpy.linalg.norm(a, axis=1), x.numpy.linalg.norm(a, 1, 0)], F,
     name="norm", tolerance=1e-5)

# Products.
for s, t in [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)),
             ((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,)),
             ((1, 3, 4), (2, 4, 5)), ((4,), (2, 4, 5)), ((2, 2, 3, 4), (1, 2, 4, 3))]:
    case(lambda x, a, b: x.numpy.matmul(a, b), floats(*s), floats(*t), name=f"matmul {s} {t}", tolerance=1e-5)
for s, t in [((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (5, 4, 2)), ((3, 4), (4, 5))]:
    case(lambda x, a, b: x.numpy.dot(a, b), floats(*s), floats(*t), name=f"dot {s} {t}", tolerance=1e-5)
case(lambda x, a, b: [a @ b, x.numpy.dot(a, b)], ints(3, 4), ints(4, 2), name="integer products")
case(lambda x, a, b: [x.numpy.vdot(a, b), x.numpy.inner(a, b), x.numpy.outer(a, b)], F, G, name="inner, outer",
     tolerance=1e-5)
case(lambda x, a, b: [x.numpy.tensordot(a, b, 1), x.numpy.tensordot(a, b, ((2, 0), (0, 1)))],
     floats(2, 3, 4), floats(4, 2, 5), name="tensordot", tolerance=1e-5)
for text, *sizes in [("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
                     ("bthd,bshd->bhts", (2, 3, 2, 4), (2, 5, 2, 4)), ("bhts,bshd->bthd", (2, 2, 3, 5), (2, 5, 2, 4)),
                     ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("ij->j", (3, 4)), ("ii->i", (3, 3)), ("ii", (3, 3)),
                     ("i,j->ij", (3,), (4,)), ("ij,ij->i", (3, 4), (3, 4)), ("ij,ij", (3, 4), (3, 4)),
                     ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)), ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
                     ("...d,de->...e", (2, 3, 4), (4, 5)), ("ijk,kl->lj", (2, 3, 4), (4, 5)),
                     ("bqghd,bkgd->bghqk", (2, 3, 2, 2, 4), (2, 5, 2, 4))]:
    case(lambda x, *a, text=text: x.numpy.einsum(text, *a), *(floats(*s) for s in sizes), name=f"einsum {text}",
         tolerance=1e-5)

# Indexing.
L, K3 = floats(6, 5, 4), np.array([[0, 2, 5], [-1, 3, -6]], np.int32)
case(lambda x, a: [a[0], a[-1], a[1, 2], a[1:4], a[::2], a[1:, :3, 1], a[..., 0], a[:, None, 0], a[None],
                   a[..., None, 1:3], a[-3:-1, ..., ::3], a[5:1:-2], a[:, ::-1], a[np.int64(2)]], L, name="basic")
case(lambda x, a, i: [a[i], a[:, i[:, :2] % 4], a[i, 1], a[1:5, i[0] % 3], a[..., i % 4], a[0, i % 5],
                      a[:, 1, i % 4]], L, K3, name="arrays")
case(lambda x, a, i, j: [a[i, j], a[i[:, None], j[None, :]], a[:, i % 5, j % 4], a[i, :, j % 4]], L,
     np.array([0, 2, -1], np.int32), np.array([1, -2, 3], np.int32), name="several arrays")
case(lambda x, a: [a[np.array([0, 2])], a[:, np.array([1, -1])]], L, name="constant indices")
case(lambda x, a, i: [x.numpy.take(a, i, axis=0), x.numpy.take(a, i, 1, mode="wrap"),
                      x.numpy.take(a, i % 7, 1, mode="clip"), a.take(i)], L, K3, name="take")
case(lambda x, a, i: x.numpy.take_along_axis(a, i, axis=1), floats(2, 6), K3, name="take_along_axis")
case(lambda x, a, i: x.numpy.take_along_axis(a, i[..., None], axis=-1), floats(2, 3, 7), K3, name="labels")

# What NumPy has no name for, against JAX.
N = floats(4, 6, low=-6, high=6)
EDGE = np.array([[-1.0, 0.0, 1.0, 30.0, -30.0, 2.5]], np.float32)
for values in (N, EDGE):
    each("relu relu6 sigmoid silu swish tanh softplus log_sigmoid soft_sign squareplus mish elu celu selu "
         "leaky_relu hard_tanh hard_sigmoid hard_silu gelu softmax log_softmax logsumexp glu identity", values,
         into=JAX_ONLY, package="nn", tolerance=5e-6)
case(lambda x, a: x.nn.gelu(a, approximate=False), N, name="gelu erf", into=JAX_ONLY, tolerance=5e-6)
case(lambda x, a: [x.nn.softmax(a, 0), x.nn.log_softmax(a, (0, 1)), x.nn.logsumexp(a, -1, keepdims=True),
                   x.nn.standardize(a), x.nn.elu(a, 0.5)], N, name="axes", into=JAX_ONLY, tolerance=1e-5)
case(lambda x, a, b: [x.nn.softmax(a, where=b), x.nn.log_softmax(a, where=b), x.nn.logsumexp(a, where=b)], N,
     np.arange(24).reshape(4, 6) % 3 > 0, name="masked", into=JAX_ONLY, tolerance=1e-5)
case(lambda x, i: [x.nn.one_hot(i, 5), x.nn.one_hot(i, 4, axis=0), x.nn.one_hot(i, 3, dtype=np.int32)], ints(2, 3),
     name="one_hot", into=JAX_ONLY)
case(lambda x, a, i: [x.numpy.take(a, i, axis=0), x.numpy.take_along_axis(a, i[:, None], -1), a[i], a[:, i],
                      x.numpy.take(a, i, 0, mode="clip"), x.numpy.take(a, i, 0, fill_value=3.0)], floats(4, 5),
     np.array([0, 3, 9, -6], np.int32), name="outside", into=JAX_ONLY)
case(lambda x, a: [x.lax.rsqrt(a), x.lax.integer_pow(a, 3), x.lax.erf(a), x.lax.logistic(a), x.lax.clamp(0.5, a, 1.0)],
     POSITIVE, name="lax", into=JAX_ONLY)
case(lambda x, a: x.lax.clamp(-1.0, a, 1.0), ODD, name="clamp", into=JAX_ONLY)
case(lambda x, a, b: x.lax.rem(a, b), np.array([5, -3.5, np.inf, 1, 1e30, 5, 0], np.float32),
     np.array([np.inf, -np.inf, 2, 0.1, 3, 0, np.inf], np.float32), name="rem", into=JAX_ONLY)
case(lambda x, a, b: [x.lax.div(a, b), x.lax.rem(a, b)], I, SMALL, name="div integers", into=JAX_ONLY)
case(lambda x, a, b: [x.lax.div(a, b), x.lax.rem(a, b)], F, POSITIVE, name="div", into=JAX_ONLY)
case(lambda x, a: x.lax.erf_inv(a), np.linspace(-0.999, 0.999, 41, dtype=np.float32), name="erf_inv", into=JAX_ONLY)
case(lambda x: x.lax.erf_inv(np.array([-1, 1, 0, -0.9999999], np.float32)), name="erf_inv ends", into=JAX_ONLY)
case(lambda x, a, b: x.lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), floats(2, 3, 4), floats(2, 4, 5),
     name="dot_general", into=JAX_ONLY, tolerance=1e-5)
case(lambda x, a: [x.lax.slice(a, (0, 1), (3, 4)), x.lax.slice_in_dim(a, 1, 3, axis=1), x.lax.broadcast(a, (2,)),
                   x.lax.dynamic_slice(a, (1, 2), (2, 2)), x.lax.dynamic_slice_in_dim(a, 7, 2, 1),
                   x.lax.broadcast_in_dim(a, (3, 2, 4), (0, 2)), x.lax.expand_dims(a, (1,)), x.lax.iota(np.int32, 4)],
     F, name="lax shapes", into=JAX_ONLY)
case(lambda x, a, i: [x.lax.dynamic_slice_in_dim(a, i, 2, 1), x.lax.dynamic_index_in_dim(a, i, 0, keepdims=False)], F,
     np.int32(1), name="dynamic", into=JAX_ONLY)
case(lambda x, a: x.lax.pad(a, np.float32(0.5), ((1, -1, 0), (-1, 2, 1))), F, name="lax.pad", into=JAX_ONLY)
case(lambda x, a, b: x.lax.scan(lambda c, v: (c * 0.5 + v, c.sum()), a, b), floats(4), floats(5, 4), name="scan",
     into=JAX_ONLY, tolerance=1e-5)
case(lambda x, a, b: x.lax.scan(lambda c, v: (c + v[0], v[1]), a, (b, b * 2), reverse=True), floats(4), floats(5, 4),
     name="scan reverse", into=JAX_ONLY, tolerance=1e-5)
case(lambda x, a: [x.lax.fori_loop(0, 3, lambda i, v: v * i + 1, a), x.lax.map(lambda v: v.sum(), a)], F,
     name="loops", into=JAX_ONLY)
case(lambda x, a: [x.lax.cond(a[0, 0] > 5, lambda v: v + 1, lambda v: v * 2, a),
                   x.lax.cond(True, lambda v: v + 1, lambda v: v * 2, a)], F, name="cond", into=JAX_ONLY)
case(lambda x, a, i: [x.lax.switch(index, [lambda v: v + 1, lambda v: v * 2, lambda v: v.T.reshape(v.shape)], a)
                      for index in (i[0], i[1], i[0] - 9, i[1] + 9, 0, 2, 7, -1)], F, np.array([1, 2], np.int32),
     name="switch", into=JAX_ONLY)
case(lambda x, a, i: x.lax.switch(i, [lambda v, w: {"v": v}], a, i), F, np.int32(4), name="switch of one", into=JAX_ONLY)
case(lambda x, a, i: [a.at[1].add(2.0), a.at[:, 1:3].set(0.5), a.at[0, ::2].add(a[1, ::2]), a.at[i].add(1.0),
                      a.at[:, i].add(a[:, :3]), a.at[i].get()], F, np.array([0, 2, 0], np.int32), name="at",
     into=JAX_ONLY)
case(lambda x, a, i: [f(v) for at in (i, (slice(None), i), (i, i), (1, i)) for v in [a.at[at]]
                      for f in (lambda v: v.set(7), lambda v: v.multiply(2.0), lambda v: v.max(6.0), lambda v: v.min(3.0),
                                lambda v: v.divide(2.0), lambda v: v.add(1.0))],
     F, np.array([0, 2, 0], np.int32), name="at of every kind", into=JAX_ONLY)
case(lambda x, a, i: [a.at[i].set(np.arange(20, dtype=np.float32).reshape(5, 4)), a.at[1:, ::2].multiply(a[1:, ::2]),
                      a.at[i[:3, None], i[1:4]].max(a[:, :3])], F, np.array([2, 9, -1, 2, 0], np.int32), name="at rows",
     into=JAX_ONLY)
case(lambda x, a, n: [x.lax.dynamic_update_slice(a, a[:2, :3] + 9, (n, 2)),
                      x.lax.dynamic_update_slice_in_dim(a, a[:1], n, 0)], F, np.array(1, np.int32),
     name="dynamic_update_slice", into=JAX_ONLY)

# Orders.
case(lambda x, a: [x.numpy.sort(a), x.numpy.sort(a, 0), x.numpy.sort(a, None), x.numpy.argsort(a), a.argsort(0)],
     ODD.reshape(2, 4), name="sort")
case(lambda x, a, b: [x.numpy.sort(a, descending=True), x.numpy.argsort(a, descending=True), x.numpy.argsort(b),
                      x.lax.top_k(a, 2), x.lax.sort((b, a), num_keys=1), x.lax.sort((b, a), num_keys=2),
                      x.lax.sort_key_val(b, a, 0), x.lax.sort(a)], F, np.array([[1, 0, 1, 1], [2, 1, 0, 1], [0, 1, 1, 0]], np.int32),
     name="sort of several", into=JAX_ONLY)
case(lambda x, a: [getattr(x.lax, name)(a, axis, reverse) for name in "cumsum cumprod cummax cummin".split()
                   for axis, reverse in ((0, True), (1, False))], F, name="cumulative", tolerance=1e-5, into=JAX_ONLY)
case(lambda x, a: [x.lax.argmax(a, 1, np.int32), x.lax.argmin(a, 0, np.int8), x.lax.reduce_prod(a, (0, 1)),
                   x.lax.reduce_or(a > 5, (1,)), x.lax.reduce_and(a > 5, (0,)), x.lax.rev(a, (0, 1))], F,
     name="reductions of lax", tolerance=1e-5, into=JAX_ONLY)

# Attention.
Q, KEY, VALUE = floats(2, 6, 4, 8), floats(2, 5, 4, 8), floats(2, 5, 4, 8)
SELF, GROUPED = floats(2, 6, 4, 8), floats(2, 6, 2, 8)


def attention(name, *args, **options):
    arrays = [k for k, v in options.items() if isinstance(v, np.ndarray)]
    plain = {k: v for k, v in options.items() if k not in arrays}
    case(lambda x, q, k, v, *rest: x.nn.dot_product_attention(q, k, v, **dict(zip(arrays, rest)), **plain),
         *args, *(options[k] for k in arrays), name=f"attention {name}", into=JAX_ONLY, tolerance=1e-5)


attention("plain", Q, KEY, VALUE)
attention("scale", Q, KEY, VALUE, scale=0.25)
attention("causal", SELF, SELF, floats(2, 6, 4, 8), is_causal=True)
attention("causal rectangle", Q, KEY, VALUE, is_causal=True)
attention("grouped", SELF, GROUPED, floats(2, 6, 2, 8), is_causal=True)
attention("rank 3", SELF[0], GROUPED[0], GROUPED[1])
attention("mask", Q, KEY, VALUE, mask=RANDOM.random((2, 4, 6, 5)) < 0.7)
attention("grouped mask", SELF, GROUPED, GROUPED, mask=RANDOM.random((2, 1, 6, 6)) < 0.7,
          bias=floats(1, 4, 6, 6))
attention("bias", Q, KEY, VALUE, bias=floats(1, 4, 6, 5))
attention("window", SELF, SELF, SELF, local_window_size=2)
attention("causal window", SELF, SELF, SELF, local_window_size=(2, 0), is_causal=True)
attention("lengths", SELF, GROUPED, GROUPED, query_seq_lengths=np.array([4, 6], np.int32),
          key_value_seq_lengths=np.array([3, 5], np.int32))

# Types of 16 bits: products and sums are formed in float32, as in JAX. bfloat16 rounds to 8 bits, float16 to 11.


def half(name, f, *args, tolerance=1e-2, dtypes=("bfloat16", "float16")):
    """f of arrays of 16 bits, whose results are looked at in float32."""
    def call(dtype, x, *arrays):
        results = f(x, *(a.astype(dtype) for a in arrays))
        return [y.astype("float32") for y in (results if isinstance(results, list) else [results])]

    for dtype in dtypes:
        part = {"bfloat16": 1, "float16": 1 / 8}[dtype]
        case(functools.partial(call, dtype), *args, name=f"{dtype} {name}", into=JAX_ONLY, tolerance=tolerance * part)


half("arithmetic", lambda x, a, b: [a + b, a * b, a / 3, 2 - a, x.numpy.maximum(a, b), x.numpy.where(a > b, a, b)], F, G)
half("functions", lambda x, a: [x.numpy.exp(a), x.numpy.tanh(a), x.nn.gelu(a), x.nn.silu(a), x.lax.rsqrt(a * a + 1)], F)
half("reductions", lambda x, a: [a.sum(), a.mean(0), a.var(1), a.max(1), x.nn.softmax(a), x.nn.logsumexp(a, 0)], F)
half("products", lambda x, a, b: [a @ b, x.numpy.einsum("ij,jk->ki", a, b)], F, floats(4, 5))
# JAX has products of float16 with a float32 result on GPUs only, and its attention is made of them.
half("products in float32", lambda x, a, b: x.numpy.matmul(a, b, preferred_element_type=np.float32), F, floats(4, 5),
     dtypes=["bfloat16"])
half("attention", lambda x, q, k, v: x.nn.dot_product_attention(q, k, v, is_causal=True), SELF, GROUPED, GROUPED,
     tolerance=2e-2, dtypes=["bfloat16"])
half("mixed", lambda x, a: [a * np.float32(2), a + np.ones(4, np.float32), a + 1, a * 2.5], F)
