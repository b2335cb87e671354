# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft.random: the same numbers under any sharding, and of the right distribution."""

import numpy as np
import pytest

pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import weft  # noqa: E402
from running import evaluate  # noqa: E402
from weft import P, random  # noqa: E402

KEY = random.key(7)
DRAWS = {
    "uniform": lambda key: random.uniform(key, (8, 16)),
    "normal": lambda key: random.normal(key, (8, 16)),
    "bernoulli": lambda key: random.bernoulli(key, 0.3, (8, 16)),
    "randint": lambda key: random.randint(key, (8, 16), 0, 10),
    "float64": lambda key: random.uniform(key, (8, 16), "float64"),
}


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_do_not_depend_on_the_sharding(name):
    whole = evaluate(DRAWS[name], KEY)
    assert len(np.unique(whole)) > 1
    for sizes, spec in (((2, 2), P("a", "b")), ((2, 2), P(None, ("b", "a"))), ((4, 1), P("a"))):
        mesh = weft.Mesh(sizes, ("a", "b"))
        np.testing.assert_array_equal(evaluate(DRAWS[name], KEY, mesh=mesh, out_shardings=spec), whole)


def test_distributions():
    draws = evaluate(lambda key: {
        "uniform": random.uniform(key, (20000,)),
        "normal": random.normal(key, (20000,)),
        "truncated": random.truncated_normal(key, -1.0, 2.0, (20000,)),
        "bernoulli": random.bernoulli(key, 0.3, (20000,)),
        "randint": random.randint(key, (20000,), -2, 3),
        "exponential": random.exponential(key, (20000,)),
        "float64": random.uniform(key, (20000,), "float64"),
    }, KEY)
    for name, mean, deviation in (("uniform", 0.5, 12**-0.5), ("normal", 0, 1), ("bernoulli", 0.3, 0.21**0.5),
                                  ("randint", 0, 2**0.5), ("exponential", 1, 1), ("float64", 0.5, 12**-0.5)):
        # Five standard errors.
        assert abs(draws[name].mean() - mean) < 5 * deviation / 20000**0.5, name
        assert abs(draws[name].std() - deviation) < 0.05 * deviation, name
    assert draws["uniform"].min() >= 0 and draws["uniform"].max() < 1
    assert draws["truncated"].min() > -1 and draws["truncated"].max() < 2
    assert sorted(np.unique(draws["randint"])) == [-2, -1, 0, 1, 2]
    assert draws["float64"].dtype == np.float64


def test_keys():
    def keys(key):
        split = random.split(key, 4)
        return split, random.fold_in(key, 100), random.key(weft.numpy.asarray(7)), random.split(split[0])

    split, folded, same, more = evaluate(keys, KEY)
    assert split.shape == (4, 2) and split.dtype == np.int32 and KEY.tolist() == [0, 7]
    assert len({tuple(k) for k in [*split, *more, folded, KEY]}) == 8
    np.testing.assert_array_equal(same, KEY)
