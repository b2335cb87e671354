//===- LaneIndex.cpp - Indices, lane by lane ------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace weft;

namespace {
enum Operator { Add, Multiply, Quotient, Remainder, Join, Vector };
} // namespace

static std::optional<int64_t> constantOf(const LaneIndex &x) {
  APInt value;
  if (!x.isUniform() || !matchPattern(x.base, m_ConstantInt(&value)))
    return std::nullopt;
  return value.getSExtValue();
}

std::vector<const void *> IndexBuilder::identity(ArrayRef<LaneIndex> indices) {
  std::vector<const void *> key;
  for (const LaneIndex &x : indices) {
    key.push_back(x.base.getAsOpaquePointer());
    key.push_back(x.lanes.getAsOpaquePointer());
    key.push_back(reinterpret_cast<const void *>(x.stride));
  }
  return key;
}

LaneIndex IndexBuilder::remember(Key key,
                                 llvm::function_ref<LaneIndex()> compute) {
  for (auto &scope : scopes)
    if (auto it = scope.find(key); it != scope.end())
      return it->second;
  LaneIndex result = compute();
  scopes.back()[key] = result;
  return result;
}

LaneIndex IndexBuilder::constant(int64_t value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    known = ops.i64(value);
  }
  return {known, 0, {}, value};
}

Value IndexBuilder::materialise(LaneIndex x) {
  if (x.lanes)
    return x.lanes;
  if (x.stride == 0)
    return x.base;
  auto compute = [&]() -> LaneIndex {
    Value steps = ops.laneNumbers();
    if (x.stride != 1)
      steps = arith::MulIOp::create(
          b, steps.getLoc(), steps,
          ops.constant(b.getI64IntegerAttr(x.stride), /*lanes=*/true));
    Value sum =
        arith::AddIOp::create(b, steps.getLoc(), ops.spread(x.base), steps);
    return {{}, 0, sum, 1};
  };
  return remember({Vector, identity({x}), 0}, compute).lanes;
}

LaneIndex IndexBuilder::add(LaneIndex x, LaneIndex y) {
  auto constantX = constantOf(x), constantY = constantOf(y);
  if (constantX && constantY)
    return constant(*constantX + *constantY);
  if (constantX == 0)
    return y;
  if (constantY == 0)
    return x;
  return remember({Add, identity({x, y}), 0}, [&]() -> LaneIndex {
    if (x.lanes || y.lanes)
      return {{},
              0,
              arith::AddIOp::create(b, b.getUnknownLoc(),
                                    ops.spread(materialise(x)),
                                    ops.spread(materialise(y))),
              1};
    Value base = arith::AddIOp::create(b, b.getUnknownLoc(), x.base, y.base);
    return {base, x.stride + y.stride, {}, std::gcd(x.divisor, y.divisor)};
  });
}

LaneIndex IndexBuilder::multiply(LaneIndex x, int64_t factor) {
  if (auto value = constantOf(x))
    return constant(*value * factor);
  if (factor == 1)
    return x;
  if (factor == 0)
    return constant(0);
  return remember({Multiply, identity({x}), factor}, [&]() -> LaneIndex {
    if (x.lanes)
      return {{},
              0,
              arith::MulIOp::create(
                  b, b.getUnknownLoc(), x.lanes,
                  ops.constant(b.getI64IntegerAttr(factor), /*lanes=*/true)),
              1};
    Value base = arith::MulIOp::create(b, b.getUnknownLoc(), x.base,
                                       constant(factor).base);
    return {base, x.stride * factor, {}, x.divisor * factor};
  });
}

/// An index that counts up by one within a block of `width` cannot cross a
/// multiple of a divisor that is one of `width`.
bool IndexBuilder::lanesStayInBlock(const LaneIndex &x, int64_t divisor) const {
  return !x.lanes && x.stride == 1 && divisor % ops.width == 0 &&
         x.divisor % ops.width == 0;
}

