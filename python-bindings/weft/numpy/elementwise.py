# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise functions: promotion, broadcasting, then one op or a few."""

import math
import operator
from typing import Any

import numpy as np

from ..tracing import elements, ops
from ..tracing.graph import as_tracer, literal
from ..tracing.locations import user_line
from ..tracing.tracer import Tracer
from .promotion import broadcast_shapes, broadcast_tracer, inexact, promoted, refuse, together

# ===----------------------------------------------------------------------===
# Arithmetic
# ===----------------------------------------------------------------------===


def _binary(function: str, x: Any, y: Any, by_kind: dict[str, str]) -> Tracer:
    x, y = together(function, x, y)
    op = by_kind.get(x.element.kind)
    if op is None:
        refuse(function, x, "numbers")
    return ops.binary(op, x, y, x.weak)


def add(x: Any, y: Any) -> Tracer:
    """Sum; of bools, "or"."""
    return _binary("add", x, y, {"f": "arith.addf", "i": "arith.addi", "b": "arith.ori"})


def subtract(x: Any, y: Any) -> Tracer:
    return _binary("subtract", x, y, {"f": "arith.subf", "i": "arith.subi"})


def multiply(x: Any, y: Any) -> Tracer:
    """Product; of bools, "and"."""
    return _binary("multiply", x, y, {"f": "arith.mulf", "i": "arith.muli", "b": "arith.andi"})


def divide(x: Any, y: Any) -> Tracer:
    """Quotient as floats, whatever the types."""
    x, y = together("divide", x, y, inexact=True)
    return ops.binary("arith.divf", x, y, x.weak)


true_divide = divide


def floor_divide(x: Any, y: Any) -> Tracer:
    """The quotient rounded towards minus infinity. Of integers and 0 what it is in JAX: the
    machine's quotient there is -1, less 1 because a remainder has another sign than 0."""
    x, y = together("floor_divide", x, y)
    if x.element.kind == "f":
        return _floor_divide_floats(x, y)
    quotient = _binary("floor_divide", x, y, {"i": "arith.floordivsi"})
    if _is_never_zero(y):
        return quotient
    by_zero = where(equal(x, 0), -1, ops.full(-2, x))
    return ops.select(equal(y, 0), by_zero, quotient, quotient.weak)


def _is_never_zero(y: Tracer) -> bool:
    return y.splat is not None and y.splat != 0


def _floor_divide_floats(x: Tracer, y: Tracer) -> Tracer:
    """What is divided is a multiple of y: the floor of x / y itself would be one too large
    where x / y is rounded up to an integer, and 0 for -1 / inf."""
    rest = ops.binary("arith.remf", x, y, x.weak)
    multiple = ops.select(equal(y, 0), x, subtract(x, rest), x.weak)
    quotient = ops.binary("arith.divf", multiple, y, x.weak)
    below = ops.select(_wraps(rest, y), subtract(quotient, 1), quotient, x.weak)
    return ops.unary("math.round", below)


def remainder(x: Any, y: Any) -> Tracer:
    """x - y * floor(x / y): the remainder has the sign of y. Of integers and 0 it is 0, as in
    JAX."""
    x, y = together("remainder", x, y)
    if x.element.kind == "i" and not _is_never_zero(y):
        y = where(equal(y, 0), 1, y)  # nothing remains of a division by 0
    rest = _binary("remainder", x, y, {"f": "arith.remf", "i": "arith.remsi"})
    return ops.select(_wraps(rest, y), add(rest, y), rest, rest.weak)


def _wraps(rest: Tracer, y: Tracer) -> Tracer:
    """Whether the remainder of a quotient rounded towards zero has the other sign than y."""
    return logical_and(not_equal(less(rest, 0), less(y, 0)), not_equal(rest, 0))


mod = remainder


def divmod(x: Any, y: Any) -> tuple[Tracer, Tracer]:  # noqa: A001
    return floor_divide(x, y), remainder(x, y)


