# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long sums are as exact as docs/Numerics.md says: at least as near to the sum of the numbers
as NumPy's, which adds in pairs, whatever is summed over which dimension."""

import math

import numpy as np
import pytest
from conftest import succeed

MESH = 'weft.mesh @mesh = <["x"=1]>\n'


def tensor(shape, element):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def total_of(shape, dims, repeats, element="f32"):
    """The entry that sums `repeats` copies of %x, put in front of it, over `dims` of the result:
    more numbers than a test has time to write."""
    whole = tuple(repeats) + tuple(shape)
    kept = tuple(size for dim, size in enumerate(whole) if dim not in dims)
    into = list(range(len(repeats), len(whole)))
    return MESH + f"""
func.func @main(%x: {tensor(shape, element)} {{weft.name = "x"}})
    -> ({tensor(kept, element)} {{weft.name = "sum"}}) {{
  %all = weft.broadcast %x dims = {into} : {tensor(shape, element)} -> {tensor(whole, element)}
  %sum = weft.reduce sum %all dims = {list(dims)} : {tensor(whole, element)} -> {tensor(kept, element)}
  return %sum : {tensor(kept, element)}
}}
"""


def numbers(kind, shape, dtype):
    random = np.random.default_rng(7)
    if kind == "tenths":
        return np.full(shape, 0.1, dtype)
    if kind == "uniform":
        return random.uniform(0, 1, shape).astype(dtype)
    if kind == "normal":
        return random.normal(0, 1, shape).astype(dtype)
    # Most of it is cancelled.
    return (random.normal(0, 1, shape) * 10.0 ** random.integers(-3, 4, shape)).astype(dtype)


