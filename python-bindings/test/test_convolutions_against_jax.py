# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolution and pooling, written in Weft and imported from JAX, against JAX.

All cases of a test are one program, which keeps it quick. Runs where JAX is installed:
build/venv-jax, which scripts/setup.sh makes.
"""

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="compares with JAX, which is not installed here")
pytest.importorskip("weft._compiler", reason="the compiler's module is not built; PYTHONPATH=build/dev/python has it")

import jax.numpy as jnp  # noqa: E402
from jax import lax as jlax  # noqa: E402

import weft  # noqa: E402
import weft.numpy as wnp  # noqa: E402
from weft import P  # noqa: E402
from weft import lax as wlax  # noqa: E402

ROW, IMAGE, VOLUME = ("NHC", "HIO", "NHC"), ("NHWC", "HWIO", "NHWC"), ("NHWDC", "HWDIO", "NHWDC")

# Name: shapes of lhs and kernel, arguments of conv_general_dilated. Together ranks 1 to 3, strides,
# paddings that add and that remove, both dilations, both kinds of groups, and layouts.
CONVOLUTIONS = {
    "valid": ((2, 7, 6, 3), (3, 2, 3, 4), ((1, 1), "VALID"), dict(dimension_numbers=IMAGE)),
    "same": ((2, 7, 6, 3), (3, 3, 3, 4), ((2, 1), "SAME"), dict(dimension_numbers=IMAGE)),
    "default layout": ((2, 3, 7, 6), (4, 3, 3, 2), ((1, 2), "SAME_LOWER"), {}),
    "mixed layout": ((7, 2, 3, 6), (4, 3, 2, 3), ((1, 1), "VALID"), dict(dimension_numbers=("HNCW", "OHWI", "CNWH"))),
    "one by one": ((2, 4, 4, 6), (1, 1, 6, 5), ((1, 1), "VALID"), dict(dimension_numbers=IMAGE)),
    "strided one by one": ((2, 5, 5, 3), (1, 1, 3, 4), ((2, 2), "VALID"), dict(dimension_numbers=IMAGE)),
    "sequence": ((2, 9, 3), (4, 3, 5), ((2,), [(3, 0)]), dict(dimension_numbers=ROW, rhs_dilation=(2,))),
    "volume": ((2, 4, 5, 3, 2), (2, 3, 2, 2, 3), ((1, 2, 1), "SAME"), dict(dimension_numbers=VOLUME)),
    "removed": ((2, 9, 8, 2), (3, 3, 2, 3), ((2, 1), [(-1, 2), (1, -2)]), dict(dimension_numbers=IMAGE)),
    "large padding": ((1, 3, 2), (2, 2, 3), ((1,), [(4, 3)]), dict(dimension_numbers=ROW)),
    "spread": ((2, 4, 3, 2), (3, 2, 2, 3), ((1, 2), [(2, 1), (0, 2)]),
               dict(dimension_numbers=IMAGE, lhs_dilation=(2, 3))),
    "both dilations": ((1, 5, 6, 2), (2, 3, 2, 2), ((2, 1), [(1, 1), (2, 0)]),
                       dict(dimension_numbers=IMAGE, lhs_dilation=(2, 1), rhs_dilation=(3, 2))),
    "groups": ((2, 5, 6, 6), (3, 2, 2, 9), ((1, 2), "SAME"), dict(dimension_numbers=IMAGE, feature_group_count=3)),
    "depthwise": ((2, 6, 5, 4), (3, 3, 1, 4), ((2, 1), "SAME"), dict(dimension_numbers=IMAGE, feature_group_count=4)),
    "two for each": ((2, 6, 5, 3), (3, 3, 1, 6), ((1, 1), "VALID"), dict(dimension_numbers=IMAGE, feature_group_count=3)),
    "one of two": ((2, 6, 6), (3, 2, 3), ((1,), "SAME"), dict(dimension_numbers=ROW, feature_group_count=3)),
    "large depthwise": ((1, 12, 12, 2), (9, 9, 1, 2), ((1, 1), "SAME"),
                        dict(dimension_numbers=IMAGE, feature_group_count=2)),
    "batch groups": ((6, 5, 4, 3), (2, 3, 3, 4), ((1, 1), "VALID"), dict(dimension_numbers=IMAGE, batch_group_count=2)),
    "whole": ((3, 5, 4, 2), (5, 4, 2, 3), ((1, 1), "VALID"), dict(dimension_numbers=IMAGE)),
    "no space": ((3, 4), (4, 5), ((), []), dict(dimension_numbers=("NC", "IO", "NC"))),
}

# As above: a tensor or, by its padding, a room without elements. What the kernel covers of it is 0.
EMPTY_CONVOLUTIONS = {
    "no batch": ((0, 5, 6, 3), (3, 3, 3, 4), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE)),
    "no space": ((2, 0, 6, 3), (3, 3, 3, 4), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE)),
    "padding alone": ((2, 0, 6, 3), (3, 3, 3, 4), ((1, 1), [(2, 2), (1, 1)]), dict(dimension_numbers=IMAGE)),
    "spread": ((2, 0, 6, 3), (2, 3, 3, 4), ((1, 1), [(2, 2), (1, 1)]), dict(dimension_numbers=IMAGE, lhs_dilation=(2, 1))),
    "no features": ((2, 5, 6, 0), (3, 3, 0, 4), ((2, 1), "VALID"), dict(dimension_numbers=IMAGE)),
    "no result": ((2, 5, 6, 3), (3, 3, 3, 0), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE)),
    "groups of none": ((2, 5, 6, 0), (3, 3, 0, 4), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE, feature_group_count=2)),
    "groups, no result": ((2, 5, 6, 4), (3, 3, 2, 0), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE, feature_group_count=2)),
}

# Name: shape, windows, strides, padding, further arguments of reduce_window.
WINDOWS = {
    "halves": ((2, 6, 4, 3), (1, 2, 2, 1), (1, 2, 2, 1), "VALID", {}),
    "odd": ((2, 7, 5, 2), (1, 2, 3, 1), (1, 2, 3, 1), "VALID", {}),
    "overlapping": ((2, 7, 6, 2), (1, 3, 3, 1), (1, 2, 1, 1), "SAME", {}),
    "gaps": ((2, 9, 2), (1, 2, 1), (1, 4, 1), "VALID", {}),
    "dilated": ((2, 8, 2), (1, 3, 1), (1, 1, 1), "VALID", dict(window_dilation=(1, 2, 1))),
    "spread": ((2, 4, 2), (1, 3, 1), (1, 1, 1), "VALID", dict(base_dilation=(1, 2, 1))),
    "features": ((3, 4, 5), (2, 1, 5), (1, 1, 1), "VALID", {}),
    "global": ((2, 3, 4, 5), (1, 3, 4, 1), (1, 1, 1, 1), "VALID", {}),
    "padded": ((2, 5, 3), (1, 3, 1), (1, 2, 1), [(0, 0), (2, 1), (0, 0)], {}),
    "lines": ((4, 3), (1, 1), (2, 1), "VALID", {}),
}

EMPTY_WINDOWS = {
    "no batch": ((0, 4, 4, 3), (1, 2, 2, 1), (1, 2, 2, 1), "VALID", {}),
    "no space": ((2, 0, 4, 3), (1, 2, 2, 1), (1, 2, 2, 1), "SAME", {}),
    "padding alone": ((2, 0, 4, 3), (1, 2, 2, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (0, 0), (0, 0)], {}),
    "no features": ((2, 4, 4, 0), (1, 2, 2, 1), (1, 2, 2, 1), "VALID", {}),
}


def arrays(shapes, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def losses(lax, np_, cases, calls, inputs):
    """The results of all cases, and the sum of their squares, which gradients are of."""
    results = [call(lax, *values) for call, values in zip(calls, inputs)]
    return sum(np_.sum(np_.square(r.astype("float32"))) for r in results), results


def convolution(lax, x, w, *, name, cases=CONVOLUTIONS):
    _, _, arguments, options = cases[name]
    return lax.conv_general_dilated(x, w, *arguments, **options)


def reduction(lax, x, *, name, kind, cases=WINDOWS):
    _, windows, strides, padding, options = cases[name]
    if kind != "add" and options:
        x = lax.stop_gradient(x)  # JAX has no derivative of these
    init = {"add": 0.0, "max": -np.inf, "min": np.inf}[kind]
    return lax.reduce_window(x, init, getattr(lax, kind), windows, strides, padding, **options)


def in_weft(names, calls, inputs):
    return weft.value_and_grad(lambda v: losses(wlax, wnp, names, calls, v), has_aux=True)(inputs)


def both(names, calls, inputs, tolerance):
    """Results and gradients of Weft, of what it imports from JAX, and of JAX."""
    def in_jax(inputs):
        return jax.value_and_grad(lambda v: losses(jlax, jnp, names, calls, v), has_aux=True)(inputs)

    expected = jax.jit(in_jax)(inputs)
    imported = weft.from_jax(in_jax, inputs).compile()
    for source, got in (("weft", weft.jit(partial(in_weft, names, calls))(inputs)), ("imported", imported(inputs))):
        (_, results), gradients = got
        (_, wanted), slopes = expected
        for name, r, want, g, slope in zip(names, results, wanted, gradients, slopes):
            close(r, want, tolerance, f"{source}: {name}")
            for i, (a, b) in enumerate(zip(g, slope)):
                close(a, b, tolerance, f"{source}: gradient {i} of {name}")


def close(got, want, tolerance, what):
    got, want = (np.asarray(a).astype(np.float32) for a in (got, want))
    assert got.shape == want.shape, what
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max(initial=1e-30), err_msg=what)


def test_convolutions():
    inputs = [tuple(arrays(shapes, seed)) for seed, (*shapes, _, _) in enumerate(CONVOLUTIONS.values())]
    both(list(CONVOLUTIONS), [partial(convolution, name=name) for name in CONVOLUTIONS], inputs, 1e-5)


def test_convolutions_without_elements():
    inputs = [tuple(arrays(shapes, seed)) for seed, (*shapes, _, _) in enumerate(EMPTY_CONVOLUTIONS.values())]
    both(list(EMPTY_CONVOLUTIONS),
         [partial(convolution, name=name, cases=EMPTY_CONVOLUTIONS) for name in EMPTY_CONVOLUTIONS], inputs, 1e-5)


def test_windows_that_do_not_fit_have_no_result():
    """As JAX has it, which also differentiates it; in Weft a window must fit what has elements."""
    def step(x, w):
        return jax.value_and_grad(lambda x, w: (jnp.sum(jlax.conv_general_dilated(
            x, w, (1, 1), "VALID", dimension_numbers=IMAGE)) + jnp.sum(jlax.reduce_window(
                x, -jnp.inf, jlax.max, (1, 3, 1, 1), (1, 1, 1, 1), "VALID"))), (0, 1))(x, w)

    x, w = arrays([(2, 2, 6, 3), (3, 3, 3, 4)])
    value, slopes = weft.from_jax(step, x, w).compile()(x, w)
    assert value == 0
    for slope, of in zip(slopes, (x, w)):
        np.testing.assert_array_equal(slope, np.zeros_like(of))


def test_convolutions_of_16_bits():
    names = ["same", "spread", "groups", "depthwise"]
    inputs = [tuple(arrays(CONVOLUTIONS[name][:2], 0, jnp.bfloat16)) for name in names]
    both(names, [partial(convolution, name=name) for name in names], inputs, 0.02)


@pytest.mark.parametrize("kind", ["add", "max", "min"])
def test_windows(kind):
    inputs = [tuple(arrays([shape], seed)) for seed, (shape, *_) in enumerate(WINDOWS.values())]
    both(list(WINDOWS), [partial(reduction, name=name, kind=kind) for name in WINDOWS], inputs, 1e-5)


@pytest.mark.parametrize("kind", ["add", "max"])
def test_windows_of_nothing(kind):
    inputs = [tuple(arrays([shape], seed)) for seed, (shape, *_) in enumerate(EMPTY_WINDOWS.values())]
    # The maximum of padding is -inf, of which a square is no number to compare.
    names = [name for name in EMPTY_WINDOWS if kind == "add" or name != "padding alone"]
    inputs = [values for name, values in zip(EMPTY_WINDOWS, inputs) if name in names]
    both(names, [partial(reduction, name=name, kind=kind, cases=EMPTY_WINDOWS) for name in names], inputs, 1e-5)


def test_the_maximum_of_padding():
    def pooled(lax, x):
        return reduction(lax, x, name="padding alone", kind="max", cases=EMPTY_WINDOWS)

    x = np.zeros((2, 0, 4, 3), np.float32)
    wanted = np.full((2, 1, 2, 3), -np.inf, np.float32)
    np.testing.assert_array_equal(jax.jit(partial(pooled, jlax))(x), wanted)
    np.testing.assert_array_equal(weft.jit(partial(pooled, wlax))(x), wanted)
    np.testing.assert_array_equal(weft.from_jax(partial(pooled, jlax), x).compile()(x), wanted)


def test_every_split():
    """Each dimension of each operand over 2 and over 4 of 4 ranks, where its size allows."""
    names = ["valid", "same", "default layout", "removed", "spread", "groups", "depthwise", "batch groups"]
    splits = [(name, operand, dim, axes)
              for name in names for operand, shape in enumerate(CONVOLUTIONS[name][:2])
              for dim, size in enumerate(shape) for axes in ("x", ("x", "y"))
              if size % (2 if axes == "x" else 4) == 0]
    assert len(splits) > 30
    inputs = {name: tuple(arrays(CONVOLUTIONS[name][:2])) for name in names}
    specs = [tuple(P(*[None] * dim, axes) if i == operand else P() for i in range(2))
             for _, operand, dim, axes in splits]
    calls = [partial(convolution, name=name) for name, *_ in splits]

    values = [inputs[name] for name, *_ in splits]
    (_, got), slopes = weft.jit(partial(in_weft, splits, calls), mesh=weft.Mesh((2, 2), ("x", "y")),
                                in_shardings=(specs,))(values)
    calls = [partial(convolution, name=name) for name in names]
    (_, one), gradients = weft.jit(partial(in_weft, names, calls))(list(inputs.values()))
    for split, result, slope in zip(splits, got, slopes):
        place = names.index(split[0])
        for a, b in zip((result, *slope), (one[place], *gradients[place])):
            close(a, b, 1e-5, str(split))
