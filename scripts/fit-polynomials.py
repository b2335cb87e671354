#!/usr/bin/env python3
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints lib/Codegen/MathCoefficients.h: the polynomials of ExpandMath.

Each is a Chebyshev fit, so long that its error is far below the last place of
the function that uses it. Needs mpmath, which no build does.
"""

import struct

from mpmath import asin, atan, atanh, chebyfit, cos, erf, erfc, exp, floor, mp, mpf, pi, sin, sqrt

mp.dps = 60


def tail(function, z, subtract):
    """What `function` of sqrt(z) has beyond the terms that are written out."""
    mp.dps += 40
    x = sqrt(z + mpf(10) ** -24)
    result = subtract(function(x), x)
    mp.dps -= 40
    return result


def tail_at(function, subtract):
    return lambda z: tail(function, z, subtract)


def erf_near(z):
    # 2 / sqrt(pi) * sum (-z)^k / (k! (2k + 1)) - 1
    total, term = mpf(0), mpf(1)
    for k in range(60):
        total += term / (2 * k + 1)
        term *= -z / (k + 1)
    return 2 / sqrt(pi) * total - 1


def erfc_scaled(t):
    # erfc(a) = exp(-a^2) * this / (1 + 2a) with t = (a - 4) / (a + 4)
    a = 4 * (1 + t) / (1 - t)
    return exp(a * a) * erfc(a) * (1 + 2 * a)


def erfc_argument(a):
    return (mpf(a) - 4) / (mpf(a) + 4)


angle = mpf("0.80") ** 2
octant = mpf("0.4143") ** 2
POLYNOMIALS = [
    (
        "sinTail",
        "(sin x - x) / x^3 in x^2 for |x| <= 0.80",
        tail_at(sin, lambda f, x: (f - x) / x**3),
        [0, angle],
        3,
        6,
    ),
    (
        "cosTail",
        "(cos x - 1 + x^2 / 2) / x^4 in x^2 for |x| <= 0.80",
        tail_at(cos, lambda f, x: (f - 1 + x * x / 2) / x**4),
        [0, angle],
        3,
        6,
    ),
    (
        "atanTail",
        "(atan x - x) / x^3 in x^2 for |x| <= tan(pi / 8)",
        tail_at(atan, lambda f, x: (f - x) / x**3),
        [0, octant],
        5,
        12,
    ),
    (
        "asinTail",
        "(asin x - x) / x^3 in x^2 for |x| <= 1/2",
        tail_at(asin, lambda f, x: (f - x) / x**3),
        [0, mpf("0.2501")],
        6,
        13,
    ),
    (
        "erfcScaled",
        "erfc(a) exp(a^2) (1 + 2a) in (a - 4) / (a + 4) for a >= 0.49",
        erfc_scaled,
        [(erfc_argument("0.49"), erfc_argument("10.2")), (erfc_argument("0.49"), erfc_argument("27.4"))],
        12,
        23,
    ),
    ("erfNear", "erf(x) / x - 1 in x^2 for |x| <= 1", erf_near, [0, mpf("1.001")], None, 13),
    (
        "logTail",
        "(2 atanh s - 2 s - 2/3 s^3) / s^5 in s^2 for |s| <= 0.1716",
        tail_at(atanh, lambda f, s: (2 * f - 2 * s - 2 * s**3 / 3) / s**5),
        [0, mpf("0.1717") ** 2],
        None,
        8,
    ),
]


def rounded(value, is_wide):
    number = float(value)
    if not is_wide:
        number = struct.unpack("f", struct.pack("f", number))[0]
    return number.hex()


def print_array(name, comment, values, per_line):
    print(f"/// {comment}")
    print(f"inline constexpr {name}[] = {{")
    for i in range(0, len(values), per_line):
        end = "};" if i + per_line >= len(values) else ","
        print("    " + ", ".join(values[i : i + per_line]) + end)


def print_polynomial(name, comment, function, interval, narrow, wide):
    for is_wide, count in ((False, narrow), (True, wide)):
        if not count:
            continue
        limits = interval[is_wide] if isinstance(interval[0], tuple) else interval
        coefficients, error = chebyfit(function, limits, count, error=True)
        suffix = "Wide" if is_wide else "Narrow"
        text = f"{comment}; error {mp.nstr(error, 2)}"
        values = [rounded(c, is_wide) for c in reversed(coefficients)]
        print_array(f"double {name}{suffix}", text, values, 2)


HEADER = """//===- MathCoefficients.h - Polynomials of functions ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by scripts/fit-polynomials.py. Coefficients are listed from that of
// the lowest power; `Narrow` is for f32 and `Wide` for f64.

#ifndef WEFT_LIB_CODEGEN_MATHCOEFFICIENTS_H
#define WEFT_LIB_CODEGEN_MATHCOEFFICIENTS_H

#include <cstdint>

namespace weft {

// clang-format off"""

FOOTER = """// clang-format on

} // namespace weft

#endif // WEFT_LIB_CODEGEN_MATHCOEFFICIENTS_H"""


def main():
    print(HEADER)
    for polynomial in POLYNOMIALS:
        print_polynomial(*polynomial)
    mp.dps = 500
    words, rest = ["0"], 2 / pi
    for _ in range(20):
        rest *= 2**64
        words.append(f"{int(floor(rest)):#018x}")
        rest -= floor(rest)
    print_array("uint64_t twoOverPi", "64 zeros, then 1280 bits of 2 / pi.", words, 3)
    print(FOOTER)


if __name__ == "__main__":
    main()
