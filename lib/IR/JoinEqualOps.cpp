//===- JoinEqualOps.cpp - Compute equal expressions once ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's elimination of common subexpressions takes ops with different
// attributes for different ones. So origins are put aside while it runs, but
// for the pipeline stage: each stage computes for itself. So is where shardings
// came from, and the numbers of values that are to be observed; those of the
// first of equal ops stay.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/AxisProvenance.h"
#include "weft/IR/ObservedValues.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Passes.h"
#include "weft/IR/WeftDialect.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

namespace weft {
#define GEN_PASS_DEF_JOINEQUALOPS
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

/// The origins of the ops of a module, where their shardings came from, and
/// their numbers, while they are put aside.
class Origins : public RewriterBase::Listener {
public:
  explicit Origins(ModuleOp module) : module(module) {
    module.walk([&](Operation *op) {
      if (OriginAttr origin = getOrigin(op)) {
        of[op] = origin;
        setOrigin(op, onlyStage(origin));
      }
      for (StringRef name : setAside)
        if (Attribute attr = op->removeAttr(name))
          others[op].emplace_back(name, attr);
    });
  }

  /// Gives those that are left theirs.
  void restore() {
    module.walk([&](Operation *op) {
      if (OriginAttr origin = of.lookup(op))
        setOrigin(op, origin);
      for (auto [name, attr] : others.lookup(op))
        op->setAttr(name, attr);
    });
  }

  /// A value that two parameters share as their gradient is that of the first.
  void notifyOperationReplaced(Operation *op, Operation *other) override {
    StringRef gradient = gradientOf(of.lookup(op));
    if (!gradient.empty() && gradientOf(of.lookup(other)).empty())
      of[other] = withGradientOf(of.lookup(other),
                                 StringAttr::get(op->getContext(), gradient));
  }

private:
  static constexpr StringLiteral setAside[] = {kProvenanceAttrName,
                                               kNumberedAttrName};

  ModuleOp module;
  DenseMap<Operation *, OriginAttr> of;
  DenseMap<Operation *, SmallVector<std::pair<StringRef, Attribute>, 2>> others;
};

struct JoinEqualOps : weft::impl::JoinEqualOpsBase<JoinEqualOps> {
  void runOnOperation() override {
    Origins origins(getOperation());
    IRRewriter rewriter(&getContext(), &origins);
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    origins.restore();
  }
};

} // namespace
