# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers of 8 and 16 bits, signed and unsigned, imported from JAX, against JAX: on one device and split over four.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

import weft  # noqa: E402
from weft import P  # noqa: E402

DTYPES = ["int8", "uint8", "int16", "uint16"]


def everything(x, y, f):
    """Elementwise ops, which wrap around, conversions, movements, orders and reductions, in the type itself."""
    own = x.dtype
    return {
        "arithmetic": (x + y, x - y, x * y, -x, x // jnp.maximum(y, 1), x % jnp.maximum(y, 1), jnp.abs(x), jnp.sign(x)),
        "bits": (x & y, x | y, x ^ y, ~x, x << 3, x >> 2, lax.shift_right_logical(x, jnp.full_like(x, 2)),
                 lax.population_count(x), lax.clz(x)),
        "orders": (x < y, x >= y, jnp.minimum(x, y), jnp.maximum(x, y), jnp.clip(x, 3, 90)),
        "conversions": (x.astype("float32"), x.astype("int32"), x.astype("int8"), x.astype("uint16"), f.astype(own),
                        (x > 3).astype(own), lax.bitcast_convert_type(x, f"uint{8 * own.itemsize}"), x.astype("bfloat16")),
        "movements": (x.T, x[:, ::-1], x[1:5, 2:], jnp.concatenate([x, y], 1), jnp.pad(x, 1, constant_values=7),
                      jnp.where(x > y, x, 0), x.reshape(4, -1)),
        "sums": (lax.reduce(x, own.type(0), lax.add, (0,)), lax.reduce(x, own.type(0), lax.add, (0, 1)), jnp.sum(x),
                 jnp.max(x, 0), jnp.min(x), jnp.cumsum(x, 0, dtype=own), jnp.prod(x[:2], dtype=own)),
        "sorts": (jnp.sort(x, 0), jnp.sort(x, 1, descending=True), jnp.argsort(x, 1), jnp.argmax(x, 0), lax.top_k(x, 2)),
        "products": (x @ y.T, jnp.einsum("ij,kj->ki", x, x), lax.dot(x, y.T, preferred_element_type=jnp.int32),
                     lax.dot(x % own.type(50), y.T % own.type(50), preferred_element_type=jnp.float32),
                     x @ y.T.astype("int32"), (x > 3) @ (y > 3).T,
                     lax.dot(x > 3, (y > 3).T, preferred_element_type=jnp.int32), x[0] @ y[1],
                     jnp.einsum("bij,bkj->bik", x.reshape(2, 4, 6), y.reshape(2, 4, 6))),
        "windows": (lax.reduce_window(x, own.type(0), lax.add, (3, 2), (1, 2), "SAME"),
                    lax.reduce_window(x, own.type(np.iinfo(own).min), lax.max, (2, 3), (2, 1), ((1, 0), (0, 2))),
                    lax.reduce_window(x, own.type(5), lax.min, (2, 1), (1, 1), "VALID", window_dilation=(3, 1)),
                    lax.reduce_window(x, own.type(1), lax.mul, (2, 2), (1, 1), "VALID", base_dilation=(2, 3)),
                    lax.reduce_window(x, own.type(0), lax.bitwise_xor, (1, 3), (1, 2), "VALID"),
                    lax.reduce_window(x > 3, False, lax.bitwise_or, (3, 1), (1, 1), "SAME")),
        "convolutions": (lax.conv(x.reshape(2, 4, 6), y[:5].reshape(5, 2, 3)[:, :1].repeat(4, 1), (1,), "SAME"),
                         lax.conv_general_dilated(x.reshape(2, 6, 4), y[:3, :4].reshape(3, 2, 2), (2,), [(2, -1)], (1,), (2,),
                                                  ("NHC", "HIO", "NHC"), 2, preferred_element_type=jnp.int32),
                         lax.conv_general_dilated(x.reshape(2, 6, 4), y.reshape(3, 4, 4), (1,), [(2, 3)], (3,), (1,),
                                                  ("NHC", "HIO", "NHC"))),
        "widths": (x.view("uint8"), x.view("uint16"), lax.bitcast_convert_type(f, own),
                   lax.bitcast_convert_type(x.reshape(-1, 2, 4 // own.itemsize), jnp.uint32),
                   lax.bitcast_convert_type(lax.bitcast_convert_type(f, own), jnp.float32)),
        "lookups": (f[jnp.minimum(y, 7)], jnp.take_along_axis(x, jnp.minimum(y, 5), 1), x.at[2:4].add(own.type(100)),
                    x.at[jnp.minimum(y[0], 7)].max(y[1]), jax.nn.one_hot(jnp.minimum(y[0], 7), 8, dtype=own)),
    }


def arguments(dtype):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, (8, 6), dtype, endpoint=True) for _ in range(2))
    return x, np.maximum(y, 0).astype(dtype), rng.uniform(-300, 70000, (8, 6)).astype(np.float32)


@pytest.mark.parametrize("specs", [None, (P("a", "b"), P("a", "b"), P()), (P(("a", "b")), P(None, "a"), P("b"))], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_as_in_jax(dtype, specs):
    values = arguments(dtype)
    sharded = {} if specs is None else dict(mesh=weft.Mesh((2, 2), ("a", "b")), in_shardings=specs)
    found = weft.from_jax(everything, *values, **sharded).compile()(*values)
    wanted = jax.jit(everything)(*values)
    for name, parts in wanted.items():
        for number, (a, b) in enumerate(zip(jax.tree.leaves(found[name]), jax.tree.leaves(parts), strict=True)):
            assert a.dtype == b.dtype, f"{name} {number}"
            np.testing.assert_array_equal(np.asarray(a, "float64"), np.asarray(b, "float64"), f"{name} {number}")
