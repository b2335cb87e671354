# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of one and two numbers, each for Weft and for JAX, with their first and second
derivatives in NumPy's longest float, in forms that cancel and overflow nowhere."""

import dataclasses
import math
from typing import Callable

import numpy as np
import scipy.special

LONG = np.longdouble
LN2, LN10 = np.log(LONG(2)), np.log(LONG(10))
PI = LONG("3.14159265358979323846264338327950288")


@dataclasses.dataclass(frozen=True, eq=False)
class Function:
    name: str
    # Of a namespace with the packages numpy, nn, lax, and of `op`, which names an op of math.
    call: Callable
    # x -> value, derivative, second derivative; of two numbers (x, y) -> value, by x, by y.
    truth: Callable
    # The limits of a type, x -> numbers of whose last places a value and its derivatives are off,
    # where larger than these; infinite where a function is not promised to be exact.
    scale: Callable = lambda limits, *values: (0, 0, 0)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _sech2(x):
    e = np.exp(-2 * np.abs(x))
    return 4 * e / (1 + e) ** 2


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _density(x):
    return np.exp(-x * x / 2) / np.sqrt(2 * PI)


def _normal(x):
    return scipy.special.ndtr(x.astype(float)).astype(LONG)


def _flat(value):
    return lambda x: (value(x), np.zeros_like(x), np.zeros_like(x))


def sigmoid(x):
    slope = _sech2(x / 2) / 4
    return _sigmoid(x), slope, -slope * np.tanh(x / 2)


def softplus(x):
    return _softplus(x), _sigmoid(x), sigmoid(x)[1]


def silu(x):
    s, slope, bend = sigmoid(x)
    return x * s, s + x * slope, 2 * slope + x * bend


def mish(x):
    t, sech2 = np.tanh(_softplus(x)), _sech2(_softplus(x))
    s, slope, _ = sigmoid(x)
    return x * t, t + x * sech2 * s, 2 * sech2 * s + x * sech2 * (slope - 2 * t * s * s)


def gelu(x):
    return x * _normal(x), _normal(x) + x * _density(x), (2 - x * x) * _density(x)


def gelu_approximate(x):
    c, w = np.sqrt(2 / PI), LONG("0.044715")
    u, du, ddu = c * (x + w * x**3), c * (1 + 3 * w * x * x), 6 * c * w * x
    s, slope, bend = sigmoid(2 * u)
    return x * s, s + 2 * x * slope * du, 4 * slope * du + x * (4 * bend * du * du + 2 * slope * ddu)


def _elu(scale, alpha):
    def truth(x):
        e = alpha * np.exp(np.minimum(x, 0))
        y = np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))
        return tuple(scale * v for v in (y, np.where(x > 0, 1, e), np.where(x > 0, 0, e)))
    return truth


def _pieces(value, slope):
    return lambda x: (value(x), slope(x) + np.zeros_like(x), np.zeros_like(x))


def squareplus(x):
    root = np.hypot(x, 2)
    small = 2 / (root + np.abs(x))
    return np.where(x < 0, small, (x + root) / 2), np.where(
        x < 0, small / root, (1 + x / root) / 2), 2 / root / root / root


def hard_silu(x):
    inside = (x > -3) & (x < 3)
    value = np.where(x >= 3, x, np.where(x <= -3, 0, x * (x + 3) / 6))
    return value, np.where(inside, (2 * x + 3) / 6, x >= 3), np.where(inside, LONG(1) / 3, 0)


def erf_inv(x):
    y = scipy.special.erfinv(x.astype(float)).astype(LONG)
    slope = np.sqrt(PI) / 2 * np.exp(y * y)
    return y, slope, 2 * y * slope * slope


def _power(n):
    return lambda x: (x**LONG(n), n * x**LONG(n - 1), n * (n - 1) * x**LONG(n - 2))


def erf(x, sign=1):
    value = scipy.special.erf if sign > 0 else scipy.special.erfc
    slope = sign * 2 / np.sqrt(PI) * np.exp(-x * x)
    return value(x.astype(float)).astype(LONG), slope, -2 * x * slope


def acosh(x):
    slope = 1 / np.sqrt(x - 1) / np.sqrt(x + 1)
    return np.arccosh(x), slope, -x * slope**3


