# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions in any layout: transposes around weft.convolution."""

import operator
from typing import Any, NamedTuple, Sequence

from ..numpy import elementwise as el
from ..numpy import shapes as sh
from ..tracing import elements, ops, window_ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from .padding import amounts_of, check_counts, numbers_of


class ConvDimensionNumbers(NamedTuple):
    """The dimensions that are batch, features and spatial ones; of the kernel the result's
    features, the features taken and spatial ones."""

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int],
                           dimension_numbers: Any) -> ConvDimensionNumbers:
    """Of None, batch and features come first; of strings as ("NHWC", "HWIO", "NHWC"), where
    their letters stand, and spatial dimensions have the order of the kernel's."""
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if rank != len(rhs_shape) or rank < 2:
        raise ShapeError(f"{user_line()}: convolution takes operands of one rank of at least 2, got shapes "
                         f"{tuple(lhs_shape)} and {tuple(rhs_shape)}")
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(rank))] * 3)
    words = list(dimension_numbers)
    if len(words) != 3 or not all(isinstance(word, str) and len(word) == len(set(word)) == rank
                                  for word in words):
        raise ShapeError(f"{user_line()}: convolution takes three words of {rank} different letters as "
                         f"dimension_numbers, got {dimension_numbers!r}")
    lhs, rhs, out = words
    spatial = [letter for letter in rhs if letter not in "OI"]
    try:
        return ConvDimensionNumbers(*(
            tuple(map(word.index, [*ends, *spatial])) for word, ends in ((lhs, "NC"), (rhs, "OI"), (out, "NC"))))
    except ValueError:
        raise ShapeError(f"{user_line()}: convolution takes N, C and spatial letters, O and I for the kernel, "
                         f"as dimension_numbers, got {dimension_numbers!r}") from None


