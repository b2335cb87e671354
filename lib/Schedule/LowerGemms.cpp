//===- LowerGemms.cpp - Turn dot_generals into GEMMs over strides ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StridedValues.h"
#include "weft/Schedule/GemmLayout.h"
#include "weft/Schedule/Passes.h"

#include "weft/IR/NarrowFloats.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"

namespace weft {
#define GEN_PASS_DEF_LOWERGEMMS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

struct Choice {
  GemmLayout layout;
  ResultView result;
  int64_t cost = 0;
};

} // namespace

/// The loops of a dot_general. Dimensions of the result come in the order
/// batching, free of lhs, free of rhs.
static std::array<SmallVector<GemmIndex, 2>, 4> loopIndices(DotGeneralOp dot) {
  std::array<SmallVector<GemmIndex, 2>, 4> indices;
  int64_t out = 0;
  for (auto [lhs, rhs] :
       llvm::zip_equal(dot.getLhsBatching(), dot.getRhsBatching()))
    indices[GemmBatch].push_back({lhs, rhs, out++});
  for (int64_t lhs : dot.getLhsFree())
    indices[GemmM].push_back({lhs, -1, out++});
  for (int64_t rhs : dot.getRhsFree())
    indices[GemmN].push_back({-1, rhs, out++});
  for (auto [lhs, rhs] :
       llvm::zip_equal(dot.getLhsContracting(), dot.getRhsContracting()))
    indices[GemmK].push_back({lhs, rhs, -1});
  return indices;
}

/// The layout and the part of the result's chain to fold that move the fewest
/// bytes.
static Choice chooseLayout(DotGeneralOp dot, const OperandView &lhs,
                           const OperandView &rhs) {
  GemmProblem problem;
  problem.indices = loopIndices(dot);
  problem.bytes = {bytesOf(lhs.base), bytesOf(rhs.base), bytesOf(dot)};
  std::optional<Choice> best;
  SmallVector<ResultView> results = resultViews(dot.getResult());
  for (ResultView &result : llvm::reverse(results)) {
    problem.views = {lhs.view, rhs.view, result.view};
    Choice choice = {chooseGemmLayout(problem), result};
    if (choice.layout.copied[GemmOut] && !result.chain.empty())
      continue;
    // A transpose that stays behind the GEMM moves the result once more.
    bool left = llvm::any_of(
        ArrayRef(results.back().chain).drop_front(result.chain.size()),
        [](Operation *op) { return isa<TransposeOp>(op); });
    choice.cost =
        choice.layout.copiedBytes + (left ? problem.bytes[GemmOut] : 0);
    if (!best || choice.cost < best->cost)
      best = std::move(choice);
  }
  return *best;
}

/// Shape of a tensor after the transpose by `order`.
static SmallVector<int64_t> permuted(ArrayRef<int64_t> shape,
                                     ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t dim) { return shape[dim]; });
}

/// Whether the runtime multiplies matrices of these types.
static bool hasGemm(DotGeneralOp dot) {
  Type in = dot.getLhs().getType().getElementType();
  Type out = dot.getType().getElementType();
  if (isNarrowFloat(in) && out.isF32())
    return true;
  return in == out && (isNarrowFloat(in) || in.isF32() || in.isF64() ||
                       in.isInteger(32) || in.isInteger(64));
}

/// The type in which GEMMs of these operands form their sums.
static Type accumulationOf(DotGeneralOp dot) {
  Type in = dot.getLhs().getType().getElementType();
  return isNarrowFloat(in) ? Float32Type::get(dot.getContext()) : in;
}

/// Reports a matmul that no GEMM computes as it is asked for.
static LogicalResult checkGemm(DotGeneralOp dot) {
  if (!hasGemm(dot))
    return dot.emitOpError("has no GEMM from ")
           << dot.getLhs().getType().getElementType() << " to "
           << dot.getType().getElementType()
           << "; compute it in bf16, f16, f32, f64, i32 or i64";
  std::optional<Type> asked = dot.getAccumulationType();
  if (asked && *asked != accumulationOf(dot))
    return dot.emitOpError("has accumulation_type ")
           << *asked << ", but GEMMs of "
           << dot.getLhs().getType().getElementType() << " accumulate in "
           << accumulationOf(dot) << "; convert the operands to " << *asked
           << " first";
  return success();
}

/// Replaces `dot`; returns how many tensors have to be moved for it.
static int64_t lower(DotGeneralOp dot, bool tf32) {
  OperandView views[] = {viewOf(dot.getLhs()), viewOf(dot.getRhs())};
  Choice choice = chooseLayout(dot, views[0], views[1]);
  const GemmLayout &layout = choice.layout;
  OpBuilder builder(dot);
  // An operand that is moved to make a gradient is none.
  OriginListener moves(withoutGradient(getOrigin(dot)));
  builder.setListener(&moves);
  Value operands[2];
  for (int i : {GemmLhs, GemmRhs})
    operands[i] =
        layout.copied[i]
            ? TransposeOp::create(builder, withoutGradientName(dot.getLoc()),
                                  dot.getOperand(i), layout.order[i])
            : views[i].base;
  ArrayRef<Operation *> chain = choice.result.chain;
  Value replaced = dot.getResult();
  if (!chain.empty())
    replaced = chain.back()->getResult(0);
  auto type = cast<RankedTensorType>(replaced.getType());
  if (layout.copied[GemmOut])
    type = type.clone(permuted(type.getShape(), layout.order[GemmOut]));
  OriginListener makes(getOrigin(dot));
  builder.setListener(&makes);
  bool rounds = tf32 && dot.getLhs().getType().getElementType().isF32();
  auto gemm = GemmOp::create(
      builder, dot.getLoc(), type, /*epilogue_result=*/Type(), operands[0],
      operands[1], layout.sizes[GemmBatch], layout.sizes[GemmM],
      layout.sizes[GemmN], layout.sizes[GemmK], layout.strides[GemmLhs],
      layout.strides[GemmRhs], layout.strides[GemmOut],
      /*epilogue_operand=*/Value(), GemmEpilogue::None,
      rounds ? GemmPrecision::TF32 : GemmPrecision::Full);
  Value result = gemm.getResult();
  if (layout.copied[GemmOut])
    result =
        TransposeOp::create(builder, dot.getLoc(), result,
                            invertPermutationVector(layout.order[GemmOut]));

  replaceWithView(dot, chain, result);
  return llvm::count(layout.copied, true);
}

namespace {
struct LowerGemms : weft::impl::LowerGemmsBase<LowerGemms> {
  using LowerGemmsBase::LowerGemmsBase;

  void runOnInput() override {
    SmallVector<DotGeneralOp> dots;
    getOperation().walk([&](DotGeneralOp dot) { dots.push_back(dot); });
    for (DotGeneralOp dot : dots) {
      if (failed(checkGemm(dot))) {
        signalPassFailure();
        continue;
      }
      copies += lower(dot, tf32);
    }
  }
};
} // namespace
