# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers from keys, those of jax.random.

The generator is Threefry-2x32 (Salmon et al., Parallel random numbers: as easy as 1, 2,
3; 2011) on the number of an element in the whole tensor, as in JAX with
jax_threefry_partitionable, its default. So numbers depend on the key alone, and not on
how a tensor is split over devices.

A key is a tensor of two int32, and several keys one with a last dimension of 2.
"""

import math
from typing import Any

import numpy as np

from .eager import make_eager as _make_eager
from .lax.ops import erf_inv
from .numpy import elementwise as el, reductions as red, shapes as sh
from .tracing import elements, ops
from .tracing.errors import ShapeError
from .tracing.graph import as_tracer
from .tracing.locations import user_line
from .tracing.tracer import Tracer

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _signed(number: int) -> int:
    """The int32 with the bits of an unsigned number."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _add(x: Tracer, y: Tracer) -> Tracer:
    return ops.binary("arith.addi", x, y)


def _xor(x: Tracer, y: Tracer) -> Tracer:
    return ops.binary("arith.xori", x, y)


def _rotate(x: Tracer, by: int) -> Tracer:
    return ops.binary("arith.ori", ops.binary("arith.shli", x, ops.full(by, x)),
                      ops.binary("arith.shrui", x, ops.full(32 - by, x)))


def _threefry(key: tuple[Tracer, Tracer], x: Tracer, y: Tracer) -> tuple[Tracer, Tracer]:
    """Twenty rounds on two words of one shape, with the words of a key."""
    (a, b), shape = key, x.shape
    parity = ops.full(0x1BD11BDA, a)
    words = (a, b, _xor(_xor(a, b), parity))

    def spread(word: Tracer, count: int = 0) -> Tracer:
        if count:
            word = _add(word, ops.full(count, word))
        return el.broadcast_tracer(word, shape)

    x, y = _add(x, spread(words[0])), _add(y, spread(words[1]))
    for group in range(5):
        for by in _ROTATIONS[group % 2]:
            x = _add(x, y)
            y = _xor(x, _rotate(y, by))
        x = _add(x, spread(words[(group + 1) % 3]))
        y = _add(y, spread(words[(group + 2) % 3], group + 1))
    return x, y


def _words(key_: Any) -> tuple[Tracer, Tracer]:
    """The two words of a key."""
    value = as_tracer(key_)
    if value.shape != (2,) or value.element is not elements.INT32:
        raise ShapeError(
            f"{user_line()}: expected a key, a tensor of two int32 from weft.random.key or split, got "
            f"{value!r}" + ("; take one of the keys, as in keys[0]"
                            if value.shape[-1:] == (2,) else ""))
    return ops.reshape(sh.slice_dim(value, 0, 0, 1), ()), ops.reshape(sh.slice_dim(value, 0, 1, 2), ())


def _numbers(shape: tuple[int, ...]) -> Tracer:
    """The row-major number of every element."""
    if math.prod(shape) > 1 << 32:
        raise NotImplementedError(f"{user_line()}: random tensors have at most 2^32 elements, got "
                                  f"shape {shape}")
    result, stride = ops.full(0, Tracer(None, None, shape, elements.INT32)), 1
    for dim in reversed(range(len(shape))):
        if shape[dim] == 1:
            continue
        index = ops.iota(shape, elements.INT32, dim)
        if stride > 1:
            index = ops.binary("arith.muli", index, ops.full(_signed(stride), index))
        result = index if stride == 1 else _add(result, index)
        stride *= shape[dim]
    return result


def _pair(key_: Any, shape: tuple[int, ...]) -> tuple[Tracer, Tracer]:
    low = _numbers(shape)
    return _threefry(_words(key_), ops.zeros_like(low), low)


# ===----------------------------------------------------------------------===
# Keys
# ===----------------------------------------------------------------------===


