//===- GeluPolynomial.cpp - GELU as a polynomial --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GeluPolynomial.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

namespace weft {

GeluPolynomial GeluPolynomial::term(Powers powers, double coefficient) {
  GeluPolynomial result;
  result.add(powers, coefficient);
  return result;
}

GeluPolynomial GeluPolynomial::constant(double value) {
  return term({0, 0, 0}, value);
}
GeluPolynomial GeluPolynomial::x() { return term({1, 0, 0}, 1); }
GeluPolynomial GeluPolynomial::t() { return term({0, 1, 0}, 1); }
GeluPolynomial GeluPolynomial::g() { return term({0, 0, 1}, 1); }

void GeluPolynomial::add(Powers powers, double coefficient) {
  double &sum = terms[powers];
  sum += coefficient;
  if (sum == 0)
    terms.erase(powers);
}

//===----------------------------------------------------------------------===//
// GELU
//===----------------------------------------------------------------------===//

static constexpr double cubeWeight = 0.044715;
static const double sqrtOf2OverPi = std::sqrt(2 * llvm::numbers::inv_pi);

GeluPolynomial GeluPolynomial::tanhOperand() {
  return constant(sqrtOf2OverPi) *
         (x() + constant(cubeWeight) * x() * x() * x());
}

GeluPolynomial GeluPolynomial::gelu() {
  return constant(0.5) * x() * (constant(1) + t());
}

GeluPolynomial GeluPolynomial::geluGrad() {
  GeluPolynomial slopeOfOperand =
      constant(sqrtOf2OverPi) *
      (constant(1) + constant(3 * cubeWeight) * x() * x());
  GeluPolynomial slopeOfT = (constant(1) - t() * t()) * slopeOfOperand;
  return g() * constant(0.5) * (constant(1) + t() + x() * slopeOfT);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

GeluPolynomial GeluPolynomial::operator+(const GeluPolynomial &other) const {
  GeluPolynomial sum = *this;
  for (auto [powers, coefficient] : other.terms)
    sum.add(powers, coefficient);
  return sum;
}

GeluPolynomial GeluPolynomial::operator-(const GeluPolynomial &other) const {
  return *this + constant(-1) * other;
}

GeluPolynomial GeluPolynomial::operator*(const GeluPolynomial &other) const {
  GeluPolynomial product;
  for (auto [mine, a] : terms)
    for (auto [theirs, b] : other.terms) {
      Powers powers;
      for (size_t i = 0; i < powers.size(); ++i)
        powers[i] = mine[i] + theirs[i];
      product.add(powers, a * b);
    }
  return product;
}

std::optional<double> GeluPolynomial::asConstant() const {
  if (terms.empty())
    return 0;
  if (terms.size() > 1 || terms.begin()->first != Powers{0, 0, 0})
    return std::nullopt;
  return terms.begin()->second;
}

bool GeluPolynomial::isTooLarge() const {
  constexpr size_t mostTerms = 32;
  constexpr uint8_t highestPower = 16;
  uint8_t highest = 0;
  for (const auto &[powers, coefficient] : terms)
    highest = std::max(highest, *llvm::max_element(powers));
  return terms.size() > mostTerms || highest > highestPower;
}

bool GeluPolynomial::isNear(const GeluPolynomial &expected,
                            double tolerance) const {
  // What is left of terms that cancel is small beside these.
  constexpr double smallest = 1. / 64;
  auto isNearly = [&](double value, double target) {
    return std::abs(value - target) <=
           tolerance * std::max(std::abs(target), smallest);
  };
  auto coefficientOf = [](const GeluPolynomial &polynomial, Powers powers) {
    auto it = polynomial.terms.find(powers);
    return it == polynomial.terms.end() ? 0 : it->second;
  };
  for (auto [powers, coefficient] : terms)
    if (!isNearly(coefficient, coefficientOf(expected, powers)))
      return false;
  for (auto [powers, coefficient] : expected.terms)
    if (!isNearly(coefficientOf(*this, powers), coefficient))
      return false;
  return true;
}

} // namespace weft
