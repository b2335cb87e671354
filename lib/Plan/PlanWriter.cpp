//===- PlanWriter.cpp - From schedule to plan -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Plan/PlanWriter.h"
#include "EntryWriter.h"
#include "KernelWriter.h"
#include "PlanTypes.h"
#include "TimelineWriter.h"

#include "weft/IR/MeshDevices.h"
#include "weft/IR/Reasons.h"
#include "weft/IR/Segments.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"
#include "weft/Plan/BufferContents.h"
#include "weft/runtime/PlanFormat.h"

#include "llvm/ADT/StringSet.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;

namespace weft {

/// Where the schedule has the state.
static int64_t offsetOf(const ProgramState &state) {
  func::FuncOp entry = state.entry;
  return getOffset(state.isArgument ? Value(entry.getArgument(state.index))
                                    : entry.front().getTerminator()->getOperand(
                                          state.index));
}

static std::unique_ptr<plan::StateT> toState(const sharding::Mesh &mesh,
                                             const ProgramState &state) {
  auto result = std::make_unique<plan::StateT>();
  result->name = state.name;
  result->type = state.isArgument ? argumentType(mesh, state.entry, state.index)
                                  : resultType(mesh, state.entry, state.index);
  result->offset = offsetOf(state);
  result->bytes = state.type.getNumElements() *
                  ((state.type.getElementTypeBitWidth() + 7) / 8);
  if (state.role < 0)
    return result;
  result->role = state.role;
  result->slots = state.slots;
  result->slot_bytes = state.slotBytes();
  func::FuncOp entry = state.entry;
  result->counts =
      state.isArgument && entry.getArgAttr(state.index, kCountsAttrName);
  return result;
}

/// The file: a container around the finished plan.
static std::string serialize(const plan::PlanT &plan) {
  flatbuffers::FlatBufferBuilder inner;
  inner.Finish(plan::Plan::Pack(inner, &plan));
  uint64_t hash = XXH3_64bits(inner.GetBufferPointer(), inner.GetSize());

  flatbuffers::FlatBufferBuilder outer;
  // The payload has 64-bit numbers of its own.
  outer.ForceVectorAlignment(inner.GetSize(), 1, runtime::payloadAlignment);
  auto payload = outer.CreateVector(inner.GetBufferPointer(), inner.GetSize());
  plan::FinishContainerBuffer(
      outer,
      plan::CreateContainer(outer, runtime::planFormatVersion, hash, payload));
  return std::string(reinterpret_cast<const char *>(outer.GetBufferPointer()),
                     outer.GetSize());
}

llvm::StringRef compilerVersion() { return WEFT_VERSION; }

std::string versionText() {
  return ("Weft " + compilerVersion() + ", plan format " +
          llvm::Twine(runtime::planFormatVersion))
      .str();
}

/// The states of a role that no user of the entry knows are internal.
static void markInternal(plan::PlanT &plan, ModuleOp module) {
  llvm::StringSet<> known;
  for (func::FuncOp entry : findTimelines(module)) {
    llvm::StringSet<> arguments;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      arguments.insert(getArgumentName(entry, i));
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      if (std::string name = getResultName(entry, i); arguments.contains(name))
        known.insert(name);
  }
  for (auto &state : plan.states)
    state->internal = state->role && !known.contains(state->name);
}

/// Entries in the order of the module; that with a timeline stands before its
/// segments.
static LogicalResult writeEntries(plan::PlanT &plan, ModuleOp module,
                                  const ProgramStates &states,
                                  PlanTables &tables) {
  SmallVector<func::FuncOp> entries;
  llvm::StringMap<uint32_t> numbers;
  for (auto function : module.getOps<func::FuncOp>())
    if (getTimeline(function) ||
        (function.isPublic() && !function.isDeclaration())) {
      numbers[function.getSymName()] = entries.size();
      entries.push_back(function);
    }
  for (func::FuncOp entry : entries) {
    auto out = getTimeline(entry)
                   ? writeTimeline(entry, states, numbers, tables)
                   : writeEntry(entry, states, tables);
    if (failed(out))
      return failure();
    if (int64_t role = roleOf(entry); role >= 0)
      (*out)->role = role;
    plan.arena_bytes = std::max(plan.arena_bytes, (*out)->arena_bytes);
    plan.entries.push_back(std::move(*out));
  }
  plan.pipeline = writePipeline(module, tables);
  markInternal(plan, module);
  return success();
}

static std::unique_ptr<plan::ReasonT> toReason(const Reason &reason) {
  auto out = std::make_unique<plan::ReasonT>();
  out->cause = reason.cause;
  out->edit = reason.edit;
  for (const Reason::Line &line : reason.chain) {
    auto each = std::make_unique<plan::ReasonLineT>();
    // The enumerations list the same in one order.
    each->end = static_cast<plan::ReasonEnd>(line.end);
    each->text = line.text;
    out->chain.push_back(std::move(each));
  }
  for (const Reason::Alternative &alternative : reason.alternatives) {
    auto each = std::make_unique<plan::AlternativeT>();
    each->text = alternative.text;
    each->wire_bytes = alternative.wireBytes;
    each->seconds = alternative.seconds;
    out->alternatives.push_back(std::move(each));
  }
  return out;
}

FailureOr<std::string> writePlan(ModuleOp module, const TargetOptions &target,
                                 const PlanMetadata &metadata) {
  FailureOr<ProgramStates> states = ProgramStates::collect(module);
  if (failed(states))
    return failure();
  MeshOp meshOp = findMesh(module);
  PlanTables tables(module,
                    meshOp ? meshOp.getMesh().toMesh() : sharding::Mesh());

  plan::PlanT plan;
  plan.producer = ("weft " + compilerVersion()).str();
  if (meshOp) {
    const cost::DeviceList devices = devicesOf(meshOp);
    plan.devices.assign(devices.begin(), devices.end());
  }
  for (const sharding::MeshAxis &axis : tables.mesh.axes()) {
    auto out = std::make_unique<plan::MeshAxisT>();
    out->name = axis.name;
    out->size = axis.size;
    plan.mesh.push_back(std::move(out));
  }
  tables.statePurposes = findStatePurposes(module, *states);
  for (const ProgramState &state : states->states())
    plan.states.push_back(toState(tables.mesh, state));
  for (auto [state, purpose] :
       llvm::zip_equal(plan.states, tables.statePurposes))
    state->purpose = purpose;
  if (failed(writeEntries(plan, module, *states, tables)))
    return failure();
  for (const sharding::AxisList &group : tables.groups)
    plan.groups.push_back(std::make_unique<plan::AxisListT>(toAxisList(group)));
  for (const Reason &reason : getReasons(module))
    plan.reasons.push_back(toReason(reason));
  plan.constant_data = std::move(tables.constantData);
  for (const auto &[key, value] : metadata) {
    auto out = std::make_unique<plan::MetadataT>();
    out->key = key;
    out->value = value;
    plan.metadata.push_back(std::move(out));
  }
  if (failed(writeKernels(plan, module, tables, target)))
    return failure();
  return serialize(plan);
}

} // namespace weft
