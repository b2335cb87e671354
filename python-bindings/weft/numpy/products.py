# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of tensors. All of them are weft.dot_general and transposes around it."""

import math
from typing import Any, Sequence

from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from . import elementwise as el
from . import reductions as red
from . import shapes as sh


def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any = None,
                preferred_element_type: Any = None, *, function: str = "dot_general") -> Tracer:
    """Multiplies along batching dimensions and sums along contracting ones;
    `dimension_numbers` is ((lhs_contracting, rhs_contracting), (lhs_batching,
    rhs_batching)). The result has batching dimensions, those left of lhs, of rhs.
    Sums are formed in the type of the result; `precision` changes nothing."""
    x, y = el.promoted(lhs, rhs)
    contracting, batching = (tuple(tuple(dims) for dims in pair) for pair in dimension_numbers)
    for kind, pair in (("contracting", contracting), ("batching", batching)):
        _check_pairs(function, kind, x, y, pair)
    result = x.element if preferred_element_type is None else elements.element_type(
        preferred_element_type)
    if x.element.kind != "f" or result.kind != "f" or not contracting[0]:
        return ops.convert(_product_of_elements(x, y, contracting, batching, result), result)
    if result is not x.element and result.bits <= x.element.bits:
        return ops.convert(ops.dot_general(x, y, contracting, batching, x.element), result)
    return ops.dot_general(x, y, contracting, batching, result)


def _check_pairs(function: str, kind: str, x: Tracer, y: Tracer, pair: tuple) -> None:
    if len(pair[0]) != len(pair[1]):
        raise ShapeError(f"{user_line()}: {function}: {len(pair[0])} {kind} dimensions on the left, "
                         f"but {len(pair[1])} on the right")
    for a, b in zip(*pair):
        if x.shape[a] != y.shape[b]:
            raise ShapeError(
                f"{user_line()}: {function}: {kind} dimensions must have one size, but dimension "
                f"{a} of shape {x.shape} is {x.shape[a]} and dimension {b} of shape {y.shape} is "
                f"{y.shape[b]}")


def _product_of_elements(x: Tracer, y: Tracer, contracting: tuple, batching: tuple,
                         result: elements.ElementType) -> Tracer:
    """By broadcasting, multiplying and reducing: where nothing is summed, and of integers,
    for which there is no GEMM."""
    x, y = ops.convert(x, result), ops.convert(y, result)
    free_x = [d for d in range(len(x.shape)) if d not in contracting[0] + batching[0]]
    free_y = [d for d in range(len(y.shape)) if d not in contracting[1] + batching[1]]
    x = ops.transpose(x, [*batching[0], *free_x, *contracting[0]])
    y = ops.transpose(y, [*batching[1], *free_y, *contracting[1]])
    b, c = len(batching[0]), len(contracting[0])
    x = sh.expand_dims(x, tuple(range(b + len(free_x), b + len(free_x) + len(free_y))))
    y = sh.expand_dims(y, tuple(range(b, b + len(free_x))))
    product = el.multiply(x, y)
    rank = len(product.shape)
    kind = "max" if product.element is elements.BOOL else "sum"
    return ops.reduce(kind, product, range(rank - c, rank))


