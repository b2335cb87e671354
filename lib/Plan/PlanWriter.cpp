//===- PlanWriter.cpp - From schedule to plan -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Plan/PlanWriter.h"
#include "BufferContents.h"
#include "EntryWriter.h"
#include "PlanTypes.h"

#include "weft/Codegen/CompileKernels.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"
#include "weft/runtime/PlanFormat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;

namespace weft {

static std::unique_ptr<plan::StateT> toState(const sharding::Mesh &mesh,
                                             const ProgramState &state) {
  auto result = std::make_unique<plan::StateT>();
  result->name = state.name;
  result->type = state.isArgument ? argumentType(mesh, state.entry, state.index)
                                  : resultType(mesh, state.entry, state.index);
  result->offset = state.offset;
  result->bytes = state.type.getNumElements() *
                  ((state.type.getElementTypeBitWidth() + 7) / 8);
  return result;
}

/// What an op of a kernel's body is called in a summary; nothing if it is not
/// worth a word.
static StringRef wordFor(Operation *op) {
  if (isa<ScatterAddOp>(op))
    return "scatter_add";
  if (isa<tensor::ExtractOp>(op) && isa<linalg::GenericOp>(op->getParentOp()))
    return "gather";
  bool isMath = isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
                !isa<arith::ConstantOp, arith::IndexCastOp>(op);
  return isMath ? op->getName().stripDialect() : "";
}

/// The math of a kernel's body, each op once, in order: "mulf, addf, tanh".
static std::string summarize(func::FuncOp kernel) {
  llvm::StringSet<> seen;
  std::string summary;
  kernel.walk([&](Operation *op) {
    StringRef word = wordFor(op);
    if (!word.empty() && seen.insert(word).second)
      summary += (summary.empty() ? "" : ", ") + word.str();
  });
  return summary.empty() ? "copy" : summary;
}

/// Compiles the kernels that the entries launch.
static LogicalResult writeKernels(plan::PlanT &plan, ModuleOp module,
                                  const PlanTables &tables,
                                  const TargetOptions &target) {
  std::vector<KernelRequest> requests;
  for (const PlanTables::Kernel &kernel : tables.kernels) {
    auto out = std::make_unique<plan::KernelT>();
    out->symbol = "kernel_" + std::to_string(requests.size());
    out->summary = summarize(kernel.function);
    requests.push_back({kernel.function, kernel.inPlace, out->symbol});
    plan.kernels.push_back(std::move(out));
  }
  plan.target = std::make_unique<plan::TargetT>();
  if (!target.machineCode) {
    plan.target->kind = "none";
    return success();
  }
  llvm::Expected<CpuTarget> processor = resolveTarget(target);
  if (!processor)
    return module.emitError(toString(processor.takeError()));
  FailureOr<KernelObject> object = compileKernels(requests, target);
  if (failed(object))
    return failure();
  plan.object.assign(object->elf.begin(), object->elf.end());
  plan.target->kind = "cpu";
  plan.target->processor = processor->cpu;
  plan.target->features = object->cpuFeatures;
  for (auto [kernel, maxParts] :
       llvm::zip_equal(plan.kernels, object->maxParts))
    kernel->max_parts = maxParts;
  return success();
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

FailureOr<std::string> writePlan(ModuleOp module, const TargetOptions &target,
                                 const PlanMetadata &metadata) {
  FailureOr<ProgramStates> states = ProgramStates::collect(module);
  if (failed(states))
    return failure();
  MeshOp meshOp = findMesh(module);
  PlanTables tables(module,
                    meshOp ? meshOp.getMesh().toMesh() : sharding::Mesh());

  plan::PlanT plan;
  plan.producer = "weft " WEFT_VERSION;
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
  for (func::FuncOp entry : findEntries(module)) {
    auto out = writeEntry(entry, *states, tables);
    if (failed(out))
      return failure();
    plan.arena_bytes = std::max(plan.arena_bytes, (*out)->arena_bytes);
    plan.entries.push_back(std::move(*out));
  }
  for (const sharding::AxisList &group : tables.groups)
    plan.groups.push_back(std::make_unique<plan::AxisListT>(toAxisList(group)));
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
