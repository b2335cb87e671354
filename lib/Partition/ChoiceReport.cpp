//===- ChoiceReport.cpp - What the choice of shardings saved --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Partition/ChoiceReport.h"

#include "weft/Cost/Bytes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

static constexpr StringRef kChoice = "weft.choice";

void weft::setChoiceReport(func::FuncOp function, const ChoiceReport &report) {
  Builder b(function.getContext());
  auto add = [&](StringRef name, double number) {
    return b.getNamedAttr(name, b.getF64FloatAttr(number));
  };
  function->setAttr(
      kChoice,
      b.getDictionaryAttr(
          {b.getNamedAttr("changed", b.getI64IntegerAttr(report.numChanged)),
           add("wire_bytes_before", report.wireBytesBefore),
           add("wire_bytes", report.wireBytesAfter),
           add("seconds_before", report.secondsBefore),
           add("seconds", report.secondsAfter),
           add("bytes_alive_before", report.bytesAliveBefore),
           add("bytes_alive", report.bytesAliveAfter)}));
}

std::optional<ChoiceReport> weft::getChoiceReport(func::FuncOp function) {
  auto choice = function->getAttrOfType<DictionaryAttr>(kChoice);
  if (!choice)
    return std::nullopt;
  auto number = [&](StringRef name) {
    auto attr = choice.getAs<FloatAttr>(name);
    return attr ? attr.getValueAsDouble() : 0;
  };
  auto changed = choice.getAs<IntegerAttr>("changed");
  return ChoiceReport{changed ? changed.getInt() : 0,
                      number("wire_bytes_before"),
                      number("wire_bytes"),
                      number("seconds_before"),
                      number("seconds"),
                      number("bytes_alive_before"),
                      number("bytes_alive")};
}

std::string weft::printChoiceReports(ModuleOp module) {
  std::string text;
  for (auto function : module.getOps<func::FuncOp>()) {
    std::optional<ChoiceReport> report = getChoiceReport(function);
    if (!report)
      continue;
    auto bytes = [](double number) {
      return printBytes(static_cast<uint64_t>(number));
    };
    text += "shardings of " + function.getSymName().str() +
            ": chosen by cost for " + std::to_string(report->numChanged) +
            (report->numChanged == 1 ? " op: " : " ops: ") +
            bytes(report->wireBytesAfter) + " a step instead of " +
            bytes(report->wireBytesBefore) + ", " +
            printSeconds(report->secondsAfter) + " instead of " +
            printSeconds(report->secondsBefore) + ", " +
            bytes(report->bytesAliveAfter) + " of tensors at once instead of " +
            bytes(report->bytesAliveBefore) + "\n";
  }
  return text;
}
