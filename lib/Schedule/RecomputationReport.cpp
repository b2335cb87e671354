//===- RecomputationReport.cpp - What recomputation saves -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/RecomputationReport.h"

#include "weft/Cost/Bytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

static constexpr StringRef kRecomputation = "weft.recomputation";

void weft::setRecomputationReport(Operation *parent,
                                  const RecomputationReport &report) {
  Builder b(parent->getContext());
  parent->setAttr(
      kRecomputation,
      b.getDictionaryAttr(
          {b.getNamedAttr("ops", b.getI64IntegerAttr(report.ops)),
           b.getNamedAttr("spared_bytes",
                          b.getI64IntegerAttr(report.sparedBytes))}));
}

RecomputationReport weft::getRecomputationReport(Operation *parent) {
  auto attr = parent->getAttrOfType<DictionaryAttr>(kRecomputation);
  auto number = [&](StringRef name) {
    auto found = attr ? attr.getAs<IntegerAttr>(name) : IntegerAttr();
    return found ? found.getInt() : 0;
  };
  return {number("ops"), number("spared_bytes")};
}

std::string weft::printRecomputationReports(ModuleOp module) {
  std::string text;
  for (auto function : module.getOps<func::FuncOp>()) {
    RecomputationReport all;
    function.walk([&](Operation *op) {
      RecomputationReport own = getRecomputationReport(op);
      all.ops += own.ops;
      all.sparedBytes = std::max(all.sparedBytes, own.sparedBytes);
    });
    if (!all.ops)
      continue;
    text += "recomputed in kernels of " + function.getSymName().str() + ": " +
            std::to_string(all.ops) + (all.ops == 1 ? " op" : " ops");
    // Of pieces alone nothing is estimated.
    if (all.sparedBytes)
      text += ", some " + printBytes(all.sparedBytes) + " less at the peak";
    text += "\n";
  }
  return text;
}
