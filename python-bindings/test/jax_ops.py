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
    "parity": lambda x, y, i: lax.reduce(x > 0, False, lax.bitwise_xor, (0,)),
}
# The sum of what they return is differentiated with respect to y.
DIFFERENTIABLE = {
    "prod": lambda x, y, i: jnp.prod(y, 1),
}
