# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op of arith and math with every type that it takes, and what it computes.

References get and give arrays of longdouble for floats, and of Python's integers, as their
bits say unsigned, for integers.
"""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

FLOATS = {"f64": 64, "f32": 32, "bf16": 16, "f16": 16}
INTEGERS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
MANTISSA = {"f64": 53, "f32": 24, "bf16": 8, "f16": 11}
LEAST_EXPONENT = {"f64": -1022, "f32": -126, "bf16": -126, "f16": -14}


@dataclasses.dataclass
class Case:
    """`line` computes {r0}, {r1}, ... from {x}, {y}, {z}."""
    line: str
    operands: list  # types of x, y, z
    results: list  # types of r0, r1
    reference: Callable
    # In units in the last place of the result, if that is a float; 0: the same bits.
    error: float = 0

    @property
    def op(self):
        return next(word for word in self.line.split() if "." in word)


# ===----------------------------------------------------------------------===
# Floats
# ===----------------------------------------------------------------------===


def each(function):
    """Of Python's floats, for what NumPy lacks."""
    return lambda *arrays: np.array([function(*map(float, values)) for values in
                                     zip(*arrays, strict=True)], np.longdouble)


def larger(x, y):
    """-0 is less than 0."""
    return np.where((x > y) | ((x == y) & np.signbit(y)), x, y)


def maximum(x, y):
    return np.where(np.isnan(x) | np.isnan(y), np.nan, larger(x, y))


def minimum(x, y):
    return -maximum(-x, -y)


def max_number(x, y):
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, larger(x, y)))


def min_number(x, y):
    return -max_number(-x, -y)


def half_away(x):
    return np.copysign(np.floor(np.abs(x) + np.longdouble(0.5)), x)


def exact_fma(x, y, z):
    if not all(map(math.isfinite, (x, y, z))):
        # Of a finite product that only overflows in a float, the sign counts.
        product = x * y if not (math.isfinite(x) and math.isfinite(y)) else 0.0
        return product + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z if x * y == 0 else 0.0
    shift = 64 - (abs(exact.numerator).bit_length() - exact.denominator.bit_length())
    digits = round(exact * Fraction(2) ** shift)
    return np.ldexp(np.longdouble(digits), -shift)


def integer_power(x, n):
    """glibc's powl has a wrong one of -inf to the power -2^63."""
    power = np.power(np.abs(x), n.astype(np.longdouble))
    return np.where(np.signbit(x) & (n % 2 == 1), -power, power)


# Error bounds are those of docs/Numerics.md: for f32 and narrower, for f64.
UNARY = {
    "math.acos": (np.arccos, 2, 2), "math.acosh": (np.arccosh, 4, 4),
    "math.asin": (np.arcsin, 3, 3), "math.asinh": (np.arcsinh, 4, 4),
    "math.atan": (np.arctan, 3, 3), "math.atanh": (np.arctanh, 4, 4),
    "math.cbrt": (np.cbrt, 1, 1), "math.ceil": (np.ceil, 0, 0),
    "math.cos": (np.cos, 1, 1), "math.cosh": (np.cosh, 2, 2),
    # The reference for f64 is itself off by up to a unit.
    "math.erf": (each(math.erf), 3, 3), "math.erfc": (each(math.erfc), 4, 5),
    "math.exp": (np.exp, 2, 2), "math.exp2": (np.exp2, 2, 2),
    "math.expm1": (np.expm1, 3, 3), "math.floor": (np.floor, 0, 0),
    "math.log": (np.log, 2, 2), "math.log10": (np.log10, 2, 2),
    "math.log1p": (np.log1p, 3, 3), "math.log2": (np.log2, 2, 2),
    "math.round": (half_away, 0, 0), "math.roundeven": (np.rint, 0, 0),
    "math.rsqrt": (lambda x: 1 / np.sqrt(x), 2, 2), "math.sin": (np.sin, 1, 1),
    "math.sinh": (np.sinh, 3, 3), "math.sqrt": (np.sqrt, 0.5, 0.5),
    "math.tan": (np.tan, 3, 3), "math.tanh": (np.tanh, 3, 3),
    "math.trunc": (np.trunc, 0, 0), "math.absf": (np.abs, 0, 0),
    "arith.negf": (np.negative, 0, 0),
}
BINARY = {
    "arith.addf": (np.add, 0.5), "arith.subf": (np.subtract, 0.5),
    "arith.mulf": (np.multiply, 0.5), "arith.divf": (np.divide, 0.5),
    "arith.remf": (np.fmod, 0), "arith.maximumf": (maximum, 0), "arith.minimumf": (minimum, 0),
    "arith.maxnumf": (max_number, 0), "arith.minnumf": (min_number, 0),
    "math.atan2": (np.arctan2, 3), "math.copysign": (np.copysign, 0),
    "math.powf": (np.power, 2),
}


