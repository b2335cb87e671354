//===- PadDimensions.cpp - Make axes divide dimensions --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over each function in program order. What lies behind the last
// element of a padded dimension is anything; only what the program takes and
// returns has zeros there. So most ops need nothing but a larger type, and
// padding is masked where it would be added up.
//
//===----------------------------------------------------------------------===//

#include "DivisibilityCheck.h"
#include "ElementMoves.h"
#include "PaddedDims.h"
#include "PaddedValues.h"

#include "weft/IR/NeutralElement.h"
#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WindowOps.h"
#include "weft/IR/WindowSplits.h"
#include "weft/Partition/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace weft {
#define GEN_PASS_DEF_PADDIMENSIONS
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using llvm::SmallBitVector;
using sharding::FactorKind;
using sharding::Reduction;
using sharding::Shape;
using sharding::ShardingRule;
using sharding::TensorFactors;

namespace {

class FunctionPadder {
public:
  FunctionPadder(func::FuncOp function, PaddedDims &dims,
                 const sharding::Mesh &mesh)
      : function(function), dims(dims), values(mesh) {}

  void run();
  int64_t getNumMasks() const { return values.numMasks; }

private:
  void padArgument(BlockArgument argument);
  void padOp(Operation *op);
  bool rearrange(Operation *op, const ShardingRule &rule,
                 ArrayRef<PaddedFactor> factors, const SmallBitVector &working);
  void padResults(func::ReturnOp op);
  void annotate();

  /// Factors along which the op is computed with padding.
  SmallBitVector findWorking(Operation *op, const ShardingRule &rule,
                             ArrayRef<PaddedFactor> factors);
  void maskOperands(Operation *op, const ShardingRule &rule,
                    const SmallBitVector &working);
  void resize(Operation *op, const ShardingRule &rule,
              ArrayRef<PaddedFactor> factors, const SmallBitVector &working);
  void clampIndices(GatherOp op);
  void maskDivisor(Operation *op);
  SmallBitVector findZeros(Operation *op, const ShardingRule &rule,
                           const TensorFactors &result);

  func::FuncOp function;
  PaddedDims &dims;
  PaddedValues values;
};

} // namespace

/// The shape of a tensor of which the dimensions of some factors are padded.
static Shape shapeWith(RankedTensorType trueType, const TensorFactors &tensor,
                       ArrayRef<PaddedFactor> factors,
                       const SmallBitVector &working) {
  Shape shape(trueType.getShape());
  for (auto [size, list] : llvm::zip_equal(shape, tensor))
    if (list.size() == 1 && working.test(list.front()))
      size = factors[list.front()].paddedSize;
  return shape;
}

static TypedAttr zeroOf(Value value) {
  return neutralElement(typeOf(value).getElementType(), Reduction::Sum);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

SmallBitVector FunctionPadder::findWorking(Operation *op,
                                           const ShardingRule &rule,
                                           ArrayRef<PaddedFactor> factors) {
  SmallBitVector working(factors.size());
  for (auto [number, factor] : llvm::enumerate(factors))
    if (factor.isSplitInResult && factor.paddedSize != factor.size)
      working.set(number);
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    for (auto [dim, list] : llvm::enumerate(tensor))
      if (list.size() == 1 && values.isPadded(operand, dim) &&
          factors[list.front()].paddedSize != factors[list.front()].size)
        working.set(list.front());
  return working;
}

/// Whether an op combines elements along a dimension of which the factor is of
/// this kind.
static bool isCombined(Operation *op, FactorKind kind) {
  return kind == FactorKind::Reduction ||
         (isa<ConvolutionOp, ReduceWindowOp, SpreadWindowsOp>(op) &&
          kind != FactorKind::PassThrough);
}

/// What an op combines along a padded dimension must be neutral behind the last
/// element.
void FunctionPadder::maskOperands(Operation *op, const ShardingRule &rule,
                                  const SmallBitVector &working) {
  if (!isa<DotGeneralOp, ReduceOp, ScatterAddOp, ConvolutionOp, ReduceWindowOp,
           SpreadWindowsOp>(op))
    return;
  Reduction kind = Reduction::Sum;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    kind = reduce.getKind();
  if (auto reduce = dyn_cast<ReduceWindowOp>(op))
    kind = reduce.getKind();
  for (auto [use, tensor] :
       llvm::zip_equal(op->getOpOperands(), rule.operands)) {
    if (isa<ScatterAddOp>(op) && use.getOperandNumber() != 0)
      continue; // what is added is zero, wherever
    // What extrema are of comes behind the elements that are extrema.
    if (isa<SpreadWindowsOp>(op) && use.getOperandNumber() != 0)
      continue;
    for (auto [dim, list] : llvm::enumerate(tensor))
      if (list.size() == 1 && working.test(list.front()) &&
          isCombined(op, rule.factors[list.front()].kind))
        use.set(values.masked(
            op, use.get(), dim,
            neutralElement(typeOf(use.get()).getElementType(), kind)));
  }
}

/// An index behind the last element takes the last element, not padding.
void FunctionPadder::clampIndices(GatherOp op) {
  Value table = op.getOperand(), indices = op.getIndices();
  if (!values.isPadded(table, op.getDim()))
    return;
  OriginListener listener(getOrigin(op));
  OpBuilder builder(op, &listener);
  Location loc = op.getLoc();
  int64_t last = values.trueType(table).getDimSize(op.getDim()) - 1;
  RankedTensorType type = typeOf(indices);
  ShardingAttr sharding = getSharding(indices);
  Value limit = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, Attribute(builder.getIntegerAttr(
                                       type.getElementType(), last))));
  Value clamped = arith::MinSIOp::create(builder, loc, indices, limit);
  if (sharding) {
    setSharding(limit, sharding);
    setSharding(clamped, sharding);
  }
  op.getIndicesMutable().assign(clamped);
}

