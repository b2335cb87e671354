# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft.nn.initializers has the numbers of jax.nn.initializers.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import weft  # noqa: E402
from running import evaluate  # noqa: E402

SHAPE = (3, 3, 6, 10)
FAMILIES = ["glorot_uniform", "glorot_normal", "xavier_uniform", "xavier_normal", "lecun_uniform", "lecun_normal",
            "he_uniform", "he_normal", "kaiming_uniform", "kaiming_normal"]
INITIALIZERS = {
    "zeros": lambda i: i.zeros,
    "ones": lambda i: i.ones,
    "constant": lambda i: i.constant(0.3),
    "uniform": lambda i: i.uniform(),
    "normal": lambda i: i.normal(0.02),
    "truncated_normal": lambda i: i.truncated_normal(0.1, lower=-1.0),
    "fan_out": lambda i: i.variance_scaling(2.0, "fan_out", "normal"),
    "fan_geo_avg": lambda i: i.variance_scaling(1.5, "fan_geo_avg", "uniform", in_axis=(0, 1), out_axis=3,
                                                batch_axis=(2,)),
    "axes": lambda i: i.he_normal(in_axis=-1, out_axis=-2, batch_axis=0),
    **{name: lambda i, name=name: getattr(i, name)() for name in FAMILIES},
}


def values(initializers, key):
    return {f"{name} {dtype}": initializer(initializers)(key, SHAPE, dtype).astype("float32")
            for name, initializer in INITIALIZERS.items() for dtype in ("float32", "bfloat16")}


@pytest.fixture(scope="module")
def found_and_expected():
    with jax.threefry_partitionable(True):
        expected = values(jax.nn.initializers, jax.random.key(3))
    return evaluate(lambda key: values(weft.nn.initializers, key), weft.random.key(3)), expected


@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-6), ("bfloat16", 2**-7)])
@pytest.mark.parametrize("name", INITIALIZERS)
def test_numbers(found_and_expected, name, dtype, tolerance):
    found, expected = (results[f"{name} {dtype}"] for results in found_and_expected)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def test_all_of_jax_but_orthogonal_ones():
    names = {name for name in dir(jax.nn.initializers) if not name.startswith("_") and name != "Initializer"}
    assert {name for name in names if not hasattr(weft.nn.initializers, name)} == {"delta_orthogonal", "orthogonal"}
    # The default types are the same.
    assert evaluate(lambda key: weft.nn.initializers.he_normal()(key, (2, 2)), weft.random.key(0)).dtype == np.float32