def is_normal(element):
    least = np.ldexp(np.longdouble(1), LEAST_EXPONENT[element])
    return lambda x: np.isfinite(x) & (np.abs(x) >= least)


def comparisons():
    """Predicate of cmpf -> what it is."""
    ordered = {"oeq": np.equal, "ogt": np.greater, "oge": np.greater_equal, "olt": np.less,
               "ole": np.less_equal}
    found = {name: lambda x, y, f=f: f(x, y) for name, f in ordered.items()}
    unordered = lambda x, y: np.isnan(x) | np.isnan(y)  # noqa: E731
    found |= {"u" + name[1:]: lambda x, y, f=f: f(x, y) | unordered(x, y)
              for name, f in ordered.items()}
    return found | {
        "one": lambda x, y: ~unordered(x, y) & (x != y), "une": np.not_equal,
        "ord": lambda x, y: ~unordered(x, y), "uno": unordered,
        "false": lambda x, y: np.zeros(len(x), bool), "true": lambda x, y: np.ones(len(x), bool)}


def float_cases(t):
    tensor = f"{{{t}}}"
    for op, (reference, narrow, wide) in UNARY.items():
        yield Case(f"{{r0}} = {op} {{x}} : {tensor}", [t], [t], reference,
                   wide if t == "f64" else narrow)
    yield Case(f"{{r0}}, {{r1}} = math.sincos {{x}} : {tensor}", [t], [t, t],
               lambda x: (np.sin(x), np.cos(x)), 1)
    for op, (reference, error) in BINARY.items():
        yield Case(f"{{r0}} = {op} {{x}}, {{y}} : {tensor}", [t, t], [t], reference, error)
    yield Case(f"{{r0}} = math.fma {{x}}, {{y}}, {{z}} : {tensor}", [t] * 3, [t],
               each(exact_fma), 0.5)
    yield Case(f"{{r0}} = math.clampf {{x}} to [{{y}}, {{z}}] : {tensor}", [t] * 3, [t],
               lambda x, low, high: minimum(maximum(x, low), high))
    for n in ("i8", "i16", "i32", "i64"):
        yield Case(f"{{r0}} = math.fpowi {{x}}, {{y}} : {tensor}, {{{n}}}", [t, n], [t],
                   lambda x, k, n=n: integer_power(x, signed(k, n)), 2)
    for op, reference in {"isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan,
                          "isnormal": is_normal(t)}.items():
        yield Case(f"{{r0}} = math.{op} {{x}} : {tensor}", [t], ["i1"], reference)
    for predicate, reference in comparisons().items():
        yield Case(f"{{r0}} = arith.cmpf {predicate}, {{x}}, {{y}} : {tensor}", [t, t], ["i1"],
                   reference)


# ===----------------------------------------------------------------------===
# Integers
# ===----------------------------------------------------------------------===


def integers(function):
    """Of Python's integers."""
    def apply(*arrays):
        results = [function(*map(int, values)) for values in zip(*arrays, strict=True)]
        if isinstance(results[0], tuple):
            return tuple(np.array(column, object) for column in zip(*results, strict=True))
        return np.array(results, object)
    return apply


def sign(x, width):
    return x - (1 << width) if x >> (width - 1) else x


def signed(x, t):
    return np.array([sign(int(value), INTEGERS[t]) for value in x], object)