def negative(x: Any) -> Tracer:
    x = as_tracer(x)
    if x.element.kind == "b":
        refuse("negative", x, "numbers")
    if x.splat is not None:
        return Tracer(None, None, x.shape, x.element, x.weak, -x.splat)
    if x.element.kind == "f":
        return ops.unary("arith.negf", x)
    return ops.binary("arith.subi", ops.zeros_like(x), x, x.weak)


def positive(x: Any) -> Tracer:
    return as_tracer(x)


def maximum(x: Any, y: Any) -> Tracer:
    """The larger one; NaN if one of them is."""
    return _binary("maximum", x, y,
                   {"f": "arith.maximumf", "i": "arith.maxsi", "b": "arith.ori"})


def minimum(x: Any, y: Any) -> Tracer:
    """The smaller one; NaN if one of them is."""
    return _binary("minimum", x, y,
                   {"f": "arith.minimumf", "i": "arith.minsi", "b": "arith.andi"})


def clip(x: Any, min: Any = None, max: Any = None) -> Tracer:  # noqa: A002
    """x limited to [min, max]; either may be left out."""
    x = as_tracer(x)
    if min is not None:
        x = maximum(min, x)
    if max is not None:
        x = minimum(max, x)
    return x


def abs(x: Any) -> Tracer:  # noqa: A001
    x = as_tracer(x)
    if x.element.kind == "b":
        return x
    return ops.unary("math.absf" if x.element.kind == "f" else "math.absi", x)


absolute = abs


def sign(x: Any) -> Tracer:
    """-1, 0 or 1; NaN and zeros stay as they are. Flat, at zero as well."""
    x = as_tracer(x)
    if x.element.kind == "b":
        refuse("sign", x, "numbers")
    if x.element.kind == "f":
        x = ops.unary("weft.stop_gradient", x)
    zero, one, minus = (ops.full(n, x) for n in (0, 1, -1))
    below = ops.select(less(x, zero), minus, x, x.weak)
    return ops.select(greater(x, zero), one, below, x.weak)


def square(x: Any) -> Tracer:
    x = as_tracer(x)
    if x.element.kind == "b":
        x = ops.convert(x, elements.INT32)
    return multiply(x, x)


def reciprocal(x: Any) -> Tracer:
    return divide(1, x)


def integer_power(x: Tracer, exponent: int) -> Tracer:
    """x multiplied with itself, by squaring."""
    if exponent < 0:
        if x.element.kind != "f":
            raise ValueError(
                f"{user_line()}: power of integers, {x!r}, needs an exponent of at least 0, got "
                f"{exponent}; convert with .astype(float)")
        # Not the reciprocal of the power, whose derivative leaves the range before it does.
        return integer_power(divide(ops.full(1, x), x), -exponent)
    if exponent == 0:
        return Tracer(None, None, x.shape, x.element, x.weak, 1)
    result = None
    while True:
        if exponent & 1:
            result = x if result is None else multiply(result, x)
        exponent >>= 1
        if not exponent:
            return result
        x = multiply(x, x)


def power(x: Any, y: Any) -> Tracer:
    """x to the power y. A Python integer as exponent becomes multiplications."""
    if not isinstance(y, Tracer):
        try:
            exponent = operator.index(y)
        except TypeError:
            pass
        else:
            x = as_tracer(x)
            return integer_power(ops.convert(x, elements.INT32) if x.element.kind == "b" else x,
                                 exponent)
    exponent = as_tracer(y)
    is_weak = exponent.weak or exponent.element.kind != "i"
    x, y = together("power", x, y)
    if x.element.kind == "f":
        return ops.binary("math.powf", x, y, x.weak and is_weak)
    if x.element.kind == "b":
        x, y = (ops.convert(value, elements.INT32) for value in (x, y))
    return _integer_power_of_integers(x, y)


pow = power  # noqa: A001


