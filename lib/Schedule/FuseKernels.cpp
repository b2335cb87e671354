//===- FuseKernels.cpp - Ops to kernels -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockGraph.h"
#include "CollectiveParts.h"
#include "FusionRewrites.h"
#include "OutlineKernel.h"
#include "PieceWriter.h"

#include "weft/Schedule/KernelFusion.h"
#include "weft/Schedule/Passes.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace weft {
#define GEN_PASS_DEF_FUSEKERNELS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// A copy of `op` for those of its users for which `isIn` holds.
static Operation *copyFor(Operation *op,
                          llvm::function_ref<bool(Operation *)> isIn) {
  Operation *copy = OpBuilder(op).clone(*op);
  op->getResult(0).replaceUsesWithIf(
      copy->getResult(0), [&](OpOperand &use) { return isIn(use.getOwner()); });
  return copy;
}

/// Erases the cheap ops of a group of which all users have got copies.
static void eraseUnused(SmallVectorImpl<Operation *> &group) {
  llvm::erase_if(group, [](Operation *op) {
    bool isUnused = isCheap(op) && op->use_empty();
    if (isUnused)
      op->erase();
    return isUnused;
  });
}

namespace {

struct FuseKernels : weft::impl::FuseKernelsBase<FuseKernels> {
  using FuseKernelsBase::FuseKernelsBase;

  void runOnInput() override {
    KernelLibrary library(getOperation());
    for (auto entry : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!entry->hasAttr(WeftDialect::kKernelAttrName) && !entry.isExternal())
        // Blocks of loops first: constants that they use are no buffers then.
        entry.walk([&](Block *block) { fuse(*block, library); });
    kernels += library.size();
  }

  void fuse(Block &body, KernelLibrary &library) {
    widenScatterSums(body);
    makeCollectiveParts(body, isFusedWithMoves);
    splitConcats(body);
    duplicateCheapOps(body);
    convertAfterMoves(body, isMove);
    loosenBarriers(body, isElementwise);
    splitFullReductions(body, isElementwise);
    BlockGraph graph(body);
    std::vector<int> group = groupIntoKernels(graph.nodes);
    int count = group.empty() ? 0 : *llvm::max_element(group) + 1;
    std::vector<SmallVector<Operation *>> members(count);
    for (const KernelCopy &copy : findCheapCopies(graph.nodes, group))
      members[copy.group].push_back(
          copyFor(graph.ops[copy.op], [&, copy](Operation *user) {
            auto found = graph.numbers.find(user);
            return found != graph.numbers.end() &&
                   group[found->second] == copy.group;
          }));
    for (auto [op, number] : llvm::zip_equal(graph.ops, group))
      if (number != -1)
        members[number].push_back(op);
    for (SmallVector<Operation *> &kernel : members) {
      eraseUnused(kernel);
      if (kernel.empty())
        continue;
      fusedOps += kernel.size();
      ++launches;
      outlineKernel(kernel, library);
    }
    // A launch stands where its last op stood; ops that were between its ops
    // may use its results.
    sortBehindOperands(body);
    unmarkParts(body);
    for (Operation &op : body)
      if (!isa<CommunicationOpInterface>(op))
        op.removeAttr(kPieceAttrName);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isRematerialized(&op) && op.use_empty())
        op.erase();
  }
};

} // namespace