def asinh(x):
    r = np.hypot(1, x)
    return np.arcsinh(x), 1 / r, -x / r / r / r


def asin(x):
    slope = 1 / np.sqrt((1 - x) * (1 + x))
    return np.arcsin(x), slope, x * slope**3


def atanh(x):
    slope = 1 / ((1 - x) * (1 + x))
    return np.arctanh(x), slope, 2 * x * slope * slope


def _of(package, name, *rest, **options):
    return lambda x, *values: getattr(getattr(x, package), name)(*values, *rest, **options)


# Of what is computed from a tanh, whose distance from 1 has no digits; docs/Numerics.md says so.
SCALES = {"tanh": lambda _, x: (0, 1, 1), "mish": lambda _, x: (0, 0, 1),
          "gelu": lambda _, x: (np.abs(x), 1, 1)}


def _unary(package, truths):
    return [Function(f"{package}.{name}", _of(package, name), truth, SCALES.get(name, Function.scale))
            for name, truth in truths.items()]


def _ops(truths):
    return [Function(f"math.{name}", lambda x, v, name=name: x.op(name, v), truth)
            for name, truth in truths.items()]


def _exponential(base, x):
    y = np.exp2(x) if base == 2 else np.exp(x)
    scale = LN2 if base == 2 else 1
    return y, scale * y, scale * scale * y


def _logarithm(value, scale, x):
    return value(x), scale / x, -scale / x / x


UNARY = [
    *_unary("numpy", {
        "exp": lambda x: _exponential(math.e, x),
        "exp2": lambda x: _exponential(2, x),
        "expm1": lambda x: (np.expm1(x), np.exp(x), np.exp(x)),
        "log": lambda x: _logarithm(np.log, 1, x),
        "log2": lambda x: _logarithm(np.log2, 1 / LN2, x),
        "log10": lambda x: _logarithm(np.log10, 1 / LN10, x),
        "log1p": lambda x: (np.log1p(x), 1 / (1 + x), -1 / (1 + x) / (1 + x)),
        "sqrt": _power(0.5), "square": _power(2), "reciprocal": _power(-1),
        "sin": lambda x: (np.sin(x), np.cos(x), -np.sin(x)),
        "cos": lambda x: (np.cos(x), -np.sin(x), -np.cos(x)),
        "tan": lambda x: (np.tan(x), 1 / np.cos(x) ** 2, 2 * np.tan(x) / np.cos(x) ** 2),
        "sinh": lambda x: (np.sinh(x), np.cosh(x), np.sinh(x)),
        "cosh": lambda x: (np.cosh(x), np.sinh(x), np.cosh(x)),
        "tanh": lambda x: (np.tanh(x), _sech2(x), -2 * _sech2(x) * np.tanh(x)),
        "abs": _pieces(np.abs, lambda x: np.where(x < 0, -1, 1)),
        "negative": _pieces(np.negative, lambda x: -1),
        "positive": _pieces(np.positive, lambda x: 1),
        "sign": _flat(np.sign), "floor": _flat(np.floor), "ceil": _flat(np.ceil),
        "trunc": _flat(np.trunc), "rint": _flat(np.rint), "round": _flat(np.rint),
    }),
    Function("numpy.clip", _of("numpy", "clip", -1, 1), _pieces(
        lambda x: np.clip(x, -1, 1), lambda x: np.where(np.abs(x) == 1, 0.5, np.abs(x) < 1))),
    *[Function(f"x**{n}", lambda _, x, n=n: x**n, _power(n)) for n in (3, 5, 0.5, 2.5, -1, -2, -3, -0.5)],
    *_unary("lax", {"erf": erf, "erf_inv": erf_inv, "rsqrt": _power(-0.5), "logistic": sigmoid}),
    Function("lax.clamp", lambda x, v: x.lax.clamp(x.numpy.full_like(v, -1), v, x.numpy.full_like(v, 1)),
             _pieces(lambda x: np.clip(x, -1, 1), lambda x: np.abs(x) < 1)),
    *_unary("nn", {
        "relu": _pieces(lambda x: np.maximum(x, 0), lambda x: x > 0),
        "relu6": _pieces(lambda x: np.clip(x, 0, 6), lambda x: (x > 0) & (x < 6)),
        "sigmoid": sigmoid, "silu": silu, "softplus": softplus,
        "log_sigmoid": lambda x: (-_softplus(-x), _sigmoid(-x), -sigmoid(x)[1]),
        "soft_sign": lambda x: (x / (1 + np.abs(x)), (1 + np.abs(x)) ** -2,
                                -2 * np.where(x < 0, -1, 1) * (1 + np.abs(x)) ** -3),
        "squareplus": squareplus, "mish": mish, "elu": _elu(1, 1), "celu": _elu(1, 1),
        "selu": _elu(LONG("1.0507009873554804934193349852946"), LONG("1.6732632423543772848170429916717")),
        "leaky_relu": _pieces(lambda x: np.where(x < 0, LONG("0.01") * x, x),
                              lambda x: np.where(x < 0, LONG("0.01"), 1)),
        "hard_tanh": _pieces(lambda x: np.clip(x, -1, 1), lambda x: np.abs(x) <= 1),
        "hard_sigmoid": _pieces(lambda x: np.clip(x / 6 + LONG(0.5), 0, 1),
                                lambda x: np.where(np.abs(x) < 3, LONG(1) / 6, 0)),
        "hard_silu": hard_silu, "gelu": gelu_approximate,
    }),
    Function("nn.gelu exact", _of("nn", "gelu", approximate=False), gelu),
    *_ops({
        "cbrt": lambda x: (np.cbrt(x), 1 / (3 * np.cbrt(x) ** 2), -2 / (9 * np.cbrt(x) ** 5)),
        "asin": asin, "acos": lambda x: (np.arccos(x), -asin(x)[1], -asin(x)[2]),
        "atan": lambda x: (np.arctan(x), 1 / (1 + x * x), -2 * x / (1 + x * x) ** 2),
        "asinh": asinh, "acosh": acosh, "atanh": atanh, "erfc": lambda x: erf(x, -1),
    }),
]