def exact_sums(x, repeats, dims, whole):
    """Rounded once, of each element of the result; and NumPy's, in pairs along memory."""
    rows = np.broadcast_to(x, whole)
    kept = [dim for dim in range(len(whole)) if dim not in dims]
    rows = np.moveaxis(rows, kept, range(len(kept)))
    rows = np.ascontiguousarray(rows.reshape(math.prod(whole[dim] for dim in kept), -1))
    copies = math.prod(repeats)
    in_repeats = set(range(len(repeats))) <= set(dims)
    exact = [math.fsum(row[:len(row) // copies].tolist()) * copies if in_repeats
             else math.fsum(row.tolist()) for row in rows]
    return np.array(exact), rows.sum(axis=1)


# shape of %x, what is put in front, dimensions: 2^22 to 2^26 numbers, or elements beside them.
SHAPES = {
    "row": ((2**16,), (2**10,), [0, 1]),
    "row-and-one": ((2**22, 1), (), [0]),
    "columns-of-4": ((2**10, 4), (2**10,), [0, 1]),
    "columns-of-3000": ((3000,), (2**10,), [0]),
    "trailing": ((3, 2**20), (), [1]),
    "trailing-and-one": ((3, 100003, 1), (), [1]),
    "middle": ((2, 2**17, 3), (), [1]),
    "odd": ((1000003,), (), [0]),
}
DTYPES = {"f32": np.float32, "f64": np.float64}
LIMITS = {"f32": 2.0**-24, "f64": 2.0**-53}


def compiled(folder, text, *options):
    source, plan = folder / "sum.mlir", folder / "sum.plan"
    source.write_text(text)
    succeed("shard-compile", source, "-o", plan, *options)
    return plan


def run_plan(plan, *arguments):
    succeed("shard-run", plan, *arguments)


def computed(plan, x, runner=run_plan):
    folder = plan.parent
    np.save(folder / "x.npy", x)
    runner(plan, "--quiet", "--input", f"x={folder / 'x.npy'}",
           "--output", f"sum={folder / 'sum.npy'}")
    return np.load(folder / "sum.npy").reshape(-1)


def assert_at_most_numpy(got, exact, numpy, unit, message=""):
    error = np.abs(got.astype(np.float64) - exact)
    # A sum that is rounded once is allowed what lies between two numbers.
    allowed = np.maximum(np.abs(numpy.astype(np.float64) - exact), np.abs(exact) * unit * 1.001)
    assert (error <= allowed).all(), (message, error.max(), allowed.max())


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("element", LIMITS)
def test_error_is_at_most_numpys(name, element, tmp_path):
    shape, repeats, dims = SHAPES[name]
    plan = compiled(tmp_path, total_of(shape, dims, repeats, element))
    for kind in ("tenths", "uniform", "normal", "cancelling"):
        x = numbers(kind, shape, DTYPES[element])
        exact, numpy = exact_sums(x, repeats, dims, tuple(repeats) + tuple(shape))
        assert_at_most_numpy(computed(plan, x), exact, numpy, LIMITS[element], kind)


@pytest.mark.parametrize("element", LIMITS)
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_infinities_and_nans_stay(special, element, tmp_path):
    for shape, dims in [((2, 100), [1]), ((100, 2), [0]), ((2, 50, 3), [1])]:
        x = np.ones(shape, DTYPES[element])
        x.reshape(-1)[1] = special
        got = computed(compiled(tmp_path, total_of(shape, dims, (), element)), x)
        np.testing.assert_array_equal(got, x.sum(axis=tuple(dims)).reshape(-1))


def scattered(updates, indices, rows, element="f32"):
    """The entry that adds updates of shape [n, columns] or [n] to a table of so many rows."""
    count, *columns = updates
    update, table = tensor(updates, element), tensor((rows, *columns), element)
    return MESH + f"""
func.func @main(%u: {update} {{weft.name = "x"}}, %i: {tensor((count,), "i32")} {{weft.name = "indices"}})
    -> ({table} {{weft.name = "sum"}}) {{
  %sum = weft.scatter_add %u, %i dim = 0 : ({update}, {tensor((count,), "i32")}) -> {table}
  return %sum : {table}
}}
"""


def exact_scatter(x, indices, rows):
    """Each element's sum rounded once, and the sum of magnitudes."""
    order = np.argsort(indices, kind="stable")
    order = order[(indices[order] >= 0) & (indices[order] < rows)]
    sums, sizes = (np.zeros((rows, *x.shape[1:])) for _ in range(2))
    starts = np.flatnonzero(np.diff(indices[order], prepend=-1))
    for begin, end in zip(starts, [*starts[1:], len(order)]):
        terms = x[order[begin:end]].astype(np.float64).reshape(end - begin, -1)
        row = indices[order[begin]]
        sums[row] = np.reshape([math.fsum(column.tolist()) for column in terms.T], x.shape[1:])
        sizes[row] = np.abs(terms).sum(0).reshape(x.shape[1:])
    return sums, sizes


# Shape of the updates, rows of the table, rows that the indices are of: equal ones, a table that
# fits the stack, those that are sorted by one, two and three digits, and in several portions.
SCATTERS = {
    "equal": ((2**22,), 4, 1),
    "small-table": ((2**16, 5), 300, 300),
    "one-digit": ((9000, 100), 200, 256),
    "two-digits": ((5000, 17), 30000, 64),
    "three-digits": ((2**15 + 77, 3), 2**17, 2**17),
    "portions": ((2**21,), 10000, 2),
    "one-update": ((1, 100), 200, 200),
}
SORTED_UPDATES = 16384


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("element", LIMITS)
def test_scattered_sums_round_once_a_portion(name, element, tmp_path):
    shape, rows, used = SCATTERS[name]
    plan = compiled(tmp_path, scattered(shape, shape[:1], rows, element))
    random = np.random.default_rng(2)
    indices = random.integers(0, used, shape[0]).astype(np.int32)
    if name != "equal":
        indices[random.integers(0, shape[0], shape[0] // 50)] = -1  # of no row
    np.save(tmp_path / "indices.npy", indices)
    portions = 1 if rows * math.prod(shape[1:]) <= 8192 and element == "f32" else -(-shape[0] // SORTED_UPDATES)
    for kind in ("tenths", "cancelling"):
        x = numbers(kind, shape, DTYPES[element])
        exact, sizes = exact_scatter(x, indices, rows)
        got = computed(plan, x, lambda plan, *arguments: run_plan(
            plan, *arguments, "--input", f"indices={tmp_path / 'indices.npy'}"))
        error = np.abs(got.astype(np.float64) - exact.reshape(-1))
        unit = LIMITS[element]
        allowed = unit * (np.abs(exact) + (portions - 1) * sizes) * 1.001 + shape[0] * 2.0**-53 * sizes * (element == "f32")
        assert (error <= allowed.reshape(-1)).all(), (kind, error.max())
