//===- ElementIndex.cpp - Indices as sums of digits -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementIndex.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;

ElementIndex ElementIndex::constant(int64_t value) {
  ElementIndex index;
  index.known = true;
  index.offset = value;
  return index;
}

ElementIndex ElementIndex::digit(int64_t weight, int64_t extent) {
  ElementIndex index = constant(0);
  if (extent != 1)
    index.terms.push_back({weight, extent, 1});
  return index;
}

/// Joins digits that follow one another with factors that do.
void ElementIndex::normalize() {
  llvm::sort(terms,
             [](const Term &a, const Term &b) { return a.weight > b.weight; });
  llvm::SmallVector<Term, 4> joined;
  for (const Term &low : terms) {
    if (low.factor == 0)
      continue;
    if (!joined.empty()) {
      Term &high = joined.back();
      if (high.weight == low.weight * low.extent &&
          high.factor == low.factor * low.extent) {
        high = {low.weight, low.extent * high.extent, low.factor};
        continue;
      }
    }
    joined.push_back(low);
  }
  terms = std::move(joined);
}

/// Adds a multiple of a digit, which is either one of the terms or shares
/// nothing with them; false else.
bool ElementIndex::add(const Term &term) {
  for (Term &other : terms) {
    if (other.weight == term.weight && other.extent == term.extent) {
      other.factor += term.factor;
      return true;
    }
    bool isApart = other.weight >= term.weight * term.extent ||
                   term.weight >= other.weight * other.extent;
    if (!isApart)
      return false;
  }
  terms.push_back(term);
  return true;
}

ElementIndex ElementIndex::operator+(const ElementIndex &other) const {
  if (!known || !other.known)
    return {};
  ElementIndex sum = *this;
  sum.offset += other.offset;
  for (const Term &term : other.terms)
    if (!sum.add(term))
      return {};
  sum.normalize();
  return sum;
}

ElementIndex ElementIndex::operator*(int64_t factor) const {
  ElementIndex product = *this;
  product.offset *= factor;
  for (Term &term : product.terms)
    term.factor *= factor;
  product.normalize();
  return product;
}

std::pair<ElementIndex, ElementIndex>
ElementIndex::split(int64_t divisor) const {
  if (!known || offset < 0)
    return {};
  ElementIndex quotient = constant(offset / divisor),
               remainder = constant(offset % divisor);
  int64_t largest = remainder.offset;
  for (const Term &term : terms) {
    if (term.factor < 0)
      return {};
    if (term.factor % divisor == 0) {
      quotient.terms.push_back(
          {term.weight, term.extent, term.factor / divisor});
      continue;
    }
    // Of a digit that crosses the divisor the part below it.
    int64_t below = term.extent;
    if (term.factor * term.extent > divisor) {
      below = divisor / term.factor;
      if (below == 0 || divisor % term.factor != 0 || term.extent % below != 0)
        return {};
      quotient.terms.push_back({term.weight * below, term.extent / below, 1});
    }
    if (below > 1)
      remainder.terms.push_back({term.weight, below, term.factor});
    largest += term.factor * (below - 1);
  }
  if (largest >= divisor)
    return {};
  quotient.normalize();
  remainder.normalize();
  return {quotient, remainder};
}

ElementIndex weft::linearise(ArrayRef<ElementIndex> index,
                             ArrayRef<int64_t> shape) {
  ElementIndex sum = ElementIndex::constant(0);
  for (auto [x, size] : llvm::zip_equal(index, shape))
    if (size != 1)
      sum = sum * size + x;
  return sum;
}

ElementPoint weft::delinearise(ElementIndex x, ArrayRef<int64_t> shape) {
  ElementPoint index(shape.size(), ElementIndex::constant(0));
  const int64_t *first =
      llvm::find_if(shape, [](int64_t size) { return size != 1; });
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    if (shape[dim] == 1)
      continue;
    if (&shape[dim] == first) {
      index[dim] = x;
      break;
    }
    std::tie(x, index[dim]) = x.split(shape[dim]);
  }
  return index;
}

ElementIndex weft::evaluate(AffineExpr expr, ArrayRef<ElementIndex> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return ElementIndex::constant(number.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return {};
  ElementIndex x = evaluate(binary.getLHS(), dims);
  if (expr.getKind() == AffineExprKind::Add)
    return x + evaluate(binary.getRHS(), dims);
  auto number = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!number)
    return {};
  if (expr.getKind() == AffineExprKind::Mul)
    return x * number.getValue();
  auto [quotient, remainder] = x.split(number.getValue());
  return expr.getKind() == AffineExprKind::FloorDiv ? quotient : remainder;
}
