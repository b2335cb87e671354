//===- Euclid.cpp - Loops that find greatest common divisors --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body is evaluated twice, for elements that are not done and for those that
// are: y != 0 is true and false there, and selections by it disappear. What is
// left of each element is one of a few terms.
//
//===----------------------------------------------------------------------===//

#include "Euclid.h"
#include "Reducer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

namespace {

/// What is known of each element of a value. `Larger` and `Smaller` are those
/// of the pair that the element has next, and `IsRising` says that the first of
/// the pair is the smaller one.
enum class Term {
  Unknown,
  X,
  Y,
  Rest, // of the division of x by y
  Zero,
  Larger,
  Smaller,
  True,
  False,
  IsRising,
  IsFalling
};

/// Evaluates regions of a loop for the elements that are done, or are not.
class Evaluation {
public:
  Evaluation(Operation *loop, bool isDone)
      : loop(loop), isDone(isDone), first(isDone ? Term::X : Term::Y),
        second(isDone ? Term::Zero : Term::Rest) {}

  bool isStep();
  /// Whether the loop goes on for such an element.
  Term goesOn();

private:
  using Terms = SmallVector<Term>;
  std::optional<Terms> run(Region &region, ArrayRef<Term> arguments);
  std::optional<Terms> call(func::CallOp op, ArrayRef<Term> arguments);
  Term evaluate(Operation &op, ArrayRef<Term> x);
  Term compare(Operation &op, Term x, Term y);
  Term select(Term condition, Term x, Term y);
  bool isPair(Term x, Term y) {
    return (x == first && y == second) || (x == second && y == first);
  }

  Operation *loop;
  bool isDone;
  Term first, second;
  DenseMap<Value, Term> terms;
  int depth = 0;
};

} // namespace

static Term ofBool(bool value) { return value ? Term::True : Term::False; }

static Term evaluateConstant(Operation &op) {
  auto dense = dyn_cast_or_null<DenseIntElementsAttr>(op.getAttr("value"));
  if (!dense || !dense.isSplat())
    return Term::Unknown;
  bool isZero = dense.getSplatValue<APInt>().isZero();
  if (dense.getElementType().isInteger(1))
    return ofBool(!isZero);
  return isZero ? Term::Zero : Term::Unknown;
}

Term Evaluation::compare(Operation &op, Term x, Term y) {
  std::string direction =
      readEnum(op.getAttr("comparison_direction"), "comparison_direction")
          .value_or("");
  bool isLess = direction == "LT" || direction == "LE";
  bool isMore = direction == "GT" || direction == "GE";
  if (isPair(x, y) && (isLess || isMore))
    return isLess == (x == first) ? Term::IsRising : Term::IsFalling;
  bool areEqual = x == Term::Zero && y == Term::Zero;
  bool areUnequal =
      (x == Term::Y && y == Term::Zero) || (x == Term::Zero && y == Term::Y);
  if ((areEqual || areUnequal) && (direction == "NE" || direction == "EQ"))
    return ofBool(areEqual == (direction == "EQ"));
  return Term::Unknown;
}

Term Evaluation::select(Term condition, Term x, Term y) {
  if (condition == Term::True || condition == Term::False)
    return condition == Term::True ? x : y;
  bool isRising = condition == Term::IsRising;
  if (!isPair(x, y) || (!isRising && condition != Term::IsFalling))
    return Term::Unknown;
  return isRising == (x == second) ? Term::Larger : Term::Smaller;
}

Term Evaluation::evaluate(Operation &op, ArrayRef<Term> x) {
  StringRef name = op.getName().getStringRef();
  if (name == "stablehlo.constant" && x.empty())
    return evaluateConstant(op);
  // JAX converts Python's numbers, also to the type that they have.
  if (name == "stablehlo.convert" && x.size() == 1 &&
      op.getOperand(0).getType() == op.getResult(0).getType())
    return x[0];
  if (name == "stablehlo.broadcast_in_dim" && x.size() == 1) {
    bool isSplat =
        llvm::is_contained({Term::Zero, Term::True, Term::False}, x[0]);
    return isSplat ? x[0] : Term::Unknown;
  }
  if (name == "stablehlo.select" && x.size() == 3)
    return select(x[0], x[1], x[2]);
  if (x.size() != 2)
    return Term::Unknown;
  if (name == "stablehlo.compare")
    return compare(op, x[0], x[1]);
  if (name == "stablehlo.remainder")
    return x[0] == Term::X && x[1] == Term::Y ? Term::Rest : Term::Unknown;
  if (name == "stablehlo.maximum")
    return isPair(x[0], x[1]) ? Term::Larger : Term::Unknown;
  if (name == "stablehlo.minimum")
    return isPair(x[0], x[1]) ? Term::Smaller : Term::Unknown;
  return Term::Unknown;
}

