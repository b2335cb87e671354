//===- CudaProgram.cpp - An entry bound to the memory of a GPU --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/CudaProgram.h"

#include "cuda/attention/Attention.h"
#include "cuda/gemm/Gemm.h"
#include "executor/EntryMemory.h"
#include "plan/ExchangeMap.h"
#include "plan/Text.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>

namespace weft::runtime {
namespace {

/// Turns instructions into steps.
class Binder {
public:
  Binder(uint32_t number, const CudaBinding &binding, uint32_t microbatch)
      : number(number), entry(*binding.plan.entries()->Get(number)),
        binding(binding), memory(entry, binding.arena, microbatch) {
    program.entry = &entry;
  }

  Result<CudaProgram> bind();

private:
  Status bindInputs();
  Status bind(const plan::Gemm &gemm);
  Status bind(const plan::Launch &launch);
  Status bind(const plan::CollectiveStart &start);
  Status bind(const plan::CollectiveWait &wait);
  Status bind(const plan::Copy &copy);
  Status bind(const plan::Sort &) {
    return invalidArgument("a sort, which plans for \"cuda\" do not have");
  }
  Status bind(const plan::Convolution &) {
    return invalidArgument(
        "a convolution, which plans for \"cuda\" do not have");
  }
  Status bind(const plan::Repeat &repeat) {
    program.order.open(repeat.count(), current + 1 + repeat.instructions());
    return {};
  }
  Status bind(const plan::Attention &attention) {
    return add(bindCudaAttention(memory.arguments(attention), binding.context));
  }
  Status bind(const plan::AttentionGrad &grad) {
    return add(bindCudaAttentionGrad(memory.arguments(grad), binding.context));
  }
  Status add(Result<std::unique_ptr<CudaOperation>> operation);
  /// With an anchor, behind the last execution of that step.
  void add(decltype(CudaStep::operation) operation,
           std::optional<uint32_t> anchor = std::nullopt);

