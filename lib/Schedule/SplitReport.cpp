//===- SplitReport.cpp - What cutting collectives saves -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/SplitReport.h"

#include "weft/Cost/Bytes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

static constexpr StringRef kSplits = "weft.splits";

void weft::addToSplitReport(func::FuncOp function, const SplitReport &report) {
  Builder b(function.getContext());
  SmallVector<Attribute> all;
  if (auto before = function->getAttrOfType<ArrayAttr>(kSplits))
    all.assign(before.begin(), before.end());
  all.push_back(b.getDictionaryAttr(
      {b.getNamedAttr("collectives", b.getI64IntegerAttr(report.collectives)),
       b.getNamedAttr("pieces", b.getI64IntegerAttr(report.pieces)),
       b.getNamedAttr("seconds_before",
                      b.getF64FloatAttr(report.secondsBefore)),
       b.getNamedAttr("seconds", b.getF64FloatAttr(report.seconds))}));
  function->setAttr(kSplits, b.getArrayAttr(all));
}

std::string weft::printSplitReports(ModuleOp module) {
  std::string text;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto splits = function->getAttrOfType<ArrayAttr>(kSplits);
    if (!splits)
      continue;
    for (auto split : splits.getAsRange<DictionaryAttr>()) {
      auto count = [&](StringRef name) {
        auto attr = split.getAs<IntegerAttr>(name);
        return attr ? attr.getInt() : 0;
      };
      auto seconds = [&](StringRef name) {
        auto attr = split.getAs<FloatAttr>(name);
        return printSeconds(attr ? attr.getValueAsDouble() : 0);
      };
      text += "collectives of " + function.getSymName().str() + ": " +
              std::to_string(count("collectives")) + " cut into " +
              std::to_string(count("pieces")) + " pieces each, " +
              seconds("seconds") + " instead of " + seconds("seconds_before") +
              "\n";
    }
  }
  return text;
}
