//===- Program.cpp - An entry bound to the memory of a rank -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/Program.h"

#include "cpu/Attention.h"
#include "cpu/Gemm.h"
#include "plan/Text.h"

#include <algorithm>

namespace weft::runtime {
namespace {

/// Turns instructions into steps.
class Binder {
public:
  Binder(const plan::Entry &entry, const BindingContext &context)
      : entry(entry), context(context) {
    program.entry = &entry;
  }

  Result<Program> bind();

private:
  Status bindGemm(const plan::Gemm &gemm);
  void bindAttention(const plan::Attention &attention);
  void bindAttentionGrad(const plan::AttentionGrad &grad);
  void bindLaunch(const plan::Launch &launch);
  int64_t partsOf(const plan::Launch &launch) const;
  bool bindStart(const plan::CollectiveStart &start, uint32_t index);
  void bindCopy(const plan::Copy &copy);
  void bindInputs();

  const plan::Buffer &buffer(uint32_t index) const {
    return *entry.buffers()->Get(index);
  }
  std::byte *address(uint32_t index) const {
    return context.arena + buffer(index).offset();
  }
  size_t usedBytes(uint32_t index) const {
    return elementCountOf(buffer(index)) *
           byteSize(dtypeOf(buffer(index).dtype()));
  }
  static int64_t elementCountOf(const plan::Buffer &buffer) {
    int64_t count = 1;
    for (int64_t extent : *buffer.shape())
      count *= extent;
    return count;
  }
  AttentionResult resultAt(uint32_t index) const {
    return {address(index), dtypeOf(buffer(index).dtype()) != DType::BF16};
  }
  template <typename Operation>
  AttentionArguments argumentsOf(const Operation &operation) const;
  void add(std::unique_ptr<BoundOperation> operation) {
    program.operations.push_back(std::move(operation));
    add(current, BoundStep{program.operations.back().get()});
  }
  void add(uint32_t index, decltype(Step::operation) operation) {
    program.steps.push_back({operation, index});
  }

  const plan::Entry &entry;
  const BindingContext &context;
  Program program;
  uint32_t current = 0;
  uint32_t inFlight = 0;
};

} // namespace

/// Of a verified plan.
static AttentionElement elementOf(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return AttentionElement::BF16;
  case DType::F64:
    return AttentionElement::F64;
  default:
    return AttentionElement::F32;
  }
}

Status Binder::bindGemm(const plan::Gemm &gemm) {
  GemmProblem problem;
  problem.in = dtypeOf(buffer(gemm.lhs()).dtype());
  problem.out = dtypeOf(buffer(gemm.out()).dtype());
  problem.batch = gemm.batch();
  problem.m = gemm.m();
  problem.n = gemm.n();
  problem.k = gemm.k();
  problem.lhs = {gemm.lhs_batch_stride(), gemm.lhs_m_stride(),
                 gemm.lhs_k_stride()};
  problem.rhs = {gemm.rhs_batch_stride(), gemm.rhs_k_stride(),
                 gemm.rhs_n_stride()};
  problem.result = {gemm.out_batch_stride(), gemm.out_m_stride(),
                    gemm.out_n_stride()};
  problem.accumulate = gemm.accumulate();
  WEFT_ASSIGN_OR_RETURN(
      std::unique_ptr<BoundGemm> bound,
      runtime::bindGemm(
          problem,
          {address(gemm.lhs()), address(gemm.rhs()), address(gemm.out())},
          context.team));
  add(std::move(bound));
  return {};
}

template <typename Operation>
AttentionArguments Binder::argumentsOf(const Operation &operation) const {
  AttentionArguments arguments;
  arguments.element = elementOf(dtypeOf(buffer(operation.query()).dtype()));
  const plan::AttentionSizes &sizes = *operation.sizes();
  arguments.sizes = {sizes.batch(), sizes.queries(),   sizes.keys(),
                     sizes.heads(), sizes.key_heads(), sizes.head_size()};
  arguments.isCausal = operation.causal();
  arguments.scale = operation.scale();
  arguments.query = address(operation.query());
  arguments.key = address(operation.key());
  arguments.value = address(operation.value());
  if (operation.diagonal())
    arguments.diagonal =
        reinterpret_cast<const int32_t *>(address(*operation.diagonal()));
  return arguments;
}

void Binder::bindAttention(const plan::Attention &attention) {
  AttentionArguments arguments = argumentsOf(attention);
  arguments.out = resultAt(attention.out());
  arguments.logsumexp = address(attention.logsumexp());
  add(runtime::bindAttention(arguments));
}

