//===- ProgramStates.cpp - Values that live between calls -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/ProgramStates.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Schedule/ArenaPlanner.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace weft {

llvm::SmallVector<func::FuncOp> findEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isDeclaration())
      entries.push_back(function);
  return entries;
}

int32_t ProgramStates::find(StringRef name) const {
  auto it = indices_.find(name);
  return it == indices_.end() ? -1 : it->second;
}

int32_t ProgramStates::ofArgument(func::FuncOp entry, unsigned index) const {
  return find(getArgumentName(entry, index));
}

int32_t ProgramStates::ofResult(func::FuncOp entry, unsigned index) const {
  return find(getResultName(entry, index));
}

FailureOr<ProgramStates> ProgramStates::collect(ModuleOp module) {
  SmallVector<func::FuncOp> entries = findEntries(module);
  llvm::StringSet<> arguments, results;
  for (func::FuncOp entry : entries) {
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      arguments.insert(getArgumentName(entry, i));
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      results.insert(getResultName(entry, i));
  }

  ProgramStates program;
  bool failed = false;
  auto visit = [&](func::FuncOp entry, bool isArgument, unsigned index,
                   std::string name, Type type) {
    if (!arguments.contains(name) || !results.contains(name))
      return;
    auto [it, isNew] =
        program.indices_.try_emplace(name, program.states_.size());
    auto tensor = cast<RankedTensorType>(type);
    if (!isNew) {
      ProgramState &state = program.states_[it->second];
      if (state.type == tensor)
        return;
      failed = true;
      InFlightDiagnostic diagnostic = entry.emitError()
                                      << "state \"" << name << "\" has type "
                                      << tensor << " here and " << state.type
                                      << " in @" << state.entry.getName();
      diagnostic.attachNote(state.entry.getLoc()) << "see the other entry";
      return;
    }
    program.states_.push_back(
        {name, tensor, program.bytes_, entry, isArgument, index});
    program.bytes_ += alignedBytes(byteSize(tensor));
  };
  for (func::FuncOp entry : entries) {
    for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
      visit(entry, true, i, getArgumentName(entry, i), type);
    for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
      visit(entry, false, i, getResultName(entry, i), type);
  }
  if (failed)
    return failure();
  return program;
}

} // namespace weft
