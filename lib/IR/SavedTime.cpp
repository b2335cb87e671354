//===- SavedTime.cpp - What passes save, for the report -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/SavedTime.h"

#include "weft/Cost/Bytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weft;

static constexpr StringRef kSavedTimes = "weft.saved_times";

void weft::addSavedTime(Block &block, const SavedTime &saved) {
  Operation *parent = block.getParentOp();
  auto function = dyn_cast<func::FuncOp>(parent);
  const bool isLoop = !function;
  if (isLoop)
    function = parent->getParentOfType<func::FuncOp>();
  Builder b(function.getContext());
  SmallVector<Attribute> all;
  if (auto before = function->getAttrOfType<ArrayAttr>(kSavedTimes))
    all.assign(before.begin(), before.end());
  auto seconds = [&](StringRef name, double number) {
    return b.getNamedAttr(name, b.getF64FloatAttr(number));
  };
  SmallVector<NamedAttribute> fields = {
      b.getNamedAttr("what", b.getStringAttr(saved.what)),
      seconds("seconds_before", saved.secondsBefore),
      seconds("seconds", saved.seconds)};
  if (isLoop)
    fields.push_back(b.getNamedAttr("loop", b.getUnitAttr()));
  all.push_back(b.getDictionaryAttr(fields));
  function->setAttr(kSavedTimes, b.getArrayAttr(all));
}

std::string weft::printSavedTimes(ModuleOp module) {
  std::string text;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto all = function->getAttrOfType<ArrayAttr>(kSavedTimes);
    if (!all)
      continue;
    for (auto saved : all.getAsRange<DictionaryAttr>()) {
      auto what = saved.getAs<StringAttr>("what");
      auto seconds = [&](StringRef name) {
        auto attr = saved.getAs<FloatAttr>(name);
        return printSeconds(attr ? attr.getValueAsDouble() : 0);
      };
      text += (saved.contains("loop") ? "loop of " : "") +
              function.getSymName().str() + ": " + (what ? what.str() : "") +
              " " + seconds("seconds") + " instead of " +
              seconds("seconds_before") + "\n";
    }
  }
  return text;
}