def matmul(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Tracer:
    """The product of matrices in the last two dimensions; others broadcast. A vector
    is a row on the left, a column on the right."""
    a, b = as_tracer(a), as_tracer(b)
    if not a.shape or not b.shape:
        raise ShapeError(f"{user_line()}: matmul takes tensors of rank 1 or more, got shapes "
                         f"{a.shape} and {b.shape}; use * to scale")
    contracting_a, contracting_b = len(a.shape) - 1, max(len(b.shape) - 2, 0)
    if a.shape[contracting_a] != b.shape[contracting_b]:
        raise ShapeError(
            f"{user_line()}: matmul: shapes {a.shape} and {b.shape} do not fit: the last dimension "
            f"of the left, {a.shape[contracting_a]}, must equal dimension {contracting_b} of the "
            f"right, {b.shape[contracting_b]}")
    batch = el.broadcast_shapes(a.shape[:-2], b.shape[:-2], function="matmul")
    letters = iter("abcdefghijklmnopqrstuvw")
    names = [next(letters) for _ in batch]
    # A batch dimension that one side repeats is one that only the other side has.
    a_names, a = _drop_repeated(a, names, batch, 2)
    b_names, b = _drop_repeated(b, names, batch, 2)
    a_matrix = "xz"[-min(len(a.shape) - len(a_names), 2):]
    b_matrix = "zy"[:min(len(b.shape) - len(b_names), 2)]
    out = "".join(names) + a_matrix.replace("z", "") + b_matrix.replace("z", "")
    return _contract(a, "".join(a_names) + a_matrix, b, "".join(b_names) + b_matrix, out,
                     preferred_element_type, "matmul")


def _drop_repeated(x: Tracer, names: list[str], batch: tuple[int, ...], matrix: int
                   ) -> tuple[list[str], Tracer]:
    """Names of the batch dimensions that x really has, and x with these alone."""
    count = max(len(x.shape) - matrix, 0)
    offset = len(batch) - count
    kept = [d for d in range(count) if x.shape[d] == batch[offset + d]]
    shape = tuple(x.shape[d] for d in kept) + x.shape[count:]
    return [names[offset + d] for d in kept], ops.reshape(x, shape)


def _contract(x: Tracer, x_names: str, y: Tracer, y_names: str, out: str, preferred: Any,
              function: str) -> Tracer:
    """The einsum of two tensors of which every name is in the other or in `out`."""
    batch = [n for n in x_names if n in y_names and n in out]
    summed = [n for n in x_names if n in y_names and n not in out]
    result = dot_general(
        x, y, (([x_names.index(n) for n in summed], [y_names.index(n) for n in summed]),
               ([x_names.index(n) for n in batch], [y_names.index(n) for n in batch])),
        preferred_element_type=preferred, function=function)
    names = batch + [n for n in x_names if n not in batch + summed] + [
        n for n in y_names if n not in batch + summed]
    return ops.transpose(result, [names.index(n) for n in out])


def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Tracer:
    """Sums over the last dimension of a and the last but one of b."""
    a, b = as_tracer(a), as_tracer(b)
    if not a.shape or not b.shape:
        return el.multiply(a, b)
    dims = ((len(a.shape) - 1,), (max(len(b.shape) - 2, 0),))
    return dot_general(a, b, (dims, ((), ())), precision, preferred_element_type, function="dot")


def vdot(a: Any, b: Any) -> Tracer:
    return dot(sh.ravel(a), sh.ravel(b))


def inner(a: Any, b: Any) -> Tracer:
    """Sums over the last dimensions."""
    a, b = as_tracer(a), as_tracer(b)
    return tensordot(a, b, ((-1,), (-1,))) if a.shape and b.shape else el.multiply(a, b)


def outer(a: Any, b: Any) -> Tracer:
    a, b = sh.ravel(a), sh.ravel(b)
    return el.multiply(ops.reshape(a, (a.size, 1)), ops.reshape(b, (1, b.size)))


def tensordot(a: Any, b: Any, axes: Any = 2, *, precision: Any = None,
              preferred_element_type: Any = None) -> Tracer:
    """Sums over pairs of dimensions, or over the last of a and the first of b."""
    a, b = as_tracer(a), as_tracer(b)
    if isinstance(axes, int):
        pair = (range(len(a.shape) - axes, len(a.shape)), range(axes))
    else:
        pair = (sh.axes_of(axes[0], len(a.shape), "tensordot"),
                sh.axes_of(axes[1], len(b.shape), "tensordot"))
    return dot_general(a, b, (pair, ((), ())), precision, preferred_element_type,
                       function="tensordot")


# ===----------------------------------------------------------------------===
# einsum
# ===----------------------------------------------------------------------===


def einsum(subscripts: str, *operands: Any, optimize: Any = None, precision: Any = None,
           preferred_element_type: Any = None) -> Tracer:
    """Sums of products, as letters say: "bthd,bshd->bhts". With more than two operands
    the pair with the smallest result is multiplied first."""
    values = [as_tracer(x) for x in operands]
    names, out = _parse(subscripts, values)
    _check_sizes(subscripts, names, values)
    terms = [_diagonal(x, n) for x, n in zip(values, names)]
    if len(terms) == 1:
        x, n = _sum_lone(terms[0], set(out))
        return ops.transpose(x, [n.index(letter) for letter in out])
    while len(terms) > 1:
        i, j = _cheapest(terms, out)
        (y, y_names), (x, x_names) = terms.pop(j), terms.pop(i)
        others = set(out).union(*(n for _, n in terms))
        (x, x_names) = _sum_lone((x, x_names), others | set(y_names))
        (y, y_names) = _sum_lone((y, y_names), others | set(x_names))
        kept = out if not terms else "".join(
            n for n in dict.fromkeys(x_names + y_names) if n in others)
        preferred = preferred_element_type if not terms else None
        terms.append((_contract(x, x_names, y, y_names, kept, preferred, "einsum"), kept))
    return terms[0][0]


def _parse(subscripts: str, values: Sequence[Tracer]) -> tuple[list[str], str]:
    """Names of the dimensions of each operand and of the result, one letter each."""
    text = subscripts.replace(" ", "")
    left, arrow, out = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(values):
        raise ValueError(f'{user_line()}: einsum "{subscripts}" speaks of {len(parts)} operands, but '
                         f"got {len(values)}")
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in text]
    hidden = [len(v.shape) - len(p.replace("...", "")) if "..." in p else 0
              for p, v in zip(parts, values)]
    dots = "".join(spare[:max(hidden, default=0)])
    names = [p.replace("...", dots[len(dots) - n:]) for p, n in zip(parts, hidden)]
    for part, n, value in zip(parts, names, values):
        if len(n) != len(value.shape) or not n.isalpha() and n:
            raise ShapeError(f'{user_line()}: einsum "{subscripts}": "{part}" does not name the '
                             f"dimensions of shape {value.shape}")
    if not arrow:
        joined = "".join(names)
        out = "..." + "".join(sorted(c for c in set(joined) - set(dots) if joined.count(c) == 1))
    out = out.replace("...", dots)
    unknown = [c for c in out if not any(c in n for n in names)]
    if unknown or len(set(out)) != len(out):
        raise ValueError(f'{user_line()}: einsum "{subscripts}": the result must name dimensions of '
                         "the operands, each once")
    return names, out


