//===- StagePipeline.cpp - The pipeline of a program ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/StagePipeline.h"

#include "weft/IR/Origin.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace weft {

static constexpr StringLiteral kAxis = "axis", kSchedule = "schedule",
                               kTable = "table", kTableName = "table_name",
                               kOwnCopies = "own_copies";

std::optional<StagePipeline> getPipeline(ModuleOp module) {
  auto attribute = module->getAttrOfType<DictionaryAttr>(kPipelineAttrName);
  if (!attribute)
    return std::nullopt;
  StagePipeline pipeline;
  for (NamedAttribute each : attribute) {
    if (each.getName() == kOwnCopies) {
      auto value = dyn_cast<BoolAttr>(each.getValue());
      if (!value)
        return std::nullopt;
      pipeline.ownCopies = value.getValue();
      continue;
    }
    auto value = dyn_cast<StringAttr>(each.getValue());
    std::string *member = each.getName() == kAxis        ? &pipeline.axis
                          : each.getName() == kSchedule  ? &pipeline.schedule
                          : each.getName() == kTable     ? &pipeline.table
                          : each.getName() == kTableName ? &pipeline.tableName
                                                         : nullptr;
    if (!value || value.empty() || !member)
      return std::nullopt;
    *member = value.str();
  }
  if (pipeline.axis.empty() ||
      (pipeline.schedule.empty() && pipeline.table.empty()))
    return std::nullopt;
  return pipeline;
}

void setPipeline(ModuleOp module, const StagePipeline &pipeline) {
  Builder b(module.getContext());
  NamedAttrList attribute;
  auto add = [&](StringRef name, const std::string &value) {
    if (!value.empty())
      attribute.append(name, b.getStringAttr(value));
  };
  add(kAxis, pipeline.axis);
  add(kSchedule, pipeline.schedule);
  add(kTable, pipeline.table);
  if (!pipeline.table.empty() &&
      pipeline.tableName != StagePipeline().tableName)
    add(kTableName, pipeline.tableName);
  if (!pipeline.ownCopies)
    attribute.append(kOwnCopies, b.getBoolAttr(false));
  module->setAttr(kPipelineAttrName,
                  attribute.getDictionary(module.getContext()));
}

} // namespace weft

void weft::removeStages(ModuleOp module) {
  if (getPipeline(module) || !module->removeAttr(kStagesAttrName))
    return;
  module.walk([](Operation *op) {
    if (OriginAttr origin = getOrigin(op))
      setOrigin(op, withoutStage(origin));
  });
}