  const uint32_t number;
  const plan::Entry &entry;
  const CudaBinding &binding;
  const EntryMemory memory;
  CudaProgram program;
  uint32_t current = 0;
  /// Collectives that were started and not waited for.
  int inFlight = 0;
};

} // namespace

static std::string labelOf(const plan::Plan &plan,
                           const plan::Instruction &instruction) {
  std::string label(workName(plan, instruction));
  if (const auto *launch = instruction.operation_as_Launch();
      launch && launch->batch() > 1)
    label += fmt::format(", {} times", launch->batch());
  if (!view(instruction.cause()).empty())
    label += fmt::format(": {}", view(instruction.cause()));
  if (!view(instruction.location()).empty())
    label += fmt::format(" ({})", view(instruction.location()));
  return label;
}

void Binder::add(decltype(CudaStep::operation) operation,
                 std::optional<uint32_t> anchor) {
  const auto step = static_cast<uint32_t>(program.steps.size());
  if (anchor)
    program.order.addBehind(*anchor, step);
  else
    program.order.add(step);
  program.steps.push_back(
      {operation, number, current,
       labelOf(binding.plan, *entry.instructions()->Get(current))});
}

Status Binder::add(Result<std::unique_ptr<CudaOperation>> operation) {
  if (!operation.ok())
    return operation.status();
  program.operations.push_back(*std::move(operation));
  add(OperationStep{program.operations.back().get()});
  return {};
}

Status Binder::bind(const plan::Gemm &gemm) {
  CudaGemmProblem problem{memory.problem(gemm), gemm.precision(),
                          gemm.epilogue()};
  CudaGemmPointers pointers{memory.address(gemm.lhs()),
                            memory.address(gemm.rhs()),
                            memory.address(gemm.out())};
  if (gemm.bias()) {
    problem.bias = memory.dtype(*gemm.bias());
    pointers.bias = memory.address(*gemm.bias());
  }
  if (gemm.aux())
    pointers.aux = memory.address(*gemm.aux());
  if (inFlight > 0)
    problem.processors = binding.context.processorsBesideCollectives;
  return add(bindCudaGemm(problem, pointers, binding.context));
}

Status Binder::bind(const plan::Launch &launch) {
  const plan::Grid &grid =
      *binding.plan.kernels()->Get(launch.kernel())->grid();
  GridLaunch &bound = program.launches.emplace_back();
  bound.kernel = binding.kernels.kernel(launch.kernel());
  bound.blocks = grid.blocks();
  bound.batch = launch.batch();
  bound.threads = grid.threads();
  bound.sharedBytes = grid.launch_shared_bytes();
  for (uint32_t index : *launch.buffers())
    bound.values.push_back(reinterpret_cast<uint64_t>(memory.address(index)));
  // A table is one parameter, whose size the kernel decides.
  const size_t table =
      grid.max_batch() > 1 ? launch.access()->size() * grid.max_batch() : 0;
  bound.values.resize(std::max(bound.values.size(), table));
  if (launch.positions())
    for (const plan::AxisList *axes : *launch.positions())
      bound.values.push_back(static_cast<uint64_t>(
          binding.mesh.position(binding.rank, axesOf(axes))));
  if (grid.workspace_bytes() != 0)
    bound.values.push_back(reinterpret_cast<uint64_t>(binding.kernelWorkspace));
  for (size_t i = 0; i < bound.values.size(); i += i < table ? table : 1)
    bound.parameters.push_back(&bound.values[i]);
  add(GridStep{&bound});
  return {};
}

Status Binder::bind(const plan::CollectiveStart &start) {
  const Cudart &cudart = binding.context.cudart;
  BoundDeviceCollective &bound = program.collectives.emplace_back();
  DeviceCollective &collective = bound.collective;
  collective.queue = binding.world.queues().of(number, start.id());
  bound.communicator =
      binding.world.communicator(binding.rank, start.group(), collective.queue);
  collective.kind = start.kind();
  collective.reduction = static_cast<Reduction>(start.reduction());
  collective.source = memory.address(start.source());
  collective.destination = memory.address(start.destination());
  collective.outer = start.outer();
  collective.middle = start.middle();
  collective.inner = start.inner();
  collective.splitFirst = start.split_first();
  collective.dtype = memory.dtype(start.source());
  collective.instruction = current;
  collective.cause = view(entry.instructions()->Get(current)->cause());
  if (start.kind() == plan::CollectiveKind::Exchange)
    collective.exchange = exchangeOf(start, bound.communicator->size(),
                                     bound.communicator->rank());
  if (start.kind() == plan::CollectiveKind::Permute) {
    const auto members = bound.communicator->worldRanks();
    const auto from = axesOf(start.permute_from());
    const auto to = axesOf(start.permute_to());
    for (int i = 0; i < static_cast<int>(members.size()); ++i) {
      const int64_t sender = binding.mesh.permuteSource(members[i], from, to,
                                                        start.permute_shift());
      if (sender == binding.rank)
        collective.sendTo = i;
      if (members[i] == binding.rank)
        collective.receiveFrom =
            static_cast<int>(std::find(members.begin(), members.end(), sender) -
                             members.begin());
    }
  }
  WEFT_ASSIGN_OR_RETURN(bound.started, createEvent(cudart));
  WEFT_ASSIGN_OR_RETURN(bound.done, createEvent(cudart));
  inFlight += bound.communicator->size() > 1;
  const auto anchor = start.behind()
                          ? lastStepOf(program.steps, *start.behind())
                          : std::nullopt;
  add(DeviceStartStep{&bound}, anchor);
  return {};
}

Status Binder::bind(const plan::CollectiveWait &wait) {
  BoundDeviceCollective &bound = program.collectives[wait.id()];
  inFlight -= bound.communicator->size() > 1;
  add(DeviceWaitStep{&bound});
  return {};
}

Status Binder::bind(const plan::Copy &copy) {
  if (const size_t bytes = memory.usedBytes(copy.source()))
    add(DeviceCopyStep{memory.address(copy.destination()),
                       memory.address(copy.source()), bytes});
  return {};
}

Status Binder::bindInputs() {
  for (const plan::Binding *input : *entry.inputs()) {
    if (memory.buffer(input->buffer()).kind() != plan::BufferKind::Input)
      continue;
    const size_t bytes = memory.usedBytes(input->buffer());
    WEFT_ASSIGN_OR_RETURN(PinnedMemory staging,
                          allocatePinned(binding.context.cudart, bytes));
    program.inputs.push_back(
        {std::move(staging), memory.address(input->buffer()), bytes});
  }
  return {};
}

Result<CudaProgram> Binder::bind() {
  WEFT_RETURN_IF_ERROR(bindInputs());
  for (current = 0; current < entry.instructions()->size(); ++current) {
    program.order.close(current);
    const plan::Instruction &instruction = *entry.instructions()->Get(current);
    Status status = visitOperation(
        instruction, [&](const auto &operation) { return bind(operation); });
    if (!status.ok())
      return status.withContext(stepName(current, instruction));
  }
  program.order.close(current);
  return std::move(program);
}

Result<CudaProgram> bindCudaProgram(uint32_t entry, const CudaBinding &binding,
                                    uint32_t microbatch) {
  const auto binder = std::make_shared<Binder>(entry, binding, microbatch);
  Result<CudaProgram> bound = binder->bind();
  // What was bound before a trial from which the device has not come back.
  if (!bound.ok())
    binding.context.leave(binder);
  return bound;
}

} // namespace weft::runtime