/// An integer division by padding might be one by zero, which traps.
void FunctionPadder::maskDivisor(Operation *op) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
           arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op) ||
      isa_and_nonnull<arith::ConstantOp>(op->getOperand(1).getDefiningOp()))
    return;
  for (int64_t dim = 0; dim < typeOf(op->getOperand(1)).getRank(); ++dim) {
    Value divisor = op->getOperand(1);
    op->setOperand(1, values.masked(op, divisor, dim,
                                    IntegerAttr::get(
                                        typeOf(divisor).getElementType(), 1)));
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Ops that make zeros of zeros.
static bool keepsZeros(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::AddIOp,
             arith::SubIOp, arith::MulIOp, arith::ExtFOp, arith::TruncFOp,
             arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp,
             arith::UIToFPOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxSIOp, arith::MinSIOp, arith::SelectOp, math::AbsFOp,
             math::SqrtOp, math::TanhOp, TransposeOp, ReshapeOp, BroadcastOp,
             ReduceOp, SliceOp, ConstraintOp, ReshardOp, BarrierOp,
             MicrobatchSliceOp, MicrobatchUseOp, MicrobatchSumOp,
             MicrobatchStackOp>(op);
}

/// Dimensions of a result whose padding is zeros since that of all operands is.
SmallBitVector FunctionPadder::findZeros(Operation *op,
                                         const ShardingRule &rule,
                                         const TensorFactors &result) {
  SmallBitVector zeros(result.size());
  if (!keepsZeros(op))
    return zeros;
  for (auto [index, wanted] : llvm::enumerate(result)) {
    bool any = false, all = true;
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), rule.operands)) {
      if (isa<arith::SelectOp>(op) && operand == op->getOperand(0))
        continue;
      for (auto [dim, list] : llvm::enumerate(tensor))
        if (list == wanted) {
          any = true;
          all &= values.isZero(operand, dim);
        }
    }
    if (any && all)
      zeros.set(index);
  }
  return zeros;
}

/// Sizes that an op states beside its types.
static void resizeAttributes(Operation *op, RankedTensorType trueOperand,
                             RankedTensorType trueResult,
                             RankedTensorType result) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      constant.setValueAttr(splat.resizeSplat(result));
    return;
  }
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice)
    return;
  SmallVector<int64_t> limits(slice.getLimits());
  for (auto [dim, limit] : llvm::enumerate(limits))
    if (trueOperand.getDimSize(dim) == trueResult.getDimSize(dim))
      limit = result.getDimSize(dim);
  slice.setLimits(limits);
}

