# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention, as jax.nn.dot_product_attention.

In names of dimensions B is the batch, T and S are the times of queries and keys, K are
the heads of keys, G is how many heads of queries read each of them, H features.
"""

import math
import numbers
from typing import Any

from ..numpy import creation, elementwise as el, products, shapes as sh
from ..tracing import elements, ops
from ..tracing.errors import ShapeError
from ..tracing.graph import as_tracer
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from .norms import softmax


def dot_product_attention(
        query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *,
        scale: float | None = None, is_causal: bool = False, query_seq_lengths: Any = None,
        key_value_seq_lengths: Any = None, local_window_size: int | tuple[int, int] | None = None,
        implementation: str | None = None) -> Tracer:
    """softmax(query key^T * scale + bias) value, over [batch, time, heads, features].

    Keys and values may have fewer heads than queries: each is read by as many heads of
    queries in a row. A `mask` is true where a query may look, `is_causal` hides what is
    later, sequence lengths hide what is behind the end, `local_window_size` what is
    farther away to the left and the right. `implementation` changes nothing.

    Without a bias and masks but `is_causal`, the matrix of all scores is never there:
    attention is then one step of a plan, which works by tiles.
    """
    query, key, value = as_tracer(query), as_tracer(key), as_tracer(value)
    result = query.shape
    query, key, value = (sh.expand_dims(x, 0) if len(x.shape) == 3 else x
                         for x in (query, key, value))
    _check(query, key, value)
    batch, time, heads, size = query.shape
    scale = 1 / math.sqrt(size) if scale is None else scale
    extras = (bias, mask, query_seq_lengths, key_value_seq_lengths, local_window_size)
    if all(x is None for x in extras) and _is_whole(query, key, value, scale):
        return ops.reshape(ops.attention(query, key, value, is_causal, float(scale)), result)
    groups = heads // key.shape[2]
    wide = elements.promote(query, as_tracer(_FLOAT32))[0]
    logits = products.einsum("BTKGH,BSKH->BKTGS", _grouped(query, groups), key,
                             preferred_element_type=wide)
    logits = el.multiply(logits, scale)
    if bias is not None:
        logits = ops.convert(el.add(logits, _like_logits(bias, logits, groups, "bias")), wide)
    seen = _seen(time, key.shape[1], is_causal, local_window_size)
    for lengths, of_queries in ((query_seq_lengths, True), (key_value_seq_lengths, False)):
        if lengths is not None:
            seen = _both(seen, _within(as_tracer(lengths), time, key.shape[1], of_queries))
    if mask is not None:
        seen = _both(seen, _like_logits(mask, logits, groups, "mask"))
    if seen is not None:
        logits = el.where(seen, logits, -0.7 * _LARGEST[wide])
    weights = ops.convert(softmax(logits), key.element)
    out = products.einsum("BKTGS,BSKH->BTKGH", weights, value)
    if query_seq_lengths is not None:
        inside = el.less(creation.arange(time), sh.reshape(query_seq_lengths, (-1, 1)))
        out = el.where(sh.reshape(inside, (-1, time, 1, 1, 1)), out, ops.zeros_like(out))
    return ops.reshape(out, result)


_FLOAT32 = elements.FLOAT32.numpy.type(0)
_LARGEST = {elements.FLOAT32: 3.4028234663852886e38, elements.FLOAT64: 1.7976931348623157e308}


def _check(query: Tracer, key: Tracer, value: Tracer) -> None:
    shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if not all(len(x.shape) == 4 for x in (query, key, value)):
        raise ShapeError(f"{user_line()}: dot_product_attention takes tensors of rank 3 or 4, got "
                         f"{shapes}")
    fits = (query.shape[0] == key.shape[0] and query.shape[3] == key.shape[3]
            and key.shape == value.shape)
    if not fits or query.shape[2] % key.shape[2]:
        raise ShapeError(
            f"{user_line()}: dot_product_attention: {shapes} do not fit: key and value must have one "
            "shape, with the batch and features of the query and heads that divide its heads")


def _is_whole(query: Tracer, key: Tracer, value: Tracer, scale: Any) -> bool:
    """Whether this is attention as the op of that name computes it, tile by tile."""
    known = (elements.FLOAT32, elements.BFLOAT16, elements.FLOAT16, elements.FLOAT64)
    return (query.element in known and query.element is key.element is value.element
            and isinstance(scale, numbers.Real) and math.isfinite(scale))


def _grouped(query: Tracer, groups: int) -> Tracer:
    batch, time, heads, size = query.shape
    return ops.reshape(query, (batch, time, heads // groups, groups, size))


def _like_logits(x: Any, logits: Tracer, groups: int, name: str) -> Tracer:
    """A mask or bias [B, N, T, S], any of them 1, as it broadcasts to BKTGS."""
    x = as_tracer(x)
    x = sh.expand_dims(x, 0) if len(x.shape) == 3 else x
    batch, keys, time, _, source = logits.shape
    wanted = (batch, keys * groups, time, source)
    if len(x.shape) != 4 or any(n not in (1, m) for n, m in zip(x.shape, wanted)):
        raise ShapeError(f"{user_line()}: dot_product_attention: the {name} of shape {x.shape} must "
                         f"broadcast to {wanted}")
    b, n, t, s = x.shape
    split = (b, 1, 1, t, s) if n == 1 else (b, keys, groups, t, s)
    return sh.transpose(ops.reshape(x, split), (0, 1, 3, 2, 4))


def _both(x: Tracer | None, y: Tracer) -> Tracer:
    return el.to_bool(y) if x is None else el.logical_and(x, y)


def _seen(time: int, source: int, is_causal: bool, window: Any) -> Tracer | None:
    """[1, 1, T, 1, S]: which keys a query sees by its place."""
    if not is_causal and window is None:
        return None
    shape = (1, 1, time, 1, source)
    of_query, of_key = ops.iota(shape, elements.INT32, 2), ops.iota(shape, elements.INT32, 4)
    seen = el.greater_equal(of_query, of_key) if is_causal else None
    if window is not None:
        left, right = (window, window) if isinstance(window, int) else window
        distance = el.subtract(of_key, of_query)
        seen = _both(seen, el.logical_and(el.greater_equal(distance, -left),
                                          el.less_equal(distance, right)))
    return seen


def _within(lengths: Tracer, time: int, source: int, of_queries: bool) -> Tracer:
    """[B, 1, T or 1, 1, S or 1]: which positions are before the end of a sequence."""
    shape = (1, 1, time, 1, 1) if of_queries else (1, 1, 1, 1, source)
    position = ops.iota(shape, elements.INT32, 2 if of_queries else 4)
    return el.less(position, ops.reshape(lengths, (lengths.size, 1, 1, 1, 1)))
