//===- KeepReport.cpp - What gathering once saves -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/KeepReport.h"

#include "weft/Cost/Bytes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

static constexpr StringRef kKept = "weft.kept_gathers";

void weft::setKeepReport(func::FuncOp function, const KeepReport &report) {
  Builder b(function.getContext());
  function->setAttr(
      kKept,
      b.getDictionaryAttr(
          {b.getNamedAttr("gathers", b.getI64IntegerAttr(report.gathers)),
           b.getNamedAttr("bytes", b.getI64IntegerAttr(report.bytes)),
           b.getNamedAttr("seconds_before",
                          b.getF64FloatAttr(report.secondsBefore)),
           b.getNamedAttr("seconds", b.getF64FloatAttr(report.seconds))}));
}

std::string weft::printKeepReports(ModuleOp module) {
  std::string text;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto report = function->getAttrOfType<DictionaryAttr>(kKept);
    if (!report)
      continue;
    auto count = [&](StringRef name) {
      auto attr = report.getAs<IntegerAttr>(name);
      return attr ? attr.getInt() : 0;
    };
    auto seconds = [&](StringRef name) {
      auto attr = report.getAs<FloatAttr>(name);
      return printSeconds(attr ? attr.getValueAsDouble() : 0);
    };
    text += "all-gathers of " + function.getSymName().str() + ": " +
            std::to_string(count("gathers")) +
            " once for all micro-batches, which holds " +
            printBytes(uint64_t(count("bytes"))) + ", " + seconds("seconds") +
            " instead of " + seconds("seconds_before") + "\n";
  }
  return text;
}