std::optional<Evaluation::Terms> Evaluation::call(func::CallOp op,
                                                  ArrayRef<Term> arguments) {
  FlatSymbolRefAttr callee = op.getCalleeAttr();
  auto module = loop->getParentOfType<ModuleOp>();
  auto function = callee && module ? module.lookupSymbol<func::FuncOp>(callee)
                                   : func::FuncOp();
  // Those of loops call none that call others; one may call itself.
  constexpr int mostCalls = 8;
  if (!function || depth == mostCalls)
    return std::nullopt;
  ++depth;
  std::optional<Terms> results = run(function.getBody(), arguments);
  --depth;
  return results;
}

/// What the region returns, by its last op; nothing if it is not known.
std::optional<Evaluation::Terms> Evaluation::run(Region &region,
                                                 ArrayRef<Term> arguments) {
  if (!llvm::hasSingleElement(region) ||
      region.getNumArguments() != arguments.size())
    return std::nullopt;
  for (auto [argument, term] :
       llvm::zip_equal(region.getArguments(), arguments))
    terms[argument] = term;
  for (Operation &op : region.front()) {
    Terms operands = llvm::map_to_vector(
        op.getOperands(), [&](Value value) { return terms.lookup(value); });
    if (&op == &region.front().back())
      return operands;
    Terms results(op.getNumResults(), Term::Unknown);
    if (auto inner = dyn_cast<func::CallOp>(op)) {
      std::optional<Terms> returned = call(inner, operands);
      if (!returned || returned->size() != results.size())
        return std::nullopt;
      results = *returned;
    } else if (results.size() == 1) {
      results[0] = evaluate(op, operands);
    }
    for (auto [result, term] : llvm::zip_equal(op.getResults(), results))
      terms[result] = term;
  }
  return std::nullopt;
}

/// Of a tensor, whether it does for any element.
Term Evaluation::goesOn() {
  Region &condition = loop->getRegion(0);
  std::optional<Terms> results =
      run(condition, {Term::X, isDone ? Term::Zero : Term::Y});
  if (!results || results->size() != 1)
    return Term::Unknown;
  Operation *op = condition.front().back().getOperand(0).getDefiningOp();
  if (!op || op->getName().getStringRef() != "stablehlo.reduce")
    return typeOf(loop->getOperand(0)).getRank() == 0 ? results->front()
                                                      : Term::Unknown;
  bool isAny = op->getNumOperands() == 2 && op->getNumResults() == 1 &&
               matchReducer(op) == Reducer::Or &&
               terms.lookup(op->getOperand(1)) == Term::False;
  return isAny ? terms.lookup(op->getOperand(0)) : Term::Unknown;
}

bool Evaluation::isStep() {
  std::optional<Terms> next =
      run(loop->getRegion(1), {Term::X, isDone ? Term::Zero : Term::Y});
  return next && next->size() == 2 &&
         (((*next)[0] == first && (*next)[1] == second) ||
          ((*next)[0] == Term::Larger && (*next)[1] == Term::Smaller));
}

/// The only element of a scalar loop is not done where its body runs. Of
/// several elements, the body leaves those alone that are done; but for a
/// negative x and a zero in falling order, which JAX would exchange forever.
bool weft::stablehlo::isEuclid(Operation *loop) {
  if (loop->getNumOperands() != 2 || loop->getNumRegions() != 2)
    return false;
  auto type = dyn_cast<RankedTensorType>(loop->getOperand(0).getType());
  if (!type || loop->getOperand(1).getType() != type ||
      !isa<IntegerType>(type.getElementType()) ||
      type.getElementType().isInteger(1))
    return false;
  Evaluation running(loop, false), done(loop, true);
  return running.goesOn() == Term::True && done.goesOn() == Term::False &&
         running.isStep() && (type.getRank() == 0 || done.isStep());
}

/// In which order the body has the two makes no difference to a loop that ends:
/// the remainder is larger than y only where y is negative, and a body with the
/// larger one first would give that pair forever.
Values weft::stablehlo::runEuclid(Conversion &c) {
  Value x = c.operand(0), y = c.operand(1);
  if (!x || !y)
    return {Value(), Value()};
  // Fibonacci numbers that follow each other take the most, 1.44 for each bit;
  // and one iteration exchanges them.
  int64_t count = typeOf(x).getElementTypeBitWidth() * 3 / 2 + 2;
  for (int64_t i = 0; i < count; ++i) {
    Value goesOn =
        c.make<arith::CmpIOp>(arith::CmpIPredicate::ne, y, c.splatLike(y, 0));
    Value rest = c.isUnsigned(0) ? c.make<arith::RemUIOp>(x, y)
                                 : c.make<arith::RemSIOp>(x, y);
    x = c.make<arith::SelectOp>(goesOn, y, x);
    y = c.make<arith::SelectOp>(goesOn, rest, y);
  }
  return {x, y};
}