/// Gives the results the shapes in which they are made; where they are wanted
/// with padding that the op cannot make, it is put behind them.
void FunctionPadder::resize(Operation *op, const ShardingRule &rule,
                            ArrayRef<PaddedFactor> factors,
                            const SmallBitVector &working) {
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), rule.results)) {
    ShardingAttr sharding = getSharding(result);
    RankedTensorType trueType = typeOf(result);
    Shape wanted = dims.paddedShape(result, sharding);
    Shape made = shapeWith(trueType, tensor, factors, working);
    if (ArrayRef<int64_t>(made) != trueType.getShape()) {
      values.pad(result, made);
      resizeAttributes(op,
                       op->getNumOperands() != 0
                           ? values.trueType(op->getOperand(0))
                           : RankedTensorType(),
                       trueType, typeOf(result));
      values.setZero(result, findZeros(op, rule, tensor));
    }
    for (auto [size, have] : llvm::zip_equal(wanted, made))
      size = std::max(size, have);
    if (wanted == made)
      continue;
    setSharding(result, values.withoutAxes(sharding, typeOf(result), wanted));
    Value padded = values.inShape(op->getNextNode(), result, wanted);
    setSharding(padded, sharding);
    dims.replace(result, padded);
    result.replaceAllUsesExcept(padded, padded.getDefiningOp());
  }
}

/// The map of a move between segments with padding behind them.
static sharding::ElementMap withPadding(const sharding::ElementMap &map,
                                        ArrayRef<int64_t> from, int64_t to) {
  sharding::ElementMap padded{from.vec(), {to}, {}};
  for (sharding::ElementRun run : map.runs) {
    // In each segment that the run goes through its part of it.
    while (run.length > 0) {
      int64_t begin = 0, added = 0;
      size_t segment = 0;
      for (; run.from >= begin + map.from[segment]; ++segment) {
        begin += map.from[segment];
        added += from[segment] - map.from[segment];
      }
      int64_t inDirection = run.step > 0
                                ? begin + map.from[segment] - 1 - run.from
                                : run.from - begin;
      int64_t length =
          std::min(run.length, inDirection / std::abs(run.step) + 1);
      padded.runs.push_back({run.from + added, run.to, length, run.step});
      run.from += length * run.step;
      run.to += length;
      run.length -= length;
    }
  }
  return padded;
}

/// Replaces a slice, concatenation or padding along a dimension of which the
/// result, or an operand of a kind that must not be padded, has more elements
/// than the program says. Whether it is one.
bool FunctionPadder::rearrange(Operation *op, const ShardingRule &rule,
                               ArrayRef<PaddedFactor> factors,
                               const SmallBitVector &working) {
  if (!isa<SliceOp, ConcatOp, PadOp, RearrangeOp>(op))
    return false;
  SmallVector<RankedTensorType> operands = llvm::map_to_vector(
      op->getOperands(), [&](Value value) { return values.trueType(value); });
  SmallVector<ElementMove, 1> moves = findMoves(op, operands);
  Value result = op->getResult(0);
  RankedTensorType trueType = typeOf(result);
  if (moves.size() != 1)
    return false;
  const ElementMove &move = moves.front();
  // Nothing but the move.
  for (int64_t dim = 0; dim < trueType.getRank(); ++dim)
    if (dim != move.dim &&
        trueType.getDimSize(dim) != operands.front().getDimSize(dim))
      return false;
  Shape wanted = dims.paddedShape(result, getSharding(result));
  bool isPadded =
      wanted[move.dim] != trueType.getDimSize(move.dim) ||
      (!isa<SliceOp>(op) && llvm::any_of(op->getOperands(), [&](Value value) {
        return values.isPadded(value, move.dim);
      }));
  Shape made = shapeWith(trueType, rule.results.front(), factors, working);
  made[move.dim] = wanted[move.dim];
  if (!isPadded || made != wanted)
    return false;
  SmallVector<int64_t> from;
  SmallBitVector zeros(trueType.getRank(), true);
  for (auto [use, tensor] :
       llvm::zip_equal(op->getOpOperands(), rule.operands)) {
    Shape shape =
        shapeWith(values.trueType(use.get()), tensor, factors, working);
    shape[move.dim] = typeOf(use.get()).getDimSize(move.dim);
    use.set(values.inShape(op, use.get(), shape));
    from.push_back(shape[move.dim]);
    for (int64_t dim = 0; dim < trueType.getRank(); ++dim)
      if (!values.isZero(use.get(), dim))
        zeros.reset(dim);
  }
  bool fillsZeros = move.value && (matchPattern(move.value, m_AnyZeroFloat()) ||
                                   matchPattern(move.value, m_Zero()));
  if (move.value && !fillsZeros)
    zeros.reset();
  zeros[move.dim] = fillsZeros;
  OpBuilder builder(op);
  auto rearranged = RearrangeOp::create(
      builder, op->getLoc(), trueType, op->getOperands(), move.dim,
      ElementMapAttr::get(op->getContext(),
                          withPadding(move.map, from, wanted[move.dim])),
      move.value);
  setOrigin(rearranged, getOrigin(op));
  if (ShardingAttr sharding = getSharding(result))
    setSharding(rearranged.getResult(), sharding);
  values.pad(rearranged.getResult(), wanted);
  values.setZero(rearranged.getResult(), zeros);
  dims.replace(result, rearranged.getResult());
  result.replaceAllUsesWith(rearranged.getResult());
  op->erase();
  return true;
}