void Binder::bindAttentionGrad(const plan::AttentionGrad &grad) {
  AttentionArguments arguments = argumentsOf(grad);
  arguments.forwardLogsumexp = address(grad.logsumexp());
  arguments.delta = address(grad.delta());
  arguments.outCotangent = address(grad.out_cotangent());
  arguments.queryCotangent = resultAt(grad.query_cotangent());
  arguments.keyCotangent = resultAt(grad.key_cotangent());
  arguments.valueCotangent = resultAt(grad.value_cotangent());
  add(runtime::bindAttentionGrad(arguments));
}

/// Some parts for each thread, so that one that is held up has less to do, but
/// none that takes less time than waking a thread.
int64_t Binder::partsOf(const plan::Launch &launch) const {
  const int threads = context.team.size();
  if (threads == 1)
    return 1;
  constexpr int64_t partsOfThread = 4, smallestPart = 128 * 1024;
  const plan::Kernel &kernel = *context.plan.kernels()->Get(launch.kernel());
  int64_t bytes = 0;
  for (uint32_t index : *launch.buffers())
    bytes += static_cast<int64_t>(usedBytes(index));
  return std::clamp<int64_t>(
      bytes / smallestPart, 1,
      std::min<int64_t>(kernel.max_parts(), partsOfThread * threads));
}

void Binder::bindLaunch(const plan::Launch &launch) {
  std::vector<void *> &buffers = program.kernelBuffers.emplace_back();
  for (uint32_t index : *launch.buffers())
    buffers.push_back(address(index));
  std::vector<int64_t> &positions = program.kernelPositions.emplace_back();
  if (launch.positions())
    for (const plan::AxisList *axes : *launch.positions())
      positions.push_back(context.mesh.position(context.rank, axesOf(axes)));
  add(current, LaunchStep{context.kernels.kernel(launch.kernel()),
                          buffers.data(), positions.data(), partsOf(launch)});
}

/// Returns whether the collective's wait is done with it.
bool Binder::bindStart(const plan::CollectiveStart &start, uint32_t index) {
  const plan::Instruction &instruction = *entry.instructions()->Get(index);
  program.collectives.emplace_back(
      start, context.mesh,
      *context.world.communicator(context.rank, start.group()),
      address(start.source()), address(start.destination()),
      dtypeOf(buffer(start.source()).dtype()),
      CallContext{.planStep = index,
                  .cause = view(instruction.cause()),
                  .timeout = context.deadline});
  const BoundCollective *collective = &program.collectives.back();
  const plan::CollectiveWait *next =
      index + 1 < entry.instructions()->size()
          ? entry.instructions()->Get(index + 1)->operation_as_CollectiveWait()
          : nullptr;
  if (inFlight == 0 && next && next->id() == start.id()) {
    add(index, CollectiveStep{collective});
    return true;
  }
  ++inFlight;
  add(index, StartStep{collective, start.id()});
  return false;
}

void Binder::bindCopy(const plan::Copy &copy) {
  add(current, CopyStep{address(copy.destination()), address(copy.source()),
                        usedBytes(copy.source())});
}

void Binder::bindInputs() {
  for (const plan::Binding *input : *entry.inputs())
    if (buffer(input->buffer()).kind() == plan::BufferKind::Input)
      program.inputs.push_back(
          {std::vector<std::byte>(usedBytes(input->buffer())),
           address(input->buffer())});
}

Result<Program> Binder::bind() {
  bindInputs();
  for (current = 0; current < entry.instructions()->size(); ++current) {
    const plan::Instruction &instruction = *entry.instructions()->Get(current);
    if (const auto *gemm = instruction.operation_as_Gemm()) {
      if (Status status = bindGemm(*gemm); !status.ok())
        return status.withContext(stepName(current, instruction));
    } else if (const auto *attention = instruction.operation_as_Attention()) {
      bindAttention(*attention);
    } else if (const auto *grad = instruction.operation_as_AttentionGrad()) {
      bindAttentionGrad(*grad);
    } else if (const auto *launch = instruction.operation_as_Launch()) {
      bindLaunch(*launch);
    } else if (const auto *start = instruction.operation_as_CollectiveStart()) {
      if (bindStart(*start, current))
        ++current; // its wait
    } else if (const auto *wait = instruction.operation_as_CollectiveWait()) {
      --inFlight;
      add(current, WaitStep{wait->id()});
    } else if (const auto *copy = instruction.operation_as_Copy()) {
      bindCopy(*copy);
    }
  }
  return std::move(program);
}

Result<Program> bindProgram(const plan::Entry &entry,
                            const BindingContext &context) {
  return Binder(entry, context).bind();
}

} // namespace weft::runtime
