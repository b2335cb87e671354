//===- LowerConvolutions.cpp - Convolutions over strides ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StridedValues.h"
#include "weft/Schedule/Passes.h"

#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"
#include "weft/IR/WindowOps.h"

#include "mlir/IR/Builders.h"

namespace weft {
#define GEN_PASS_DEF_LOWERCONVOLUTIONS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

using Numbers = SmallVector<int64_t>;

namespace {

/// The sizes that an instruction has of a convolution.
struct Sizes {
  explicit Sizes(ConvolutionOp op)
      : rank(op.getStrides().size()), groups(op.getGroups()),
        batch(op.getType().getDimSize(0)),
        inputFeatures(op.getRhs().getType().getDimSize(rank)),
        outputFeatures(op.getType().getDimSize(rank + 1) / groups) {}

  int64_t rank, groups, batch, inputFeatures, outputFeatures;
};

} // namespace

static Numbers spatial(RankedTensorType type, int64_t first, int64_t rank) {
  return Numbers(type.getShape().slice(first, rank));
}

/// Adds the strides of the spatial dimensions.
static Numbers layout(Numbers strides, const StridedView &view, int64_t first,
                      int64_t rank) {
  for (StridedDim dim : ArrayRef(view).slice(first, rank))
    strides.push_back(dim.stride);
  return strides;
}

/// Of [batch, spatial dimensions, features] or, `apart`, [.., groups, features
/// of a group]. Dimensions of one element have the strides of a dense tensor.
static Numbers layoutOfFeatures(const StridedView &view, int64_t rank,
                                int64_t groups, int64_t features, bool apart) {
  int64_t feature = features == 1 && groups == 1 ? 1 : view.back().stride;
  int64_t group = apart ? view[rank + 1].stride : features * feature;
  return layout({group, view.front().stride, feature}, view, 1, rank);
}

/// Whether the runtime reads lhs in rows: those of features or, as in the
/// derivative by a kernel, of the batch.
static bool hasRows(const StridedView &view, const Sizes &sizes) {
  return (sizes.inputFeatures > 1 && view.back().stride == 1) ||
         (sizes.batch > 1 && view.front().stride == 1) ||
         (sizes.inputFeatures == 1 && sizes.rank > 0 &&
          view[sizes.rank].stride == 1);
}

static OperandView viewOfLhs(ConvolutionOp op, const Sizes &sizes) {
  OperandView view = viewOf(op.getLhs());
  if (hasRows(view.view, sizes))
    return view;
  return {op.getLhs(), rowMajorView(op.getLhs().getType().getShape())};
}

static OperandView viewOfRhs(ConvolutionOp op) {
  OperandView view = viewOf(op.getRhs());
  if (view.view.back().stride == 1)
    return view;
  return {op.getRhs(), rowMajorView(op.getRhs().getType().getShape())};
}

/// The one through most transposes and reshapes that is written in rows.
static ResultView viewOfResult(ConvolutionOp op) {
  SmallVector<ResultView> views = resultViews(op.getResult());
  for (ResultView &view : llvm::reverse(views))
    if (view.view.back().stride == 1)
      return std::move(view);
  return std::move(views.front());
}

static void lower(ConvolutionOp op) {
  Sizes sizes(op);
  int64_t rank = sizes.rank;
  OperandView lhs = viewOfLhs(op, sizes), rhs = viewOfRhs(op);
  ResultView out = viewOfResult(op);
  int64_t feature = rhs.view[rank].stride;
  Numbers ofRhs =
      layout({sizes.outputFeatures, feature, rhs.view.back().stride}, rhs.view,
             0, rank);
  Value last = op.getResult();
  if (!out.chain.empty())
    last = out.chain.back()->getResult(0);
  OpBuilder builder(op);
  OriginListener makes(getOrigin(op));
  builder.setListener(&makes);
  auto convolve = ConvolveOp::create(
      builder, op.getLoc(), last.getType(), lhs.base, rhs.base, sizes.groups,
      sizes.batch, sizes.inputFeatures, sizes.outputFeatures,
      spatial(op.getLhs().getType(), 1, rank),
      spatial(op.getRhs().getType(), 0, rank), spatial(op.getType(), 1, rank),
      op.getStrides(), op.getLow(), op.getLhsDilation(), op.getRhsDilation(),
      layoutOfFeatures(lhs.view, rank, sizes.groups, sizes.inputFeatures,
                       op.hasGroupsApart()),
      ofRhs,
      layoutOfFeatures(out.view, rank, sizes.groups, sizes.outputFeatures,
                       /*apart=*/false));
  replaceWithView(op, out.chain, convolve.getResult());
}

namespace {
struct LowerConvolutions
    : weft::impl::LowerConvolutionsBase<LowerConvolutions> {
  using LowerConvolutionsBase::LowerConvolutionsBase;

  void runOnInput() override {
    SmallVector<ConvolutionOp> convolutions;
    getOperation().walk([&](ConvolutionOp op) { convolutions.push_back(op); });
    for (ConvolutionOp op : convolutions)
      lower(op);
    numLowered += convolutions.size();
  }
};
} // namespace
