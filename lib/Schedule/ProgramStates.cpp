//===- ProgramStates.cpp - Values that live between calls -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/ProgramStates.h"

#include "weft/IR/Segments.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Schedule/ArenaPlanner.h"

#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

using namespace mlir;

namespace weft {

llvm::SmallVector<func::FuncOp> findEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isDeclaration())
      entries.push_back(function);
  return entries;
}

int64_t ProgramState::slotBytes() const { return alignedBytes(byteSize(type)); }

/// A state of all ranks is one of every role.
int32_t ProgramStates::find(int64_t role, StringRef name) const {
  auto found = indices_.find({role, name.str()});
  if (found == indices_.end() && role >= 0)
    found = indices_.find({-1, name.str()});
  return found == indices_.end() ? -1 : found->second;
}

int32_t ProgramStates::ofArgument(func::FuncOp entry, unsigned index) const {
  return find(roleOf(entry), getArgumentName(entry, index));
}

int32_t ProgramStates::ofResult(func::FuncOp entry, unsigned index) const {
  return find(roleOf(entry), getResultName(entry, index));
}

int64_t ProgramStates::bytes(int64_t role) const {
  int64_t bytes = bytes_;
  for (auto [other, ofRole] : bytesOfRole_)
    if (role < 0 || role == other)
      bytes = std::max(bytes, bytes_ + ofRole);
  return bytes;
}

static bool mentions(func::FuncOp entry, StringRef name) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (getArgumentName(entry, i) == name)
      return true;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (getResultName(entry, i) == name)
      return true;
  return false;
}

/// What an entry without a pipeline reads on all ranks is the same on all:
/// segments of every role update a state of all ranks, or none. Reports the
/// first role that does not, of each state.
static LogicalResult checkUpdates(ArrayRef<func::FuncOp> entries,
                                  ArrayRef<ProgramState> states) {
  std::set<int64_t> roles;
  // By name, the first segment of each role that updates the state.
  llvm::StringMap<std::map<int64_t, func::FuncOp>> updates;
  for (func::FuncOp entry : entries)
    if (const int64_t role = roleOf(entry); role >= 0) {
      roles.insert(role);
      for (unsigned i = 0; i < entry.getNumResults(); ++i)
        updates[getResultName(entry, i)].try_emplace(role, entry);
    }
  bool failed = false;
  for (const ProgramState &state : states) {
    auto updating = updates.find(state.name);
    if (state.role >= 0 || updating == updates.end())
      continue;
    const auto &[first, segment] = *updating->second.begin();
    auto missing = llvm::find_if(
        roles, [&](int64_t role) { return !updating->second.count(role); });
    if (missing == roles.end())
      continue;
    func::FuncOp other = *llvm::find_if(entries, [&](func::FuncOp entry) {
      return roleOf(entry) < 0 && mentions(entry, state.name);
    });
    func::FuncOp reported = segment;
    InFlightDiagnostic diagnostic =
        reported.emitError()
        << "state \"" << state.name << "\" is updated by role " << first
        << " and not by role " << *missing << ", but entry @" << other.getName()
        << " has it on all ranks; give "
        << "the state another name there, or run that entry as a pipeline too";
    diagnostic.attachNote(other.getLoc()) << "see the other entry";
    failed = true;
  }
  return failure(failed);
}

FailureOr<ProgramStates> ProgramStates::collect(ModuleOp module) {
  SmallVector<func::FuncOp> entries = findEntries(module);
  llvm::StringSet<> arguments, results;
  for (func::FuncOp entry : entries) {
    if (roleOf(entry) >= 0)
      continue;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      arguments.insert(getArgumentName(entry, i));
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      results.insert(getResultName(entry, i));
  }

  ProgramStates program;
  bool failed = false;
  auto visit = [&](func::FuncOp entry, bool isArgument, unsigned index,
                   std::string name, Type type, DictionaryAttr attrs) {
    bool isShared = arguments.contains(name) && results.contains(name);
    int64_t role = isShared ? -1 : roleOf(entry);
    if (!isShared && role < 0)
      return;
    auto [it, isNew] = program.indices_.try_emplace(std::pair(role, name),
                                                    program.states_.size());
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
        {name, role, slotsOf(attrs), tensor, 0, entry, isArgument, index});
  };
  for (func::FuncOp entry : entries) {
    for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
      visit(entry, true, i, getArgumentName(entry, i), type,
            entry.getArgAttrDict(i));
    for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
      visit(entry, false, i, getResultName(entry, i), type,
            entry.getResultAttrDict(i));
  }
  if (mlir::failed(checkUpdates(entries, program.states_)) || failed)
    return failure();
  program.placeStates();
  return program;
}

void ProgramStates::placeStates() {
  for (ProgramState &state : states_)
    if (state.role < 0) {
      state.offset = bytes_;
      bytes_ += state.slots * state.slotBytes();
    }
  for (ProgramState &state : states_)
    if (state.role >= 0) {
      int64_t &bytes = bytesOfRole_[state.role];
      state.offset = bytes_ + bytes;
      bytes += state.slots * state.slotBytes();
    }
}

} // namespace weft