def _check_sizes(subscripts: str, names: list[str], values: Sequence[Tracer]) -> None:
    sizes: dict[str, int] = {}
    for n, value in zip(names, values):
        for letter, size in zip(n, value.shape):
            if sizes.setdefault(letter, size) != size:
                shapes = " and ".join(str(v.shape) for v in values)
                raise ShapeError(f'{user_line()}: einsum "{subscripts}": dimension "{letter}" is '
                                 f"{sizes[letter]} and {size} in shapes {shapes}")


def _diagonal(x: Tracer, names: str) -> tuple[Tracer, str]:
    """Takes the diagonal of dimensions that have one name."""
    for letter in dict.fromkeys(names):
        while names.count(letter) > 1:
            first, second = [i for i, n in enumerate(names) if n == letter][:2]
            x = sh.moveaxis(red.diagonal(sh.moveaxis(x, (first, second), (0, 1))), -1, 0)
            names = letter + "".join(n for i, n in enumerate(names) if i not in (first, second))
    return x, names


def _sum_lone(term: tuple[Tracer, str], wanted: set[str]) -> tuple[Tracer, str]:
    """Sums over the dimensions that nothing else mentions."""
    x, names = term
    lone = [i for i, n in enumerate(names) if n not in wanted]
    if not lone:
        return term
    return red.sum(x, tuple(lone), x.element), "".join(n for n in names if n in wanted)


def _cheapest(terms: list[tuple[Tracer, str]], out: str) -> tuple[int, int]:
    """The pair of operands whose product is the smallest."""
    if len(terms) == 2:
        return 0, 1
    def size(pair: tuple[int, int]) -> int:
        i, j = pair
        rest = set(out).union(*(n for k, (_, n) in enumerate(terms) if k not in pair))
        sizes = dict(zip(terms[i][1] + terms[j][1], terms[i][0].shape + terms[j][0].shape))
        return math.prod(n for letter, n in sizes.items() if letter in rest)
    return min(((i, j) for i in range(len(terms)) for j in range(i + 1, len(terms))), key=size)
