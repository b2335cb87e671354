//===- StepCost.cpp - Work of one step of a schedule ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/StepCost.h"

#include "weft/IR/AttentionSizes.h"
#include "weft/IR/BufferParts.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/GroupedOps.h"
#include "weft/IR/OrderOps.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft {

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

/// Operations that one element of a result takes.
static int64_t flopsPerElement(Operation *op) {
  if (!isa_and_present<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) ||
      op->getNumOperands() == 0 ||
      isa<arith::ConstantOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp>(
          op))
    return 0;
  return llvm::count_if(op->getResultTypes(), [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  });
}

/// Visits the ops of a kernel's body with how often each is executed: an op on
/// tensors once an element, the body of a loop nest once an iteration.
static void
visitElements(func::FuncOp kernel,
              llvm::function_ref<void(Operation *, int64_t)> visit) {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto nest = dyn_cast<linalg::LinalgOp>(op)) {
      int64_t iterations = 1;
      for (int64_t range : nest.getStaticLoopRanges())
        iterations *= std::max<int64_t>(range, 1);
      for (Operation &inner : *nest.getBlock())
        visit(&inner, iterations);
      return WalkResult::skip();
    }
    if (op->getNumResults() != 0)
      if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
        visit(op, type.getNumElements());
    return WalkResult::advance();
  });
}

/// Operations of a kernel's body.
static int64_t countKernelFlops(func::FuncOp kernel) {
  int64_t flops = 0;
  visitElements(kernel, [&](Operation *op, int64_t times) {
    flops += flopsPerElement(op) * times;
  });
  kernel.walk([&](ReduceOp reduce) {
    flops += reduce.getOperand().getType().getNumElements();
  });
  kernel.walk([&](ScatterAddOp scatter) {
    flops += scatter.getUpdates().getType().getNumElements();
  });
  return flops;
}

std::map<std::string, int64_t> countFunctions(func::FuncOp kernel) {
  std::map<std::string, int64_t> counts;
  visitElements(kernel, [&](Operation *op, int64_t times) {
    StringRef name = op->getName().stripDialect();
    const bool isWidened =
        isa<arith::ExtFOp>(op) &&
        getElementTypeOrSelf(op->getResult(0).getType()).isF64();
    if (isWidened || (isa<math::MathDialect>(op->getDialect()) &&
                      cost::findFunction(std::string_view(name))))
      counts[name.str()] += times;
  });
  // Before they are loops.
  kernel.walk([&](ReduceOp reduce) {
    const RankedTensorType from = reduce.getOperand().getType();
    if (reduce.getKind() == sharding::Reduction::Sum &&
        isa<FloatType>(from.getElementType()) && !from.getElementType().isF64())
      counts["extf"] += from.getNumElements();
  });
  return counts;
}

/// Pairs of a query and a key that it sees, of all heads. A diagonal is known
/// at run time only: all are counted.
static int64_t countScores(AttentionSizes sizes, bool isCausal) {
  int64_t pairs = sizes.queries * sizes.keys;
  if (isCausal) {
    int64_t rows = std::min(sizes.queries, sizes.keys);
    pairs = rows * (rows + 1) / 2 + (sizes.queries - rows) * sizes.keys;
  }
  return sizes.batch * sizes.heads * pairs;
}

/// `products`: how often a score costs a product of two heads.
template <typename Op> static int64_t countFlops(Op op, int64_t products) {
  AttentionSizes sizes =
      AttentionSizes::of(op.getQuery().getType(), op.getKey().getType());
  return 2 * products * sizes.headSize *
         countScores(sizes, op.getCausal() && !op.getDiagonal());
}

/// The sum over the ops of a loop, as often as they are executed.
static int64_t countInLoop(RepeatOp loop, int64_t (*count)(Operation *)) {
  int64_t sum = 0;
  for (Operation &op : loop.getBlock().without_terminator())
    sum += count(&op);
  return loop.getCount() * sum;
}

/// A module has no table of its symbols: this looks through all of them.
static func::FuncOp kernelOf(LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      launch, launch.getKernelAttr());
}

static int64_t countLaunchFlops(LaunchOp launch, func::FuncOp kernel) {
  return kernel ? int64_t(launch.getBatch()) * countKernelFlops(kernel) : 0;
}

int64_t countFlops(Operation *op) {
  if (auto loop = dyn_cast<RepeatOp>(op))
    return countInLoop(loop, countFlops);
  if (auto attention = dyn_cast<AttentionOp>(op))
    return countFlops(attention, /*products=*/2);
  if (auto grad = dyn_cast<AttentionGradOp>(op))
    return countFlops(grad, /*products=*/5);
  if (auto dot = dyn_cast<GroupedDotOp>(op))
    return 2 * dot.getLhs().getType().getNumElements() *
           dot.getType().getDimSize(2);
  if (auto outer = dyn_cast<GroupedOuterOp>(op))
    return 2 * outer.getLhs().getType().getNumElements() *
           outer.getType().getDimSize(2);
  if (auto convolve = dyn_cast<ConvolveOp>(op)) {
    cost::Gemm gemm = convolve.getGemm();
    return 2 * gemm.batch * gemm.m * gemm.n * gemm.k;
  }
  if (auto gemm = dyn_cast<GemmOp>(op))
    return 2 * gemm.getBatch() * gemm.getM() * gemm.getN() * gemm.getK();
  if (auto launch = dyn_cast<LaunchOp>(op))
    return countLaunchFlops(launch, kernelOf(launch));
  return 0;
}

