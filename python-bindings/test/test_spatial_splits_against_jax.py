# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and pooling over images that are split over space, against JAX: the same numbers, and
no bytes but those of the elements that windows cover of the shards of others.

Runs where JAX is installed: build/venv-jax, which scripts/setup.sh makes.
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

# Name: shapes of lhs and kernel, arguments of conv_general_dilated.
CONVOLUTIONS = {
    "same": ((2, 16, 12, 3), (3, 3, 3, 4), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE)),
    "strided": ((2, 16, 16, 3), (3, 3, 3, 4), ((2, 2), "SAME"), dict(dimension_numbers=IMAGE)),
    "strided, odd rows of a shard": ((2, 12, 12, 3), (3, 3, 3, 4), ((2, 1), "SAME"), dict(dimension_numbers=IMAGE)),
    "wide": ((1, 32, 8, 2), (7, 7, 2, 3), ((2, 2), [(3, 3), (3, 3)]), dict(dimension_numbers=IMAGE)),
    "valid": ((2, 16, 12, 3), (5, 5, 3, 4), ((1, 1), "VALID"), dict(dimension_numbers=IMAGE)),
    "odd": ((2, 15, 13, 3), (3, 3, 3, 4), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE)),
    "odd, strided": ((2, 15, 13, 3), (3, 3, 3, 4), ((2, 2), "SAME"), dict(dimension_numbers=IMAGE)),
    "odd, valid": ((2, 17, 11, 3), (4, 3, 3, 4), ((1, 2), "VALID"), dict(dimension_numbers=IMAGE)),
    "one by one": ((2, 8, 8, 4), (1, 1, 4, 6), ((1, 1), "VALID"), dict(dimension_numbers=IMAGE)),
    "strided one by one": ((2, 16, 8, 3), (1, 1, 3, 4), ((2, 2), "VALID"), dict(dimension_numbers=IMAGE)),
    "stride above the kernel": ((2, 24, 12, 3), (2, 2, 3, 4), ((3, 3), "VALID"), dict(dimension_numbers=IMAGE)),
    "dilated": ((2, 16, 16, 2), (3, 3, 2, 3), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE, rhs_dilation=(2, 3))),
    "spread": ((2, 8, 8, 2), (3, 4, 2, 3), ((1, 1), [(1, 1), (2, 1)]),
               dict(dimension_numbers=IMAGE, lhs_dilation=(2, 2))),
    "spread by three": ((2, 8, 8, 2), (3, 3, 2, 3), ((2, 1), [(2, 1), (1, 1)]),
                        dict(dimension_numbers=IMAGE, lhs_dilation=(3, 3))),
    "removed": ((2, 16, 12, 2), (3, 3, 2, 3), ((1, 1), [(-1, 1), (1, -1)]), dict(dimension_numbers=IMAGE)),
    "causal": ((2, 32, 4), (4, 4, 5), ((1,), [(3, 0)]), dict(dimension_numbers=ROW)),
    "halos of whole shards": ((1, 8, 8, 2), (7, 7, 2, 2), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE)),
    "volume": ((1, 8, 8, 4, 2), (3, 3, 2, 2, 3), ((1, 2, 1), "SAME"), dict(dimension_numbers=VOLUME)),
    "groups": ((2, 16, 8, 6), (3, 3, 2, 9), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE, feature_group_count=3)),
    "depthwise": ((2, 16, 8, 4), (3, 3, 1, 4), ((2, 2), "SAME"),
                  dict(dimension_numbers=IMAGE, feature_group_count=4)),
    "features first": ((2, 3, 16, 16), (4, 3, 3, 3), ((1, 1), "SAME"), {}),
    "to one feature": ((2, 16, 16, 8), (3, 3, 8, 1), ((1, 1), "SAME"), dict(dimension_numbers=IMAGE)),
    "as large as the image": ((2, 8, 8, 3), (8, 8, 3, 4), ((1, 1), "VALID"), dict(dimension_numbers=IMAGE)),
}