def power(x, y):
    flat = np.where(y == 0, 0, y * x ** np.where(y == 0, 1, y - 1))
    return x**y, flat, np.where(x == 0, 0, x**y * np.log(np.where(x == 0, 1, x)))


def logaddexp(x, y):
    infinite = np.isinf(x) & (x == y)
    d = np.where(infinite, 0, x - y)
    one = [np.where(infinite, 1, _sigmoid(s * d)) for s in (1, -1)]
    return np.where(infinite, x, np.maximum(x, y) + np.log1p(np.exp(-np.abs(d)))), *one


def _extremum(choose):
    def truth(x, y):
        r = choose(x, y)
        return r, np.where(x == y, 0.5, x == r), np.where(x == y, 0.5, y == r)
    return truth


def atan2(y, x):
    m = np.maximum(np.abs(x), np.abs(y))
    u, v = x / m, y / m
    return np.arctan2(y, x), u / (u * u + v * v) / m, -v / (u * u + v * v) / m


def glu(x, y):
    return x * _sigmoid(y), _sigmoid(y), x * sigmoid(y)[1]


BINARY = [
    Function("numpy.add", _of("numpy", "add"), lambda x, y: (x + y, LONG(1), LONG(1))),
    Function("numpy.subtract", _of("numpy", "subtract"), lambda x, y: (x - y, LONG(1), LONG(-1))),
    Function("numpy.multiply", _of("numpy", "multiply"), lambda x, y: (x * y, y, x)),
    Function("numpy.divide", _of("numpy", "divide"), lambda x, y: (x / y, 1 / y, -x / y / y)),
    Function("numpy.power", _of("numpy", "power"), power,
             # y - 1 is rounded.
             lambda limits, x, y: (0, np.where(np.abs(y) * float(limits.eps) > 1, np.inf, 0), 0)),
    Function("numpy.logaddexp", _of("numpy", "logaddexp"), logaddexp),
    Function("numpy.maximum", _of("numpy", "maximum"), _extremum(np.maximum)),
    Function("numpy.minimum", _of("numpy", "minimum"), _extremum(np.minimum)),
    Function("nn.glu", lambda x, a, b: x.nn.glu(x.numpy.concatenate([a, b])), glu,
             # The sigmoid of y is denormal, and x large.
             lambda limits, x, y: [np.abs(x) * float(limits.tiny) / float(limits.eps)] * 3),
    Function("math.atan2", lambda x, a, b: x.op("atan2", a, b), atan2),
]