def _integer_power_of_integers(x: Tracer, y: Tracer) -> Tracer:
    """Six steps of squaring are enough: more bits of y overflow for any |x| > 1."""
    x = ops.convert(x, x.element)  # not weak
    one, zero = ops.full(1, x), ops.zeros_like(x)
    is_zero = ops.binary("arith.andi", ops.compare("eq", x, zero), ops.compare("ne", y, zero))
    result = ops.select(is_zero, zero, one)
    for _ in range(6):
        bit = ops.compare("ne", ops.binary("arith.andi", y, one), zero)
        result = ops.select(bit, multiply(result, x), result)
        x, y = multiply(x, x), ops.binary("arith.shrui", y, one)
    return result


# ===----------------------------------------------------------------------===
# Functions of one number
# ===----------------------------------------------------------------------===


def _math(op: str, doc: str):
    def function(x: Any) -> Tracer:
        return ops.unary(op, inexact(x))

    function.__name__ = function.__qualname__ = op.split(".")[1]
    function.__doc__ = doc
    return function


exp = _math("math.exp", "e to the power x.")
exp2 = _math("math.exp2", "2 to the power x.")
expm1 = _math("math.expm1", "exp(x) - 1, exact near 0.")
log = _math("math.log", "The natural logarithm.")
log2 = _math("math.log2", "The logarithm to base 2.")
log10 = _math("math.log10", "The logarithm to base 10.")
log1p = _math("math.log1p", "log(1 + x), exact near 0.")
sqrt = _math("math.sqrt", "The square root.")
rsqrt = _math("math.rsqrt", "1 / sqrt(x).")
sin = _math("math.sin", "The sine of x in radians.")
cos = _math("math.cos", "The cosine of x in radians.")
tan = _math("math.tan", "The tangent of x in radians.")
sinh = _math("math.sinh", "The hyperbolic sine.")
cosh = _math("math.cosh", "The hyperbolic cosine.")
tanh = _math("math.tanh", "The hyperbolic tangent.")
erf = _math("math.erf", "The error function.")
logistic = _math("weft.logistic", "1 / (1 + exp(-x)).")


def _rounding(op: str, doc: str):
    def function(x: Any) -> Tracer:
        x = as_tracer(x)
        return ops.unary(op, x) if x.element.kind == "f" else x

    function.__name__ = function.__qualname__ = op.split(".")[1]
    function.__doc__ = doc
    return function


floor = _rounding("math.floor", "Rounds towards minus infinity.")
ceil = _rounding("math.ceil", "Rounds towards infinity.")
trunc = _rounding("math.trunc", "Rounds towards zero.")


def logaddexp(x: Any, y: Any) -> Tracer:
    """log(exp(x) + exp(y)), which overflows for no x and y. Written such that the
    derivative is right at x = y, too."""
    x, y = together("logaddexp", x, y, inexact=True)
    delta = subtract(x, y)
    is_undefined = isnan(delta)  # of equal infinities, too
    delta = where(is_undefined, ops.zeros_like(delta), delta)
    is_larger = greater(delta, 0)
    ratio = exp(where(is_larger, negative(delta), delta))
    larger = where(is_larger, x, y)
    # Of nothing there is no derivative, that may be infinite, to take away.
    result = where(equal(ratio, 0), larger, add(larger, log1p(ratio)))
    return where(is_undefined, add(x, y), result)


def round(x: Any, decimals: int = 0) -> Tracer:  # noqa: A001
    """Rounds to nearest, ties to even."""
    x = as_tracer(x)
    if x.element.kind != "f":
        return x
    if decimals == 0:
        return ops.unary("math.roundeven", x)
    factor = 10.0**decimals
    return divide(ops.unary("math.roundeven", multiply(x, factor)), factor)


rint = round


