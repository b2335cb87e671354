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

/// The attributes of the ops of a module, while those that tell equal ops apart
/// are put aside.
class Origins : public RewriterBase::Listener {
public:
  explicit Origins(ModuleOp module) : module(module) {
    // Many ops have the same.
    DenseMap<DictionaryAttr, DictionaryAttr> stripped;
    module.walk([&](Operation *op) {
      DictionaryAttr attrs = op->getDiscardableAttrDictionary();
      DictionaryAttr &without = stripped[attrs];
      if (!without)
        without = strip(attrs);
      if (without == attrs)
        return;
      of[op] = attrs;
      op->setDiscardableAttrs(without);
    });
  }

  /// Gives those that are left theirs.
  void restore() {
    module.walk([&](Operation *op) {
      if (DictionaryAttr attrs = of.lookup(op))
        op->setDiscardableAttrs(attrs);
    });
  }

  /// A value that two parameters share as their gradient is that of the first.
  void notifyOperationReplaced(Operation *op, Operation *other) override {
    StringRef gradient = gradientOf(originIn(attrsOf(op)));
    OriginAttr origin = originIn(attrsOf(other));
    if (gradient.empty() || !gradientOf(origin).empty())
      return;
    NamedAttrList attrs(attrsOf(other));
    attrs.set(
        WeftDialect::kOriginAttrName,
        withGradientOf(origin, StringAttr::get(op->getContext(), gradient)));
    of[other] = attrs.getDictionary(op->getContext());
  }

private:
  static DictionaryAttr strip(DictionaryAttr attrs) {
    NamedAttrList without(attrs);
    for (StringRef name : {kProvenanceAttrName, kNumberedAttrName})
      without.erase(name);
    OriginAttr origin = originIn(attrs);
    if (OriginAttr stage = onlyStage(origin))
      without.set(WeftDialect::kOriginAttrName, stage);
    else if (origin)
      without.erase(WeftDialect::kOriginAttrName);
    return without.getDictionary(attrs.getContext());
  }
  static OriginAttr originIn(DictionaryAttr attrs) {
    return attrs.getAs<OriginAttr>(WeftDialect::kOriginAttrName);
  }
  DictionaryAttr attrsOf(Operation *op) const {
    DictionaryAttr attrs = of.lookup(op);
    return attrs ? attrs : op->getDiscardableAttrDictionary();
  }

  ModuleOp module;
  /// As they were, of the ops whose attributes were changed.
  DenseMap<Operation *, DictionaryAttr> of;
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