def _grouped_by_batch(x: Tracer, groups: int, function: str) -> Tracer:
    """Parts of the batch as parts of the features."""
    batch, *spatial, features = x.shape
    if batch % groups:
        raise ShapeError(f"{user_line()}: {function}: batch_group_count={groups} must divide the batch of {batch}")
    rank = len(x.shape)
    x = ops.reshape(x, (groups, batch // groups, *spatial, features))
    x = ops.transpose(x, [*range(1, rank), 0, rank])
    return ops.reshape(x, (batch // groups, *spatial, groups * features))


def conv_general_dilated(
        lhs: Any, rhs: Any, window_strides: Sequence[int], padding: Any,
        lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
        dimension_numbers: Any = None, feature_group_count: int = 1, batch_group_count: int = 1,
        precision: Any = None, preferred_element_type: Any = None) -> Tracer:
    """The sums of the products of the kernel rhs with the windows of lhs, in any layout of
    conv_dimension_numbers; `precision` changes nothing."""
    function = "conv_general_dilated"
    x, w = el.promoted(lhs, rhs)
    if x.element.kind != "f":
        raise TypeError(f"{user_line()}: {function} is of floats, got {x.element}; convert the operands, as with "
                        '.astype("float32")')
    layout = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    # From batch (result's features), features, spatial dimensions to those of the op.
    x = ops.transpose(x, [layout.lhs_spec[0], *layout.lhs_spec[2:], layout.lhs_spec[1]])
    w = ops.transpose(w, [*layout.rhs_spec[2:], layout.rhs_spec[1], layout.rhs_spec[0]])
    rank = len(x.shape) - 2
    strides, spread, dilation = (numbers_of(name, numbers, rank, function) for name, numbers in (
        ("window_strides", window_strides), ("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation)))
    if isinstance(padding, str) and any(n > 1 for n in spread):
        raise ValueError(f"{user_line()}: {function}: with lhs_dilation, padding must be pairs of numbers; "
                         "conv_transpose takes SAME and VALID")
    if 0 in w.shape[:rank]:
        raise ShapeError(f"{user_line()}: {function}: a window must have at least 1 element along each dimension, got "
                         f"{w.shape[:rank]}")
    windows = [window_ops.dilated(*pair) for pair in zip(w.shape[:rank], dilation)]
    amounts = amounts_of(padding, x.shape[1:-1], windows, strides, function)
    groups, batch_groups = operator.index(feature_group_count), operator.index(batch_group_count)
    if groups < 1 or batch_groups < 1 or (groups > 1 and batch_groups > 1):
        raise ValueError(f"{user_line()}: {function}: feature_group_count and batch_group_count must be at least "
                         f"1, and one of them 1, got {groups} and {batch_groups}")
    if batch_groups > 1:
        x = _grouped_by_batch(x, batch_groups, function)
    groups = max(groups, batch_groups)
    if x.shape[-1] != groups * w.shape[-2] or w.shape[-1] % groups:
        raise ShapeError(f"{user_line()}: {function}: {groups} groups of {w.shape[-2]} features of the kernel, which "
                         f"makes {w.shape[-1]}, do not fit {x.shape[-1]} features")
    window = window_ops.Window(strides, tuple(low for low, _ in amounts), tuple(high for _, high in amounts),
                               spread, dilation)
    rooms = [window_ops.dilated(*pair) + sum(pads) for *pair, pads in zip(x.shape[1:-1], spread, amounts)]
    check_counts(x.shape, window.counts(x.shape[1:-1], w.shape[:rank]), rooms, windows, function)
    result = x.element if preferred_element_type is None else elements.element_type(preferred_element_type)
    is_wider = result.kind == "f" and result.bits > x.element.bits
    r = window_ops.convolution(x, w, window, groups, result if is_wider else x.element)
    order = [0] * (rank + 2)
    for position, dim in enumerate([layout.out_spec[0], *layout.out_spec[2:], layout.out_spec[1]]):
        order[dim] = position
    return ops.convert(ops.transpose(r, order), result)


def conv(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str, precision: Any = None,
         preferred_element_type: Any = None) -> Tracer:
    """[batch, features, spatial..] with [result's features, features, spatial..]."""
    return conv_general_dilated(lhs, rhs, window_strides, padding,
                                preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: Any,
                              lhs_dilation: Sequence[int] | None, rhs_dilation: Sequence[int] | None,
                              precision: Any = None, preferred_element_type: Any = None) -> Tracer:
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                                preferred_element_type=preferred_element_type)


def _transposed_amounts(window: int, stride: int, padding: Any) -> tuple[int, int]:
    """What makes size * stride elements of size (SAME), or all that a window reaches (VALID)."""
    if padding == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
    elif padding == "VALID":
        total = window + stride - 2 + max(window - stride, 0)
        low = window - 1
    else:
        return padding
    return low, total - low


def conv_transpose(lhs: Any, rhs: Any, strides: Sequence[int], padding: Any,
                   rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None,
                   transpose_kernel: bool = False, precision: Any = None,
                   preferred_element_type: Any = None) -> Tracer:
    """A convolution with strides the other way round: lhs is spread out by them. Features come
    last where dimension_numbers do not say; transpose_kernel takes the kernel of the
    convolution whose derivative this is."""
    x, w = as_tracer(lhs), as_tracer(rhs)
    rank = len(x.shape) - 2
    if dimension_numbers is None:
        letters = "HWD"[:rank]
        dimension_numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    layout = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    dilation = numbers_of("rhs_dilation", rhs_dilation, rank, "conv_transpose")
    if isinstance(padding, str):
        padding = [_transposed_amounts(window_ops.dilated(w.shape[dim], n), stride, padding.upper())
                   for dim, n, stride in zip(layout.rhs_spec[2:], dilation, strides)]
    if transpose_kernel:
        w = sh.swapaxes(sh.flip(w, tuple(layout.rhs_spec[2:])), layout.rhs_spec[0], layout.rhs_spec[1])
    return conv_general_dilated(x, w, (1,) * rank, padding, strides, dilation, layout,
                                preferred_element_type=preferred_element_type)
