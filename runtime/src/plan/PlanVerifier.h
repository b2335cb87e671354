//===- PlanVerifier.h - The meaning of a plan is checked --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last gate of Plan.h: everything that the schema says in words. It shares
// no code with the compiler's planner or scheduler; lifetimes are recomputed
// from the instructions.
//
// A plan that passes cannot make the executor leave the arena, read a temporary
// or a state of a segment before it is written or after it is written over,
// race with a collective in flight, or wait for something that was not started.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_PLANVERIFIER_H
#define WEFT_RUNTIME_SRC_PLAN_PLANVERIFIER_H

#include "plan/Mesh.h"
#include "plan/Roles.h"
#include "weft/runtime/DType.h"
#include "weft/runtime/Status.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

/// A piece of a rank's arena that belongs to something for the whole life of
/// the plan: a state or a constant.
struct FixedRegion {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  /// Constants only: where its contents are. States: UINT64_MAX.
  uint64_t dataOffset = UINT64_MAX;
  /// For messages: `state "w1"`.
  std::string name;
};

/// Sets of arguments of a launch: the second extent of a grid on a GPU.
inline constexpr uint32_t maxLaunchBatch = 65535;

/// Instructions that a call may execute on a rank; a plan whose entries take
/// longer is none.
inline constexpr uint64_t mostExecuted = uint64_t(1) << 26;

/// What an instruction does to a buffer of its entry.
struct Touch {
  uint32_t buffer = 0;
  bool reads = false;
  bool writes = false;
};

/// The plan under test and what was derived from its verified parts.
struct VerifiedHeader {
  const plan::Plan &plan;
  const Mesh &mesh;
  const Roles &roles;
  const StateNames states;
  /// By role: states, then the constants of all entries, each once.
  std::vector<std::vector<FixedRegion>> fixed;
};

/// A buffer as operations see it.
struct Operand {
  uint32_t index;
  DType dtype;
  int64_t elements;
};

/// One dimension of a tensor within a buffer.
struct Extent {
  int64_t size, stride;
};

/// `what` is for the message that the buffer does not exist.
Result<Operand> findOperand(const plan::Entry &entry, uint32_t index,
                            std::string_view what);

/// Checks the whole plan: header, then each entry.
Status verifyPlan(const plan::Plan &plan);

/// Checks the axis and the arenas of a pipeline, and that nothing has a role
/// that it does not have.
Status verifyPipeline(const plan::Plan &plan);

/// Checks an entry with a timeline; the segments are verified already.
Status verifyTimeline(const VerifiedHeader &header, const plan::Entry &entry);

/// The part of verifyTimeline for what is in states: each action is done once
/// for each micro-batch, or once a step, and reads what was written for it.
Status verifyFlow(const VerifiedHeader &header, const plan::Entry &entry);

/// Checks the type of a binding, and that it fits `buffer` of its entry and the
/// state of its name, if there is one.
Status verifyBinding(const VerifiedHeader &header, const plan::Entry &entry,
                     const plan::Binding &binding, uint32_t buffer);

/// Checks the kernels and the compiled code against the target.
Status verifyKernels(const plan::Plan &plan);

/// Whether a launch of a verified kernel has room for its parameters.
Status verifyParameters(const plan::Plan &plan, const plan::Launch &launch);

/// Checks one entry; messages start with `entry "name"`.
Status verifyEntry(const VerifiedHeader &header, const plan::Entry &entry);

/// Checks what an entry says of values of the graph among its outputs.
Status verifyObserved(const plan::Entry &entry);

/// The part of verifyTimeline for segments that go on beside others: no action
/// in between uses their memory.
Status verifyDeferred(const VerifiedHeader &header, const plan::Entry &entry);

/// Checks the fields of one instruction against its buffers, and appends what
/// it touches. The buffers are verified already.
Status verifyOperation(const VerifiedHeader &header, const plan::Entry &entry,
                       const plan::Instruction &instruction,
                       std::vector<Touch> &touches);

/// The part of verifyOperation for products.
Status verifyGemm(const VerifiedHeader &header, const plan::Entry &entry,
                  const plan::Gemm &gemm, std::vector<Touch> &touches);

/// The part of verifyOperation for convolutions.
Status verifyConvolution(const VerifiedHeader &header, const plan::Entry &entry,
                         const plan::Convolution &convolution,
                         std::vector<Touch> &touches);

/// The part of verifyOperation for attention.
Status verifyAttention(const plan::Entry &entry,
                       const plan::Attention &attention,
                       std::vector<Touch> &touches);
Status verifyAttention(const plan::Entry &entry,
                       const plan::AttentionGrad &grad,
                       std::vector<Touch> &touches);

/// All axes that the ranks hold different parts or terms of a value over.
std::vector<plan::AxisRef> axesOf(const plan::TensorType &type);

/// Whether two values are of one type, split and unreduced alike.
bool isSameType(const plan::TensorType &a, const plan::TensorType &b);

/// Dtype, shapes and axes of a value: local = global / parts.
Status verifyType(const Mesh &mesh, const plan::TensorType &type);

/// The number of elements of a shape, if no extent is negative and the number
/// of bytes fits 62 bits.
Result<int64_t> elementCount(const flatbuffers::Vector<int64_t> &shape,
                             DType dtype);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_PLANVERIFIER_H