def truncated(x, y):
    """A quotient without its fraction."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def inverse_power(x, n):
    """1 / x^-n as a division of integers."""
    return -1 if x == 0 else (x if n % 2 else 1) if abs(x) == 1 else 0


def integer_functions(w):
    """Op -> of unsigned numbers of `w` bits; results count modulo 2^w."""
    def s(f):  # signed operands
        return lambda *values: f(*(sign(value, w) for value in values))
    return {
        "addi": lambda x, y: x + y, "subi": lambda x, y: x - y, "muli": lambda x, y: x * y,
        "andi": lambda x, y: x & y, "ori": lambda x, y: x | y, "xori": lambda x, y: x ^ y,
        "divui": lambda x, y: x // y if y else -1,
        "ceildivui": lambda x, y: -(-x // y) if y else -1,
        "remui": lambda x, y: x % y if y else x,
        "divsi": s(lambda x, y: truncated(x, y) if y else -1),
        "floordivsi": s(lambda x, y: x // y if y else -1),
        "ceildivsi": s(lambda x, y: -(-x // y) if y else -1),
        "remsi": s(lambda x, y: x - y * truncated(x, y) if y else x),
        "shli": lambda x, y: x << y if y < w else 0, "shrui": lambda x, y: x >> y if y < w else 0,
        "shrsi": lambda x, y: sign(x, w) >> min(y, w - 1),
        "maxui": max, "minui": min, "maxsi": s(max), "minsi": s(min),
    }


COMPARISONS = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
               "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
               "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y}


def integer_cases(t):
    w, tensor = INTEGERS[t], f"{{{t}}}"
    wide = 1 << w
    for op, function in integer_functions(w).items():
        yield Case(f"{{r0}} = arith.{op} {{x}}, {{y}} : {tensor}", [t, t], [t],
                   integers(function))
    power = lambda x, n: x ** n if n >= 0 else inverse_power(x, n)  # noqa: E731
    # Exponents count as they are up to 200, and powers of more by their remainder.
    yield Case(f"{{r0}} = math.ipowi {{x}}, {{y}} : {tensor}", [t, t], [t], integers(
        lambda x, n: pow(x, n, wide) if sign(n, w) >= 0 else power(sign(x, w), sign(n, w))))
    unary = {"absi": lambda x: abs(sign(x, w)), "ctpop": lambda x: x.bit_count(),
             "ctlz": lambda x: w - x.bit_length(),
             "cttz": lambda x: (x & -x).bit_length() - 1 if x else w}
    for op, function in unary.items():
        yield Case(f"{{r0}} = math.{op} {{x}} : {tensor}", [t], [t], integers(function))
    yield Case(f"{{r0}}, {{r1}} = arith.addui_extended {{x}}, {{y}} : {tensor}, {{i1}}",
               [t, t], [t, "i1"], integers(lambda x, y: (x + y, (x + y) >> w)))
    yield Case(f"{{r0}}, {{r1}} = arith.mului_extended {{x}}, {{y}} : {tensor}", [t, t], [t, t],
               integers(lambda x, y: (x * y, (x * y) >> w)))
    yield Case(f"{{r0}}, {{r1}} = arith.mulsi_extended {{x}}, {{y}} : {tensor}", [t, t], [t, t],
               integers(lambda x, y: (sign(x, w) * sign(y, w), (sign(x, w) * sign(y, w)) >> w)))
    for name, function in COMPARISONS.items():
        kinds = {name: lambda x: x} if name in ("eq", "ne") else {
            "u" + name: lambda x: x, "s" + name: lambda x: sign(x, w)}
        for predicate, read in kinds.items():
            yield Case(f"{{r0}} = arith.cmpi {predicate}, {{x}}, {{y}} : {tensor}", [t, t], ["i1"],
                       integers(lambda x, y, f=function, read=read: int(f(read(x), read(y)))))


# ===----------------------------------------------------------------------===
# Conversions
# ===----------------------------------------------------------------------===


def to_integer(low, high):
    """Without the fraction, the nearest limit beyond the range, 0 for NaN."""
    def convert(x):
        if math.isnan(x):
            return 0
        return min(max(math.trunc(x), low), high) if math.isfinite(x) else low if x < 0 else high
    return integers_of_floats(convert)


def integers_of_floats(function):
    return lambda x: np.array([function(float(value)) for value in x], object)


def to_float(x):
    """Exact: 64 bits have room."""
    return np.array([np.longdouble(int(value)) for value in x], np.longdouble)


def conversion(op, source, target, reference, error=0):
    return Case(f"{{r0}} = arith.{op} {{x}} : {{{source}}} to {{{target}}}", [source], [target],
                reference, error)


def conversion_cases():
    for source, bits in FLOATS.items():
        for target, wanted in FLOATS.items():
            if wanted > bits:
                yield conversion("extf", source, target, lambda x: x)
            if wanted < bits:
                yield conversion("truncf", source, target, lambda x: x, 0.5)
            if wanted == bits and source != target:
                yield conversion("bitcast", source, target, None)
        for n, w in INTEGERS.items():
            yield conversion("fptosi", source, n, to_integer(-1 << (w - 1), (1 << (w - 1)) - 1))
            yield conversion("fptoui", source, n, to_integer(0, (1 << w) - 1))
            yield conversion("sitofp", n, source, lambda x, n=n: to_float(signed(x, n)), 0.5)
            yield conversion("uitofp", n, source, to_float, 0.5)
            if w == bits:
                yield conversion("bitcast", source, n, None)
                yield conversion("bitcast", n, source, None)
    for source, w in INTEGERS.items():
        for target, wanted in INTEGERS.items():
            if wanted > w:
                yield conversion("extui", source, target, lambda x: x)
                yield conversion("extsi", source, target, lambda x, t=source: signed(x, t))
            if wanted < w:
                yield conversion("trunci", source, target, lambda x: x)
    for t in [*FLOATS, *INTEGERS]:
        yield Case(f"{{r0}} = arith.select {{x}}, {{y}}, {{z}} : {{i1}}, {{{t}}}",
                   ["i1", t, t], [t], None)


# Entry -> its cases.
CASES = ({t: list(float_cases(t)) for t in FLOATS} | {t: list(integer_cases(t)) for t in INTEGERS}
         | {"conversions": list(conversion_cases())})