def nan_to_num(x: Any, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Tracer:
    """Puts numbers in the place of NaN and the infinities."""
    x = inexact(x)
    x = where(isnan(x), ops.full(nan, x), x)
    x = where(equal(x, math.inf), ops.full(largest(x) if posinf is None else posinf, x), x)
    return where(equal(x, -math.inf), ops.full(-largest(x) if neginf is None else neginf, x), x)


def largest(x: Tracer) -> float:
    """The largest finite number of the type of x."""
    if x.element is elements.BFLOAT16:
        return 3.3895313892515355e38
    return float(np.finfo(x.element.numpy).max)


# ===----------------------------------------------------------------------===
# Comparison and logic
# ===----------------------------------------------------------------------===


def _comparison(name: str, floats: str, integers: str, bools: str):
    predicates = {"f": floats, "i": integers, "b": bools}

    def function(x: Any, y: Any) -> Tracer:
        x, y = together(name, x, y)
        return ops.compare(predicates[x.element.kind], x, y)

    function.__name__ = function.__qualname__ = name
    return function


equal = _comparison("equal", "oeq", "eq", "eq")
not_equal = _comparison("not_equal", "une", "ne", "ne")
less = _comparison("less", "olt", "slt", "ult")
less_equal = _comparison("less_equal", "ole", "sle", "ule")
greater = _comparison("greater", "ogt", "sgt", "ugt")
greater_equal = _comparison("greater_equal", "oge", "sge", "uge")


def to_bool(x: Any) -> Tracer:
    return ops.convert(as_tracer(x), elements.BOOL)


def logical_and(x: Any, y: Any) -> Tracer:
    return bitwise_and(to_bool(x), to_bool(y))


def logical_or(x: Any, y: Any) -> Tracer:
    return bitwise_or(to_bool(x), to_bool(y))


def logical_xor(x: Any, y: Any) -> Tracer:
    return bitwise_xor(to_bool(x), to_bool(y))


def logical_not(x: Any) -> Tracer:
    return bitwise_not(to_bool(x))


def bitwise_and(x: Any, y: Any) -> Tracer:
    return _binary("bitwise_and", x, y, {"i": "arith.andi", "b": "arith.andi"})


def bitwise_or(x: Any, y: Any) -> Tracer:
    return _binary("bitwise_or", x, y, {"i": "arith.ori", "b": "arith.ori"})


def bitwise_xor(x: Any, y: Any) -> Tracer:
    return _binary("bitwise_xor", x, y, {"i": "arith.xori", "b": "arith.xori"})


def bitwise_not(x: Any) -> Tracer:
    x = as_tracer(x)
    if x.element.kind == "f":
        refuse("bitwise_not", x, "integers or bools")
    ones = True if x.element.kind == "b" else -1
    return ops.binary("arith.xori", x, ops.full(ones, x), x.weak)


invert = bitwise_not


def left_shift(x: Any, y: Any) -> Tracer:
    return _binary("left_shift", x, y, {"i": "arith.shli"})


def right_shift(x: Any, y: Any) -> Tracer:
    return _binary("right_shift", x, y, {"i": "arith.shrsi"})


def isnan(x: Any) -> Tracer:
    x = as_tracer(x)
    if x.element.kind != "f":
        return literal(False, x.shape, elements.BOOL)
    return ops.compare("uno", x, x)


def isinf(x: Any) -> Tracer:
    x = as_tracer(x)
    if x.element.kind != "f":
        return literal(False, x.shape, elements.BOOL)
    return ops.compare("oeq", abs(x), ops.full(math.inf, x))


def isfinite(x: Any) -> Tracer:
    x = as_tracer(x)
    if x.element.kind != "f":
        return literal(True, x.shape, elements.BOOL)
    return ops.compare("olt", abs(x), ops.full(math.inf, x))


def where(condition: Any, x: Any = None, y: Any = None) -> Tracer:
    """Elements of x where the condition holds, of y elsewhere."""
    if x is None or y is None:
        raise TypeError(
            f"{user_line()}: where needs a condition, x and y: without x and y the shape of its "
            "result would depend on the numbers")
    condition = to_bool(condition)
    x, y = promoted(x, y)
    shape = broadcast_shapes(condition.shape, x.shape, y.shape, function="where")
    condition, x, y = (broadcast_tracer(value, shape) for value in (condition, x, y))
    return ops.select(condition, x, y, x.weak)
