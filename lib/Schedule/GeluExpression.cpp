//===- GeluExpression.cpp - Element-wise ops that are GELU ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GeluExpression.h"
#include "GeluPolynomial.h"
#include "SplatConstant.h"

#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft {

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The number that all elements of a constant have.
static std::optional<APFloat> numberOf(Value value) {
  auto elements = dyn_cast_if_present<DenseFPElementsAttr>(findSplat(value));
  if (!elements)
    return std::nullopt;
  return elements.getSplatValue<APFloat>();
}

static bool isConversion(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp>(op);
}

/// Ops whose results are polynomials where their operands are.
static bool isReadable(Operation *op) {
  return isa_and_present<arith::AddFOp, arith::SubFOp, arith::MulFOp,
                         arith::DivFOp, arith::NegFOp, arith::ExtFOp,
                         arith::TruncFOp, math::TanhOp>(op);
}

namespace {

/// Reads one expression.
class Reader {
public:
  Reader(Value x, Value cotangent, const DenseSet<Value> &leaves)
      : x_(x), cotangent(cotangent), leaves(leaves) {}

  std::optional<GeluPolynomial> read(Value value, int depth = 0);
  bool isNear(const GeluPolynomial &value, const GeluPolynomial &target) const;

  Value x() const { return x_; }
  const llvm::SetVector<Operation *> &ops() const { return ops_; }

private:
  std::optional<GeluPolynomial> readLeaf(Value value);
  std::optional<GeluPolynomial> readOp(Operation *op, int depth);

  /// Null until it is found.
  Value x_;
  /// Null if there is none.
  Value cotangent;
  const DenseSet<Value> &leaves;
  llvm::SetVector<Operation *> ops_;
  DenseMap<Value, GeluPolynomial> known;
  /// The bits of the narrowest constant.
  unsigned precision = 24;
};

} // namespace

/// A value that is no expression, or is not to be read as one.
std::optional<GeluPolynomial> Reader::readLeaf(Value value) {
  if (value == cotangent)
    return GeluPolynomial::g();
  if (!x_ && cotangent && value.getType() == cotangent.getType())
    x_ = value;
  if (value == x_)
    return GeluPolynomial::x();
  return std::nullopt;
}

std::optional<GeluPolynomial> Reader::readOp(Operation *op, int depth) {
  SmallVector<GeluPolynomial, 2> operands;
  for (Value operand : op->getOperands()) {
    std::optional<GeluPolynomial> polynomial = read(operand, depth + 1);
    if (!polynomial)
      return std::nullopt;
    operands.push_back(std::move(*polynomial));
  }
  const GeluPolynomial &a = operands.front(), &b = operands.back();
  if (isConversion(op))
    return a;
  return llvm::TypeSwitch<Operation *, std::optional<GeluPolynomial>>(op)
      .Case([&](arith::AddFOp) { return a + b; })
      .Case([&](arith::SubFOp) { return a - b; })
      .Case([&](arith::MulFOp) { return a * b; })
      .Case([&](arith::NegFOp) { return GeluPolynomial() - a; })
      .Case([&](arith::DivFOp) -> std::optional<GeluPolynomial> {
        std::optional<double> divisor = b.asConstant();
        if (!divisor || *divisor == 0)
          return std::nullopt;
        return a * GeluPolynomial::constant(1 / *divisor);
      })
      .Case([&](math::TanhOp) -> std::optional<GeluPolynomial> {
        if (!isNear(a, GeluPolynomial::tanhOperand()))
          return std::nullopt;
        return GeluPolynomial::t();
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<GeluPolynomial> Reader::read(Value value, int depth) {
  // That of GELU is less than half as deep.
  constexpr int deepest = 32;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  if (std::optional<APFloat> number = numberOf(value)) {
    const llvm::fltSemantics &type = number->getSemantics();
    precision = std::min(precision, APFloat::semanticsPrecision(type));
    return GeluPolynomial::constant(number->convertToDouble());
  }
  Operation *op = value.getDefiningOp();
  if (value == x_ || value == cotangent || leaves.contains(value) ||
      !isReadable(op))
    return readLeaf(value);
  if (depth == deepest)
    return std::nullopt;
  std::optional<GeluPolynomial> polynomial = readOp(op, depth);
  if (!polynomial || polynomial->isTooLarge())
    return std::nullopt;
  known[value] = *polynomial;
  ops_.insert(op);
  return polynomial;
}

/// A coefficient is a product of at most four constants, each off by half of
/// its last bit.
bool Reader::isNear(const GeluPolynomial &value,
                    const GeluPolynomial &target) const {
  return value.isNear(target, std::ldexp(4, -static_cast<int>(precision)));
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// Looks among what is computed from `start` for a value of its type that is
/// near `target`.
static std::optional<GeluExpression>
findExpression(Value start, Value x, Value cotangent,
               const DenseSet<Value> &leaves, const GeluPolynomial &target) {
  llvm::SetVector<Value> reached;
  reached.insert(start);
  // The longest way to write the derivative has half as many.
  constexpr size_t most = 64;
  for (size_t next = 0; next < reached.size() && next < most; ++next)
    for (Operation *user : reached[next].getUsers()) {
      if (!isReadable(user) || reached.contains(user->getResult(0)))
        continue;
      Value value = user->getResult(0);
      Reader reader(x, cotangent, leaves);
      std::optional<GeluPolynomial> polynomial = reader.read(value);
      if (!polynomial)
        continue;
      if (value.getType() == start.getType() &&
          reader.isNear(*polynomial, target))
        return GeluExpression{reader.x(), value, reader.ops()};
      reached.insert(value);
    }
  return std::nullopt;
}

static bool areAllIn(Operation::user_range users,
                     const llvm::SetVector<Operation *> &ops) {
  return llvm::all_of(users, [&](Operation *op) { return ops.contains(op); });
}

bool GeluExpression::isClosed() const {
  return llvm::all_of(ops, [&](Operation *op) {
    return op->getResult(0) == result || areAllIn(op->getUsers(), ops);
  });
}

std::optional<GeluExpression> findGelu(Value x) {
  return findExpression(x, x, /*cotangent=*/{}, /*leaves=*/{},
                        GeluPolynomial::gelu());
}

/// Whether `user` does nothing with a value but let `x`, which nothing else
/// uses, wait for it.
static bool isBarrierOf(Operation *user, Value value,
                        const GeluExpression &expression) {
  auto barrier = dyn_cast<BarrierOp>(user);
  return barrier && barrier.getResult() == expression.x &&
         barrier.getOperand() != value &&
         areAllIn(barrier->getUsers(), expression.ops);
}

std::optional<GeluExpression> findGeluGrad(Value cotangent,
                                           const DenseSet<Value> &leaves) {
  auto found = findExpression(cotangent, /*x=*/{}, cotangent, leaves,
                              GeluPolynomial::geluGrad());
  if (!found)
    return std::nullopt;
  // The values that are not there once the product makes the result.
  SmallVector<Value> gone = {cotangent};
  for (Operation *op : found->ops)
    if (llvm::any_of(op->getOperands(), [&](Value operand) {
          return llvm::is_contained(gone, operand);
        }))
      gone.push_back(op->getResult(0));
  for (Value value : gone)
    for (Operation *user : value.getUsers())
      if (value != found->result && !found->ops.contains(user) &&
          !isBarrierOf(user, value, *found))
        return std::nullopt;
  if (auto barrier = found->x.getDefiningOp<BarrierOp>();
      barrier && areAllIn(barrier->getUsers(), found->ops))
    found->x = barrier.getOperand();
  return found;
}

} // namespace weft
