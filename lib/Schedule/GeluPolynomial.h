//===- GeluPolynomial.h - GELU as a polynomial ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The GELU with tanh and its derivative are polynomials in x and in t, which is
// tanh(u) for a certain polynomial u of x. So are all ways to write them down:
// two expressions compute the same if their polynomials are equal, whatever the
// order and the grouping of their operations.
//
// Example: 0.5 * x * (1 + t) and x * (t * 0.5 + 0.5) are 0.5 x + 0.5 x t.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_GELUPOLYNOMIAL_H
#define WEFT_LIB_SCHEDULE_GELUPOLYNOMIAL_H

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace weft {

/// A polynomial in x, t and g, a factor that a derivative is multiplied by.
class GeluPolynomial {
public:
  static GeluPolynomial constant(double value);
  static GeluPolynomial x();
  static GeluPolynomial t();
  static GeluPolynomial g();

  /// u, whose tanh is t.
  static GeluPolynomial tanhOperand();
  static GeluPolynomial gelu();
  /// g times the derivative of gelu.
  static GeluPolynomial geluGrad();

  GeluPolynomial operator+(const GeluPolynomial &other) const;
  GeluPolynomial operator-(const GeluPolynomial &other) const;
  GeluPolynomial operator*(const GeluPolynomial &other) const;

  /// The value of a polynomial without variables.
  std::optional<double> asConstant() const;
  /// Whether its terms are so many, or of so high powers, that it can be
  /// neither GELU nor part of it.
  bool isTooLarge() const;
  /// Whether each coefficient is that of `expected` but for a relative error.
  bool isNear(const GeluPolynomial &expected, double tolerance) const;

private:
  /// Powers of x, t and g.
  using Powers = std::array<uint8_t, 3>;

  static GeluPolynomial term(Powers powers, double coefficient);
  void add(Powers powers, double coefficient);

  std::map<Powers, double> terms;
};

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_GELUPOLYNOMIAL_H