void FunctionPadder::padOp(Operation *op) {
  const ShardingRule *rule = dims.ruleOf(op);
  if (!rule)
    return; // reported by whoever has to partition it
  SmallVector<PaddedFactor, 4> factors = dims.factorsOf(op);
  SmallBitVector working = findWorking(op, *rule, factors);
  if (rearrange(op, *rule, factors, working))
    return;
  for (auto [use, tensor] :
       llvm::zip_equal(op->getOpOperands(), rule->operands))
    use.set(values.inShape(
        op, use.get(),
        shapeWith(values.trueType(use.get()), tensor, factors, working)));
  maskOperands(op, *rule, working);
  if (auto gather = dyn_cast<GatherOp>(op))
    clampIndices(gather);
  maskDivisor(op);
  resize(op, *rule, factors, working);
  if (working.any())
    fitWindows(op);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void FunctionPadder::padArgument(BlockArgument argument) {
  Shape shape = dims.paddedShape(argument, getSharding(argument));
  if (ArrayRef<int64_t>(shape) == typeOf(argument).getShape())
    return;
  values.pad(argument, shape);
  values.setZero(argument, SmallBitVector(shape.size(), true));
}

/// What comes back as an argument of the next call has zeros behind the last
/// element.
void FunctionPadder::padResults(func::ReturnOp op) {
  for (OpOperand &use : op->getOpOperands()) {
    Value value = values.inShape(
        op, use.get(),
        dims.paddedResultShape(function, use.getOperandNumber()));
    for (int64_t dim = 0; dim < typeOf(value).getRank(); ++dim)
      value = values.masked(op, value, dim, zeroOf(value));
    use.set(value);
  }
}

/// Keeps the types that users know, and gives the function its new ones.
void FunctionPadder::annotate() {
  Block &block = function.getBody().front();
  auto withGlobalType = [&](DictionaryAttr attrs, Value value) {
    NamedAttrList list(attrs);
    if (values.trueType(value) != value.getType())
      list.set(WeftDialect::kGlobalTypeAttrName,
               TypeAttr::get(values.trueType(value)));
    return list.getDictionary(function.getContext());
  };
  SmallVector<DictionaryAttr> arguments, results;
  for (BlockArgument argument : block.getArguments())
    arguments.push_back(withGlobalType(
        function.getArgAttrDict(argument.getArgNumber()), argument));
  Operation *ret = block.getTerminator();
  for (auto [index, value] : llvm::enumerate(ret->getOperands()))
    results.push_back(withGlobalType(function.getResultAttrDict(index), value));
  function.setType(FunctionType::get(
      function.getContext(), block.getArgumentTypes(), ret->getOperandTypes()));
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
}

void FunctionPadder::run() {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    padArgument(argument);
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    padOp(&op);
  padResults(cast<func::ReturnOp>(block.getTerminator()));
  annotate();
}

namespace {

struct PadDimensions : weft::impl::PadDimensionsBase<PadDimensions> {
  using PadDimensionsBase::PadDimensionsBase;

  void runOnInput() override {
    ModuleOp module = getOperation();
    MeshOp meshOp = findMesh(module);
    if (!meshOp)
      return;
    sharding::Mesh mesh = meshOp.getMesh().toMesh();
    if (failed(checkEveryShardHasElements(module, mesh)))
      return signalPassFailure();
    PaddedDims dims(module, mesh);
    if (!dims.any())
      return;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.getBody().hasOneBlock())
        continue;
      FunctionPadder padder(function, dims, mesh);
      padder.run();
      masks += padder.getNumMasks();
    }
  }
};

} // namespace
