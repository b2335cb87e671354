# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of JAX whose ops arrive in more than one form: of x and y, matrices of 8 x 8 floats, and of
i, integers from 0 to 7."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# The number of elements that are special keeps their rows apart from others.
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0, 2.0, -2.0]


def arguments():
    random = np.random.default_rng(0)
    x = random.normal(size=(8, 8)).astype(np.float32)
    x[3] = SPECIAL
    x[5, 1::2] = x[5, 0]
    y = (np.abs(random.normal(size=(8, 8))) + 0.5).astype(np.float32)
    return x, y, random.integers(0, 8, (8, 8)).astype(np.int32)


FORWARD = {
    "argmax": lambda x, y, i: (jnp.argmax(x), jnp.argmax(x, 1), jnp.argmax(x, 0), lax.argmax(x, 1, "int8")),
    "argmin": lambda x, y, i: (jnp.argmin(x, 1), jnp.argmin(x > 0, 1), jnp.argmin(i.astype("uint32"), 0)),
    "argmax of rows": lambda x, y, i: jax.vmap(jnp.argmax)(y),
    "nanargmax": lambda x, y, i: jnp.nanargmax(x, 1),
    "prod": lambda x, y, i: (jnp.prod(y), jnp.prod(x, 1), jnp.prod(i, 0), jnp.prod(y.astype("bfloat16"), (0, 1))),
    "bits": lambda x, y, i: [lax.reduce(i, np.int32(init), f, (1,)) for init, f in (
        (0, lax.bitwise_or), (-1, lax.bitwise_and), (0, lax.bitwise_xor))],
    "sort": lambda x, y, i: (jnp.sort(x), jnp.sort(x, 0), jnp.sort(x, descending=True), jnp.sort(i.astype("uint8")),
                             jnp.sort(x.astype("bfloat16"), 1), jnp.sort(x > 0, 1)),
    "argsort": lambda x, y, i: (jnp.argsort(x), jnp.argsort(i, 0), jnp.argsort(i, descending=True, stable=True)),
    # By the instruction of CPUs, with equal elements.
    "long sort": lambda x, y, i: jnp.argsort(i.ravel()[:40]),
    "sort of several": lambda x, y, i: (lax.sort((i, y), num_keys=1), lax.sort((i, i % 3, x), num_keys=2),
                                        jnp.lexsort((i[0], i[1]))),
    "top_k": lambda x, y, i: (lax.top_k(x, 3), lax.top_k(x.ravel(), 20), lax.top_k(i, 2), jax.vmap(lambda v: lax.top_k(v, 1))(y)),
    "selection": lambda x, y, i: (jnp.median(y), jnp.percentile(y, 30, axis=1), jnp.unique(i, size=6),
                                  jnp.searchsorted(jnp.sort(y[0]), y[1])),
    "set": lambda x, y, i: (x.at[i[0]].set(y), x.at[:, i[0]].set(0), x.at[i[0], i[1]].set(y[0]), x.at[2].set(y[0]),
                            x.at[i[0]].set(y, unique_indices=False, mode="drop"), (x > 0).at[i[0]].set(True)),
    "boxes": lambda x, y, i: (
        x.at[1:3, ::2].set(y[:2, :4]), x.at[i[0], 1:4].multiply(y[:, :3]), x[i[0], 1:4],
        lax.dynamic_update_slice(x, y[:2, :3], (i[0, 0], i[0, 1])),
        jax.vmap(lambda v, at: lax.dynamic_slice(v.reshape(2, 4), (at[0], at[1]), (1, 2)))(x, i),
        jax.vmap(lambda v, at, u: lax.dynamic_update_slice(v.reshape(2, 4), u.reshape(2, 4)[:1, :2], (at[0], at[1])))(x, i, y)),
    "outside": lambda x, y, i: x.at[i[0] - 3].set(y),
    "scatter": lambda x, y, i: [getattr(y.at[i[0]], name)(x) for name in ("multiply", "min", "max")],
    "scatter of all": lambda x, y, i: [getattr(y.at[:], name)(y + 1) for name in ("set", "add", "multiply", "min", "max")],
    "scatter of elements": lambda x, y, i: [getattr(y.at[i[0], i[1]], name)(2) for name in (
        "set", "multiply", "min", "max", "divide")],
    "scatter of integers": lambda x, y, i: (i.astype("uint32").at[i[2]].max(i[3].astype("uint32")),
                                            (x > 0).at[i[0]].max(y > 1)),
    "scatter of rows": lambda x, y, i: jax.vmap(lambda v, at, u: v.at[at].max(u))(y, i, x),
    "segments": lambda x, y, i: [f(y, i[0], 4) for f in (
        jax.ops.segment_sum, jax.ops.segment_max, jax.ops.segment_min, jax.ops.segment_prod)],
    "counts": lambda x, y, i: (jnp.bincount(i.ravel(), length=9), jnp.nonzero(x > 0, size=9)),
    "special functions": lambda x, y, i: [f(jnp.concatenate([y, x[:3], 10 * x[4:]])) for f in (
        jax.scipy.special.gammaln, jax.scipy.special.digamma, jax.scipy.special.i1, jax.scipy.special.i1e)],
    "zeta": lambda x, y, i: (
        jax.scipy.special.zeta(y + 1, 3 * y), jax.scipy.special.zeta(i.astype(y.dtype), 2 * x), jax.scipy.special.polygamma(i, 2 * x),
        lax.polygamma(x, y), jax.scipy.special.polygamma(2, y.astype("bfloat16"))),
    "nextafter": lambda x, y, i: (jnp.nextafter(x, y), jnp.nextafter(x, -y), jnp.nextafter(y, x), [
        jnp.nextafter(x.astype(t), y.astype(t)) for t in ("bfloat16", "float16")]),
    "mulhi": lambda x, y, i: [lax.mulhi(i.astype(t) * 25 - 60, i.T.astype(t) * 31) for t in (
        "int32", "uint32", "int8", "uint8", "int16", "uint16")] + [lax.mulhi(i * 987654321, i.T * 2147483)],
    "cumlogsumexp": lambda x, y, i: (lax.cumlogsumexp(x, 1), lax.cumlogsumexp(jnp.where(x > 0, 90 * x, -jnp.inf), 0, reverse=True),
                                     lax.cumlogsumexp(y.astype("bfloat16"), 0)),
    "subtract": lambda x, y, i: (y.at[i[0]].subtract(x), i.at[i[0], i[1]].subtract(i[2]), lax.scatter_sub(
        y, i[:3, :1], x[:3], lax.ScatterDimensionNumbers((1,), (0,), (0,)))),
    "approx_max_k": lambda x, y, i: (lax.approx_max_k(y, 3), lax.approx_min_k(y, 2, reduction_dimension=0)),
    "gcd": lambda x, y, i: (jnp.gcd(i * 6, i.T * 4 - 9), jnp.lcm(i.astype("int8"), jnp.int8(6)),
                            jnp.gcd(jnp.uint32(2971215073), jnp.uint32([1836311903, 0, 3, 2971215073]))),
    "half normal": lambda x, y, i: [lax.erf_inv(jnp.tanh(x).astype(t)) for t in ("bfloat16", "float16")],
    "windows": lambda x, y, i: (lax.reduce_window(x, 1.0, lax.mul, (2, 3), (1, 2), "SAME"), lax.reduce_window(
        y, -jnp.inf, jnp.logaddexp, (3, 1), (2, 1), "VALID"), lax.reduce_window(
        y.astype("bfloat16"), jnp.bfloat16(1), lax.mul, (2, 2), (2, 1), "SAME")),
    # Functions that JAX calls within the region of an op.
    "calls in regions": lambda x, y, i: (lax.reduce(y, -jnp.inf, jax.jit(lax.max), (0,)), lax.reduce(
        i, 0, jax.jit(lambda a, b: jax.jit(lax.bitwise_or)(a, b)), (1,))),
    "parity": lambda x, y, i: lax.reduce(x > 0, False, lax.bitwise_xor, (0,)),
}
# The sum of what they return is differentiated with respect to y.
DIFFERENTIABLE = {
    "prod": lambda x, y, i: jnp.prod(y, 1),
    "sort": lambda x, y, i: (jnp.sort(y), jnp.sort(y, 0), lax.sort((i, y), num_keys=2)[1]),
    "top_k": lambda x, y, i: lax.top_k(y, 3)[0],
    "median": lambda x, y, i: jnp.median(y, 1),
    "cumlogsumexp": lambda x, y, i: lax.cumlogsumexp(y, 1),
    "set": lambda x, y, i: (y.at[i[0]].set(2), jnp.ones((8, 8)).at[i[0], :].set(y)),
    "scatter": lambda x, y, i: (y.at[jnp.array([3, 1])].multiply(y[:2], unique_indices=True), y.at[i[0]].max(y[::-1] + 0.1)),
    "special functions": lambda x, y, i: (jax.scipy.special.gammaln(y), jax.scipy.special.i0e(y), jax.scipy.special.digamma(y)),
}