def key(seed: Any) -> Any:
    """The key of a seed, an integer or a tensor of one. Of a Python integer it is a NumPy
    array, which can be made and passed anywhere."""
    if isinstance(seed, Tracer):
        low = ops.convert(sh.reshape(seed, (1,)), elements.INT32)
        return ops.concatenate([ops.zeros_like(low), low], 0)
    return np.array([0, int(seed) & 0xFFFFFFFF], np.uint32).view(np.int32)


PRNGKey = key


def split(key: Any, num: int | tuple[int, ...] = 2) -> Tracer:
    """New keys from one, which is not to be used any more."""
    first, second = _pair(key, sh.shape_of(num))
    return sh.stack([first, second], -1)


def fold_in(key: Any, data: Any) -> Tracer:
    """A new key from a key and an integer, as the number of a step."""
    word = ops.convert(as_tracer(data), elements.INT32)
    if word.shape:
        raise ShapeError(f"{user_line()}: fold_in takes one integer, got {word!r}")
    first, second = _threefry(_words(key), ops.zeros_like(word), word)
    return sh.stack([first, second])


# ===----------------------------------------------------------------------===
# Distributions
# ===----------------------------------------------------------------------===


def bits(key: Any, shape: Any = (), dtype: Any = np.int32) -> Tracer:
    """Random bits: of int32, in the type that there is for uint32."""
    if elements.element_type(dtype) is not elements.INT32:
        raise TypeError(f"{user_line()}: bits are made as int32 only, got dtype {dtype}")
    return _xor(*_pair(key, sh.shape_of(shape)))


def _unit(key: Any, shape: tuple[int, ...], element: elements.ElementType) -> Tracer:
    """Uniform in [0, 1), multiples of 2^-7, 2^-10, 2^-23 or 2^-52."""
    first, second = _pair(key, shape)
    if element is elements.FLOAT64:
        first, second = (ops._cast("arith.extui", x, elements.INT64) for x in (first, second))
        word, drop, kept = ops.binary("arith.ori", ops.binary("arith.shli", first, ops.full(32, first)),
                                      second), 12, 52
    else:
        word, drop, kept = _xor(first, second), 9, 23
    if element is elements.BFLOAT16:  # from the lowest 8 bits, as in JAX
        word, drop, kept = ops.binary("arith.andi", word, ops.full(255, word)), 1, 7
    if element is elements.FLOAT16:  # from the lowest 16
        word, drop, kept = ops.binary("arith.andi", word, ops.full(65535, word)), 6, 10
    mantissa = ops.binary("arith.shrui", word, ops.full(drop, word))
    number = ops.convert(mantissa, element)
    return el.multiply(number, ops.full(2.0**-kept, number))


def _floats(dtype: Any, function: str) -> elements.ElementType:
    element = elements.element_type(dtype)
    if element.kind != "f":
        raise TypeError(f"{user_line()}: {function} makes floats, got dtype {element}")
    return element


def uniform(key: Any, shape: Any = (), dtype: Any = float, minval: Any = 0.0,
            maxval: Any = 1.0) -> Tracer:
    """Uniform in [minval, maxval)."""
    element, shape = _floats(dtype, "uniform"), sh.shape_of(shape)
    low, high = (ops.convert(as_tracer(x), element) for x in (minval, maxval))
    unit = _unit(key, shape, element)
    if low.splat is not None and high.splat is not None:
        span = as_tracer(_rounded(_rounded(high.splat, element) - _rounded(low.splat, element), element))
        span = ops.convert(span, element)
    else:
        span = el.subtract(high, low)
    return el.maximum(low, el.add(el.multiply(unit, span), low))


def _rounded(value: float, element: elements.ElementType) -> float:
    """A number as the type holds it."""
    return float(np.float32(value)) if element is not elements.FLOAT64 else value


def normal(key: Any, shape: Any = (), dtype: Any = float) -> Tracer:
    """Normal with mean 0 and variance 1."""
    element = _floats(dtype, "normal")
    return _of_uniform(key, sh.shape_of(shape), element, _BELOW_MINUS_ONE[element], 1.0)