# Name: shape, windows, strides, padding, further arguments of reduce_window.
WINDOWS = {
    "halves": ((2, 16, 8, 3), (1, 2, 2, 1), (1, 2, 2, 1), "VALID", {}),
    "odd": ((2, 15, 13, 2), (1, 2, 3, 1), (1, 2, 3, 1), "VALID", {}),
    "overlapping": ((2, 16, 16, 2), (1, 3, 3, 1), (1, 2, 2, 1), "SAME", {}),
    "at each element": ((2, 16, 16, 2), (1, 3, 3, 1), (1, 1, 1, 1), "SAME", {}),
    "overlapping, valid": ((2, 17, 13, 2), (1, 3, 3, 1), (1, 2, 2, 1), "VALID", {}),
    "gaps": ((2, 32, 2), (1, 2, 1), (1, 4, 1), "VALID", {}),
    "dilated": ((2, 16, 2), (1, 3, 1), (1, 1, 1), "VALID", dict(window_dilation=(1, 2, 1))),
    "global": ((2, 8, 8, 5), (1, 8, 8, 1), (1, 1, 1, 1), "VALID", {}),
    "padded": ((2, 16, 3), (1, 5, 1), (1, 2, 1), [(0, 0), (2, 2), (0, 0)], {}),
    "removed": ((2, 16, 3), (1, 3, 1), (1, 1, 1), [(0, 0), (-1, 2), (0, 0)], {}),
}

MESHES = {
    "2": (weft.Mesh((2,), ("x",)), "x", None),
    "4": (weft.Mesh((4,), ("x",)), "x", None),
    "3": (weft.Mesh((3,), ("x",)), "x", None),
    "2 x 2": (weft.Mesh((2, 2), ("x", "y")), "x", "y"),
    "second": (weft.Mesh((2, 2), ("x", "y")), None, ("y", "x")),
}


def arrays(shapes, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)


def convolution(lax, x, w, *, name):
    _, _, arguments, options = CONVOLUTIONS[name]
    return lax.conv_general_dilated(x, w, *arguments, **options)


def reduction(lax, x, *, name, kind):
    _, windows, strides, padding, options = WINDOWS[name]
    if kind != "add" and (options or name == "removed"):
        x = lax.stop_gradient(x)  # JAX has no derivative of these
    init = {"add": 0.0, "max": -np.inf, "min": np.inf}[kind]
    return lax.reduce_window(x, init, getattr(lax, kind), windows, strides, padding, **options)


def step(lax, np_, calls, grad):
    """The results of functions, and the gradients of the sum of all squares, by name."""
    def loss(values):
        results = {name: call(lax, *values[name]) for name, call in calls.items()}
        return sum(np_.sum(np_.square(r)) for r in results.values()), results

    return lambda values: grad(loss, has_aux=True)(values)


def close(got, want, what, tolerance=2e-5):
    got, want = (np.asarray(a).astype(np.float32) for a in (got, want))
    assert got.shape == want.shape, what
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(np.abs(want).max(), 1e-30), err_msg=what)


def images(shape, first, second, is_channels_first=False):
    """Split over the first two dimensions of space."""
    spatial = range(2, len(shape)) if is_channels_first else range(1, len(shape) - 1)
    dims = dict(zip(spatial, (first, second)))
    return P(*[dims.get(dim) for dim in range(len(shape))])


def check(calls, values, mesh, specs, source):
    in_jax = step(jlax, jnp, calls, jax.value_and_grad)
    if source == "jax":
        program = weft.from_jax(in_jax, values, mesh=mesh, in_shardings=(specs,)).compile()
    else:
        program = weft.jit(step(wlax, wnp, calls, weft.value_and_grad), mesh=mesh,
                           in_shardings=(specs,)).lower(values).compile()
    (_, results), gradients = program(values)
    (_, wanted), slopes = jax.jit(in_jax)(values)
    for name in calls:
        close(results[name], wanted[name], name)
        for i, (got, want) in enumerate(zip(gradients[name], slopes[name], strict=True)):
            close(got, want, f"gradient {i} of {name}")


def spatial(name, shape, mesh):
    """Split over space; the first dimension of one alone where only the second axes are given."""
    _, first, second = MESHES[mesh]
    if len(shape) == 3:
        first, second = first or second, None
    return images(shape, first, second, name == "features first")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", ["weft", "jax"])
@pytest.mark.parametrize("mesh", list(MESHES))
@pytest.mark.parametrize("part", [0, 1, 2])
def test_convolutions(part, mesh, source):
    """A third of the cases is one program, which keeps it quick."""
    names = list(CONVOLUTIONS)[part::3]
    values = {name: arrays(CONVOLUTIONS[name][:2], seed) for seed, name in enumerate(names)}
    specs = {name: (spatial(name, values[name][0].shape, mesh), P()) for name in names}
    check({name: partial(convolution, name=name) for name in names}, values, MESHES[mesh][0], specs, source)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", ["weft", "jax"])