/// The bytes that a use of a kernel's argument reads, where it looks single
/// elements up; nothing where it may read all.
static std::optional<int64_t> bytesLookedUp(OpOperand &use) {
  int64_t element = byteSize(cast<ShapedType>(use.get().getType()).clone({1}));
  if (auto gather = dyn_cast<GatherOp>(use.getOwner());
      gather && use.getOperandNumber() == 0)
    return byteSize(gather.getType());
  auto nest = dyn_cast_or_null<linalg::GenericOp>(
      isa<tensor::ExtractOp>(use.getOwner()) ? use.getOwner()->getParentOp()
                                             : nullptr);
  if (!nest)
    return std::nullopt;
  int64_t iterations = 1;
  for (int64_t range : nest.getStaticLoopRanges())
    iterations *= range;
  return iterations * element;
}

/// The bytes of a table that are not read, because a kernel only looks some
/// elements of it up.
static int64_t countBytesLeftAlone(LaunchOp launch, func::FuncOp kernel) {
  if (!kernel || kernel.isExternal())
    return 0;
  int64_t leftAlone = 0;
  for (unsigned index = 0; index < launch.getSetOperands(0).size(); ++index) {
    BlockArgument argument = kernel.getArgument(index);
    int64_t all = bytesOf(argument), read = 0;
    for (OpOperand &use : argument.getUses())
      read += bytesLookedUp(use).value_or(all);
    leftAlone += std::max<int64_t>(all - read, 0);
  }
  return leftAlone * int64_t(launch.getBatch());
}

static int64_t countBytesOfValues(Operation *op) {
  int64_t bytes = 0;
  for (Value operand : op->getOperands())
    bytes += bytesOf(operand);
  for (Value result : op->getResults())
    bytes += bytesOf(result);
  return bytes;
}

static int64_t countLaunchBytes(LaunchOp launch, func::FuncOp kernel) {
  return countBytesOfValues(launch) - countBytesLeftAlone(launch, kernel);
}

int64_t countBytes(Operation *op) {
  if (isView(op) || isPartView(op) || isa<arith::ConstantOp>(op))
    return 0;
  if (auto loop = dyn_cast<RepeatOp>(op))
    return countInLoop(loop, countBytes);
  if (auto launch = dyn_cast<LaunchOp>(op))
    return countLaunchBytes(launch, kernelOf(launch));
  return countBytesOfValues(op);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

static cost::Gemm describe(GemmOp op) {
  cost::Gemm gemm;
  gemm.m = op.getM();
  gemm.n = op.getN();
  gemm.k = op.getK();
  gemm.batch = op.getBatch();
  gemm.precision = precisionOf(typeOf(op->getOperand(0)).getElementType());
  return gemm;
}

/// What a kernel computes.
static cost::ElementWork workOf(LaunchOp launch, func::FuncOp kernel) {
  cost::ElementWork work;
  work.flops = double(countLaunchFlops(launch, kernel));
  if (kernel)
    for (const auto &[name, count] : countFunctions(kernel))
      work.addCalls(name, double(launch.getBatch()) * double(count));
  return work;
}

/// Element-wise work, reductions and copies.
static double secondsOfKernel(Operation *op, const cost::CostModel &model) {
  auto launch = dyn_cast<LaunchOp>(op);
  func::FuncOp kernel = launch ? kernelOf(launch) : nullptr;
  double written = 0, bytes = double(launch ? countLaunchBytes(launch, kernel)
                                            : countBytes(op));
  for (Value result : op->getResults())
    written += double(bytesOf(result));
  if (bytes <= 0)
    return 0;
  written = std::min(written, bytes);
  cost::ElementWork work;
  if (launch)
    work = workOf(launch, kernel);
  else
    work.flops = double(countFlops(op));
  return model.kernel({bytes - written, written}, work);
}

double estimateSeconds(Operation *op, const cost::CostModel &model) {
  if (auto loop = dyn_cast<RepeatOp>(op)) {
    double seconds = 0;
    for (Operation &inner : loop.getBlock().without_terminator())
      seconds += estimateSeconds(&inner, model);
    return double(loop.getCount()) * seconds;
  }
  if (auto communication = dyn_cast<CommunicationOpInterface>(op))
    return model.collective(callOf(communication, model)).seconds;
  if (isa<WaitOp, BarrierOp>(op))
    return 0;
  if (auto gemm = dyn_cast<GemmOp>(op))
    return model.behindOthers(model.gemm(describe(gemm)));
  if (auto product = dyn_cast<ProductOpInterface>(op))
    return model.behindOthers(model.gemm(product.getGemm()));
  if (auto attention = dyn_cast<AttentionOp>(op))
    return model.behindOthers(model.attention(costOf(attention)));
  if (auto grad = dyn_cast<AttentionGradOp>(op))
    return model.behindOthers(model.attention(costOf(grad)));
  double seconds = secondsOfKernel(op, model);
  if (auto sort = dyn_cast<ArgsortOp>(op)) // looks at each element so often
    seconds *= llvm::Log2_64_Ceil(
        sort.getOperand().getType().getDimSize(sort.getDim()));
  return model.behindOthers(seconds);
}

} // namespace weft