# The number next to -1 in the direction of 0.
_BELOW_MINUS_ONE = {elements.BFLOAT16: -1 + 2.0**-8, elements.FLOAT16: -1 + 2.0**-11,
                    elements.FLOAT32: -1 + 2.0**-24, elements.FLOAT64: -1 + 2.0**-53}


def _of_uniform(key: Any, shape: tuple[int, ...], element: elements.ElementType, low: Any,
                high: Any) -> Tracer:
    """sqrt(2) erfinv(u) for u uniform in [low, high)."""
    u = uniform(key, shape, element, low, high)
    return el.multiply(math.sqrt(2), erf_inv(u))


def truncated_normal(key: Any, lower: float, upper: float, shape: Any = (),
                     dtype: Any = float) -> Tracer:
    """Normal, limited to (lower, upper), Python numbers."""
    element = _floats(dtype, "truncated_normal")
    low, high = math.erf(lower / math.sqrt(2)), math.erf(upper / math.sqrt(2))
    result = _of_uniform(key, sh.shape_of(shape), element, low, high)
    inner = np.nextafter(np.array([lower, upper], np.float32), np.array([np.inf, -np.inf], np.float32))
    return el.clip(result, float(inner[0]), float(inner[1]))


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Tracer:
    """True with probability p."""
    p = el.inexact(p)
    shape = p.shape if shape is None else sh.shape_of(shape)
    return el.less(uniform(key, shape, p.element), p)


def gumbel(key: Any, shape: Any = (), dtype: Any = float) -> Tracer:
    """-log(-log(u)) for u uniform."""
    element = _floats(dtype, "gumbel")
    smallest = 2.0**-1022 if element is elements.FLOAT64 else 2.0**-126
    u = uniform(key, shape, element, smallest, 1.0)
    return el.negative(el.log(el.negative(el.log(u))))


def exponential(key: Any, shape: Any = (), dtype: Any = float) -> Tracer:
    """Exponential with mean 1."""
    return el.negative(el.log1p(el.negative(uniform(key, shape, dtype))))


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None) -> Tracer:
    """An index along `axis` with probability softmax(logits); `shape`, if given, is that
    of the result and may have more dimensions in front."""
    logits = as_tracer(logits)
    dim = sh.axis_of(axis, len(logits.shape), "categorical")
    batch = logits.shape[:dim] + logits.shape[dim + 1:]
    shape = batch if shape is None else sh.shape_of(shape)
    front = shape[:len(shape) - len(batch)]
    if shape[len(front):] != batch:
        raise ShapeError(f"{user_line()}: categorical: shape {shape} must end in {batch}, the shape "
                         "of the logits without the axis")
    noise = gumbel(key, front + logits.shape, logits.element)
    return red.argmax(el.add(noise, logits), dim + len(front))


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = int) -> Tracer:
    """Integers from minval to maxval - 1."""
    if elements.element_type(dtype) is not elements.INT32:
        raise TypeError(f"{user_line()}: randint makes int32 only, got dtype {dtype}; convert with "
                        ".astype")
    shape = sh.shape_of(shape)
    low, high = (sh.broadcast_to(ops.convert(as_tracer(x), elements.INT32), shape)
                 for x in (minval, maxval))
    keys = split(key)
    upper, lower = bits(keys[0], shape), bits(keys[1], shape)
    one = ops.full(1, low)
    span = el.where(el.less_equal(high, low), one, el.subtract(high, low))

    def modulo(x: Tracer) -> Tracer:
        return ops.binary("arith.remui", x, span)

    factor = modulo(ops.full(1 << 16, span))
    factor = modulo(el.multiply(factor, factor))
    return el.add(low, modulo(_add(el.multiply(modulo(upper), factor), modulo(lower))))


_make_eager(globals(), "key", "PRNGKey", "erf_inv", "as_tracer", "user_line")