@pytest.mark.parametrize("kind", ["add", "max", "min"])
@pytest.mark.parametrize("mesh", list(MESHES))
def test_windows(kind, mesh, source):
    values = {name: arrays([case[0]], seed) for seed, (name, case) in enumerate(WINDOWS.items())}
    specs = {name: (spatial(name, x.shape, mesh),) for name, (x,) in values.items()}
    check({name: partial(reduction, name=name, kind=kind) for name in WINDOWS}, values, MESHES[mesh][0], specs, source)


def sent(program):
    """Bytes that the busiest rank sends, by kind of collective."""
    bytes_ = {}
    for c in program.collectives():
        bytes_[c.kind] = bytes_.get(c.kind, 0) + c.total_bytes
    return bytes_


def halo(size, stride, ways):
    """Rows that the busiest of so many ranks sends, for windows with the padding SAME."""
    before = (size - stride) // 2
    behind = size - stride - before
    return max(before, behind) if ways == 2 else before + behind


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [3, 5, 7])
@pytest.mark.parametrize("ways", [2, 4, 8])
def test_bytes_of_a_convolution(ways, size, stride):
    """The rows at the borders, once in the forward pass and once for the derivative by the kernel; what
    comes back for the derivative by the image are the windows that cover elements of others."""
    shapes = (2, 16 * ways, 24, 8), (size, size, 8, 16)
    x, w = arrays(shapes)
    mesh, split = weft.Mesh((ways,), ("x",)), P(None, "x")

    def convolve(x, w):
        return wlax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=IMAGE)

    forward = weft.jit(convolve, mesh=mesh, in_shardings=(split, P()), out_shardings=split).lower(x, w).compile()
    rows = halo(size, stride, ways) * 2 * 24 * 8 * 4
    assert sent(forward) == {"exchange": rows}
    close(forward(x, w), jlax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=IMAGE), "result")

    def loss(w, x):
        return wnp.sum(wnp.square(convolve(x, w)))

    by_kernel = weft.jit(weft.grad(loss), mesh=mesh, in_shardings=(P(), split)).lower(w, x).compile()
    assert sent(by_kernel)["exchange"] == 2 * rows
    assert set(sent(by_kernel)) == {"exchange", "all_reduce"}
    assert sent(by_kernel)["all_reduce"] == 2 * (ways - 1) / ways * w.nbytes

    def loss_of_image(x, w):
        return loss(w, x)

    by_image = weft.jit(weft.grad(loss_of_image), mesh=mesh, in_shardings=(split, P())).lower(x, w).compile()
    # Windows that cover elements of a shard, without its own.
    before, behind = (size - stride) // 2, size - stride - (size - stride) // 2
    after, ahead = -(-behind // stride), -(-before // stride)
    windows = max(after, ahead) if ways == 2 else after + ahead
    assert sent(by_image) == {"exchange": rows + windows * 2 * (24 // stride) * 16 * 4}


@pytest.mark.parametrize("kind", ["max", "add"])
@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2), (3, 1), (5, 2)])
@pytest.mark.parametrize("ways", [2, 4])
def test_bytes_of_a_pooling(ways, size, stride, kind):
    """The rows at the borders; those that windows add to in the derivative, and for maxima what the
    windows are of, which both passes share."""
    x, = arrays([(2, 8 * ways, 12, 4)])
    mesh, split = weft.Mesh((ways,), ("x",)), P(None, "x")
    call = partial(wlax.reduce_window, init_value={"max": -np.inf, "add": 0.0}[kind],
                   computation=getattr(wlax, kind), window_dimensions=(1, size, 1, 1),
                   window_strides=(1, stride, 1, 1), padding="SAME")

    def loss(x):
        return wnp.sum(wnp.square(call(x)))

    program = weft.jit(weft.grad(loss), mesh=mesh, in_shardings=(split,)).lower(x).compile()
    rows = halo(size, stride, ways) * 2 * 12 * 4 * 4
    assert sent(program) == ({"exchange": 2 * rows} if size > stride else {})