LaneIndex IndexBuilder::splitPart(LaneIndex x, int64_t divisor, bool quotient) {
  auto divide = [&](Value value, Value by) -> Value {
    if (quotient)
      return arith::DivUIOp::create(b, b.getUnknownLoc(), value, by);
    return arith::RemUIOp::create(b, b.getUnknownLoc(), value, by);
  };
  if (x.isUniform() || lanesStayInBlock(x, divisor)) {
    Value base;
    if (auto value = constantOf({x.base, 0, {}, 1}))
      base = constant(quotient ? *value / divisor : *value % divisor).base;
    else
      base = divide(x.base, constant(divisor).base);
    if (!quotient)
      return {base, x.stride, {}, std::gcd(x.divisor, divisor)};
    bool exact = x.divisor % divisor == 0;
    return {base, 0, {}, exact ? x.divisor / divisor : 1};
  }
  Value by = ops.constant(b.getI64IntegerAttr(divisor), /*lanes=*/true);
  return {{}, 0, divide(materialise(x), by), 1};
}

std::pair<LaneIndex, LaneIndex> IndexBuilder::split(LaneIndex x,
                                                    int64_t divisor) {
  if (divisor == 1)
    return {x, constant(0)};
  LaneIndex major = remember({Quotient, identity({x}), divisor},
                             [&] { return splitPart(x, divisor, true); });
  LaneIndex minor = remember({Remainder, identity({x}), divisor},
                             [&] { return splitPart(x, divisor, false); });
  if (!constantOf(major) || !constantOf(minor))
    remember({Join, identity({major, minor}), divisor}, [&] { return x; });
  return {major, minor};
}

void IndexBuilder::declareJoin(LaneIndex major, LaneIndex minor,
                               int64_t divisor, LaneIndex whole) {
  remember({Join, identity({major, minor}), divisor}, [&] { return whole; });
}

LaneIndex IndexBuilder::join(LaneIndex major, LaneIndex minor,
                             int64_t divisor) {
  if (divisor == 1)
    return major;
  LaneIndex result = remember({Join, identity({major, minor}), divisor}, [&] {
    return add(multiply(major, divisor), minor);
  });
  // Later splits of the sum give its parts (the minor one is below the
  // divisor).
  remember({Quotient, identity({result}), divisor}, [&] { return major; });
  remember({Remainder, identity({result}), divisor}, [&] { return minor; });
  return result;
}

const LaneIndex *IndexBuilder::findJoin(LaneIndex major, LaneIndex minor,
                                        int64_t divisor) const {
  Key key{Join, identity({major, minor}), divisor};
  for (auto &scope : scopes)
    if (auto it = scope.find(key); it != scope.end())
      return &it->second;
  return nullptr;
}

LaneIndex IndexBuilder::linearise(ArrayRef<LaneIndex> index,
                                  ArrayRef<int64_t> shape) {
  SmallVector<std::pair<LaneIndex, int64_t>> parts;
  for (auto [x, size] : llvm::zip_equal(index, shape)) {
    if (size == 1)
      continue;
    parts.push_back({x, size});
    // Parts of one index come together again, however the dimensions group.
    while (parts.size() > 1) {
      auto [minor, minorSize] = parts.back();
      auto [major, majorSize] = parts[parts.size() - 2];
      const LaneIndex *whole = findJoin(major, minor, minorSize);
      if (!whole)
        break;
      parts.pop_back();
      parts.back() = {*whole, majorSize * minorSize};
    }
  }
  LaneIndex sum = constant(0);
  for (auto [x, size] : parts)
    sum = constantOf(sum) == 0 ? x : join(sum, x, size);
  return sum;
}

SmallVector<LaneIndex> IndexBuilder::delinearise(LaneIndex x,
                                                 ArrayRef<int64_t> shape) {
  SmallVector<LaneIndex> index(shape.size(), constant(0));
  const int64_t *first =
      llvm::find_if(shape, [](int64_t size) { return size != 1; });
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    if (shape[dim] == 1)
      continue;
    if (&shape[dim] == first) {
      index[dim] = x;
      break;
    }
    std::tie(x, index[dim]) = split(x, shape[dim]);
  }
  return index;
}

LaneIndex IndexBuilder::evaluate(AffineExpr expr, ArrayRef<LaneIndex> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return constant(number.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  LaneIndex x = evaluate(binary.getLHS(), dims);
  if (expr.getKind() == AffineExprKind::Add)
    return add(x, evaluate(binary.getRHS(), dims));
  int64_t number = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  if (expr.getKind() == AffineExprKind::Mul)
    return multiply(x, number);
  auto parts = split(x, number);
  return expr.getKind() == AffineExprKind::FloorDiv ? parts.first
                                                    : parts.second;
}
