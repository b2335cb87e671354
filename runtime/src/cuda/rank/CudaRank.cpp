//===- CudaRank.cpp - A rank in the memory of a GPU -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/CudaRank.h"

#include "comm/Call.h"
#include "comm/EventCount.h"
#include "cuda/platform/DeviceFailure.h"
#include "cuda/platform/Nvtx.h"
#include "cuda/platform/StreamPoll.h"
#include "cuda/rank/MemoryNeeds.h"
#include "executor/Stopwatch.h"
#include "plan/Text.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>

namespace weft::runtime {

CudaRank::~CudaRank() {
  (void)cudart.setDevice(setup.device.number);
  // Memory and events must outlive what is on the streams.
  if (!hasFinished)
    (void)waitUntilIdle(setup.request.options.deadline);
}

void CudaRank::finish() {
  // First: a communicator of NCCL ends when no graph holds its collectives.
  // One that the device still executes goes when it has.
  for (EntryRuns &each : runs)
    each.graph = {};
  setup.world.detach(number());
  constexpr std::chrono::nanoseconds patience = std::chrono::seconds(10);
  isHung = !waitUntilIdle(std::min(patience, setup.request.options.deadline));
  hasFinished = true;
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

bool CudaRank::waitUntilIdle(std::chrono::nanoseconds timeout) const {
  WaitBudget budget(timeout);
  std::vector<cudaStream_t> streams;
  if (compute)
    streams.push_back(compute.get());
  for (const StreamOwner &queue : communication)
    streams.push_back(queue.get());
  for (cudaStream_t stream : streams) {
    StreamPoll poll(cudart, stream);
    while (poll.ask() == cudaErrorNotReady) {
      if (budget.isSpent())
        return false;
      poll.pause();
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Load
//===----------------------------------------------------------------------===//

Status CudaRank::createStreams() {
  WEFT_RETURN_IF_ERROR(
      check(cudart.setDevice(setup.device.number), "cudaSetDevice"));
  WEFT_ASSIGN_OR_RETURN(compute, createStream(cudart, 0));
  for (size_t queue = 0; queue < setup.world.queues().count(); ++queue) {
    // Before the computation that runs beside it, which is longer.
    WEFT_ASSIGN_OR_RETURN(StreamOwner stream, createStream(cudart, -1));
    communication.push_back(std::move(stream));
  }
  context.emplace(CudaContext{
      .cudart = cudart,
      .cublasLt = setup.cublasLt,
      .cudnn = setup.cudnn,
      .device = setup.device.number,
      .processor = setup.device.processor,
      .deviceName = setup.device.name,
      .compute = compute.get(),
      .whyNoCudnn = setup.whyNoCudnn,
      .note = setup.request.note,
      .algorithms = setup.algorithms,
      .isDeterministic = setup.request.options.deterministic,
      .processorsBesideCollectives = setup.processorsBesideCollectives,
      .rank = number(),
      .patience = times(4, setup.request.options.deadline),
      .whyToStop = [this] { return setup.world.status(); }});
  return {};
}

Status CudaRank::bindEntries() {
  const plan::Plan &plan = setup.request.plan.contents();
  const CudaBinding binding{plan,
                            setup.request.mesh,
                            setup.world,
                            setup.kernels,
                            *context,
                            number(),
                            setup.roles,
                            setup.queues,
                            address(0),
                            kernelWorkspace.get(),
                            setup.request.options.deadline};
  for (uint32_t i = 0; i < plan.entries()->size(); ++i) {
    const plan::Entry &entry = *plan.entries()->Get(i);
    runs.emplace_back();
    if (entry.role())
      continue; // timelines have segments of their own
    Result<CudaProgram> program = entry.timeline()
                                      ? bindCudaTimeline(i, binding)
                                      : bindCudaProgram(i, binding);
    if (!program.ok())
      return program.status().withContext(
          fmt::format("entry \"{}\"", escaped(view(entry.name()))));
    runs.back().program = *std::move(program);
  }
  return setup.algorithms ? setup.algorithms->end() : Status();
}

Status CudaRank::bindWorkspaces() {
  size_t ofOperations = 0;
  for (const EntryRuns &each : runs)
    ofOperations = std::max(ofOperations, each.program.workspaceBytes());
  std::vector<size_t> ofCollectives(communication.size(), 0);
  for (const EntryRuns &each : runs)
    for (size_t queue = 0; queue < ofCollectives.size(); ++queue)
      ofCollectives[queue] =
          std::max(ofCollectives[queue], each.program.stagingBytes(queue));
  WEFT_RETURN_IF_ERROR(allocateWorkspaces(ofOperations, ofCollectives));
  for (EntryRuns &each : runs)
    each.program.bindWorkspaces(workspace.get(), staging);
  return {};
}

/// Compares them with what is free before it takes them. Ranks of one device do
/// so one after the other.
Status CudaRank::allocateWorkspaces(size_t ofOperations,
                                    const std::vector<size_t> &ofCollectives) {
  const std::lock_guard lock(setup.taking);
  size_t free = 0, total = 0;
  WEFT_RETURN_IF_ERROR(
      check(cudart.memGetInfo(&free, &total), "cudaMemGetInfo"));
  // The arena and the workspace of kernels are not free any more.
  const uint64_t kernelBytes =
      kernelWorkspaceBytes(setup.request.plan.contents());
  WEFT_RETURN_IF_ERROR(
      checkMemory(setup.device,
                  {{"arena", arenaBytes()},
                   {"workspace of kernels", kernelBytes},
                   {"workspace of GEMMs and attention", ofOperations},
                   {"staging of collectives",
                    std::accumulate(ofCollectives.begin(), ofCollectives.end(),
                                    size_t(0))}},
                  1, free + arenaBytes() + kernelBytes)
          .withContext(fmt::format("rank {}", number())));
  WEFT_ASSIGN_OR_RETURN(
      workspace, allocateDevice(cudart, ofOperations, "workspace of GEMMs"));
  for (size_t bytes : ofCollectives) {
    WEFT_ASSIGN_OR_RETURN(
        DeviceMemory memory,
        allocateDevice(cudart, bytes, "staging of collectives"));
    staging.push_back(std::move(memory));
  }
  return {};
}

/// Makes the libraries load what they load on first use (rule C1). The arena
/// holds zeros only, and it does not matter what they write.
Status CudaRank::exerciseOperations() {
  for (const EntryRuns &each : runs)
    WEFT_RETURN_IF_ERROR(each.program.enqueueOperations(compute.get()));
  return context->synchronize("the trial of GEMMs and attention");
}

Status CudaRank::clear(void *memory, size_t bytes) {
  if (bytes == 0)
    return {};
  WEFT_RETURN_IF_ERROR(check(
      cudart.memsetAsync(memory, 0, bytes, compute.get()), "cudaMemsetAsync"));
  return context->synchronize("the first write to its memory");
}

Status CudaRank::fillConstants() {
  const plan::Plan &plan = setup.request.plan.contents();
  for (const plan::Entry *entry : *plan.entries())
    for (const plan::Buffer *buffer : *entry->buffers())
      if (isOf(entry->role(), role) &&
          buffer->kind() == plan::BufferKind::Constant && buffer->bytes() != 0)
        WEFT_RETURN_IF_ERROR(
            check(cudart.memcpyAsync(
                      address(buffer->offset()),
                      plan.constant_data()->data() + buffer->data_offset(),
                      buffer->bytes(), cudaMemcpyHostToDevice, compute.get()),
                  "cudaMemcpyAsync"));
  return context->synchronize("the copy of constants");
}

Status CudaRank::fillCounts() {
  for (const plan::State *state : *setup.request.plan.contents().states()) {
    if (!state->counts() || !isOf(state->role(), role))
      continue;
    for (uint32_t slot = 0; slot < state->slots(); ++slot) {
      const auto count = static_cast<int32_t>(slot);
      WEFT_RETURN_IF_ERROR(
          write(offsetOf(*state, slot), sizeof count,
                [&](std::byte *to) { std::memcpy(to, &count, sizeof count); }));
    }
  }
  return {};
}

Status CudaRank::fillArena() {
  WEFT_RETURN_IF_ERROR(clear(arena.get(), arenaBytes()));
  WEFT_RETURN_IF_ERROR(fillConstants());
  return fillCounts();
}

Status CudaRank::initialize() {
  const plan::Plan &plan = setup.request.plan.contents();
  WEFT_RETURN_IF_ERROR(createStreams());
  WEFT_ASSIGN_OR_RETURN(arena, setup.world.allocateArena(cudart, arenaBytes()));
  WEFT_RETURN_IF_ERROR(setup.world.attach(number(), arena.get(), arenaBytes()));
  const size_t kernelBytes = kernelWorkspaceBytes(plan);
  WEFT_ASSIGN_OR_RETURN(
      kernelWorkspace,
      allocateDevice(cudart, kernelBytes, "workspace of kernels"));
  WEFT_RETURN_IF_ERROR(clear(kernelWorkspace.get(), kernelBytes));
  // Ranks of one device try their GEMMs in their arenas and in what all of
  // these leave, and take what the GEMMs want when no trial holds memory any
  // more.
  WEFT_RETURN_IF_ERROR(setup.world.localBarrier(number()));
  context->spare = {static_cast<std::byte *>(arena.get()), arenaBytes()};
  WEFT_RETURN_IF_ERROR(bindEntries());
  context->spare = {};
  WEFT_RETURN_IF_ERROR(setup.world.localBarrier(number()));
  WEFT_RETURN_IF_ERROR(clear(arena.get(), arenaBytes()));
  WEFT_RETURN_IF_ERROR(bindWorkspaces());
  WEFT_RETURN_IF_ERROR(exerciseOperations());
  WEFT_RETURN_IF_ERROR(fillArena());
  size_t steps = 0;
  for (const EntryRuns &each : runs)
    steps = std::max(steps, each.program.order.steps().size());
  WEFT_RETURN_IF_ERROR(
      marks.prepare(*context, static_cast<uint32_t>(steps / markInterval + 1)));
  if (setup.request.options.traceRuns != 0) {
    WEFT_ASSIGN_OR_RETURN(timer, StepTimer::create(cudart, steps));
  }
  const NvtxRange range("weft: loaded"); // the profiler's library loads now
  return {};
}

Status CudaRank::write(uint64_t offset, size_t bytes, const Fill &fill) {
  std::vector<std::byte> part(bytes);
  fill(part.data());
  if (bytes == 0)
    return {};
  WEFT_RETURN_IF_ERROR(
      check(cudart.setDevice(setup.device.number), "cudaSetDevice"));
  WEFT_RETURN_IF_ERROR(
      check(cudart.memcpyAsync(address(offset), part.data(), bytes,
                               cudaMemcpyHostToDevice, compute.get()),
            "cudaMemcpyAsync"));
  return context->synchronize("a copy from the host");
}

Result<const std::byte *> CudaRank::read(uint64_t offset, size_t bytes,
                                         std::vector<std::byte> &copy) const {
  copy.resize(bytes);
  if (bytes == 0)
    return copy.data();
  WEFT_RETURN_IF_ERROR(
      check(cudart.setDevice(setup.device.number), "cudaSetDevice"));
  WEFT_RETURN_IF_ERROR(
      check(cudart.memcpyAsync(copy.data(), address(offset), bytes,
                               cudaMemcpyDeviceToHost, compute.get()),
            "cudaMemcpyAsync"));
  WEFT_RETURN_IF_ERROR(context->synchronize("a copy to the host"));
  return copy.data();
}

/// In pieces that take little memory of the device, which is given back: no run
/// needs it.
Result<std::vector<std::byte>>
CudaRank::gather(std::span<const std::byte> mine) {
  constexpr size_t together = size_t(16) << 20;
  const auto ranks = static_cast<size_t>(setup.world.size());
  const size_t piece = std::clamp<size_t>(together / ranks, 1, mine.size());
  WEFT_ASSIGN_OR_RETURN(
      DeviceMemory memory,
      allocateDevice(cudart, piece * (ranks + 1), "values for the host"));
  auto *const own = static_cast<std::byte *>(memory.get());
  std::byte *const theirs = own + piece;
  std::vector<std::byte> all(ranks * mine.size());
  const auto gatherPiece = [&](size_t begin, size_t bytes) -> Status {
    WEFT_RETURN_IF_ERROR(
        check(cudart.memcpyAsync(own, mine.data() + begin, bytes,
                                 cudaMemcpyHostToDevice, compute.get()),
              "cudaMemcpyAsync"));
    WEFT_RETURN_IF_ERROR(setup.world.gather(own, theirs, bytes, compute.get()));
    for (size_t r = 0; r < ranks; ++r)
      WEFT_RETURN_IF_ERROR(
          check(cudart.memcpyAsync(all.data() + r * mine.size() + begin,
                                   theirs + r * bytes, bytes,
                                   cudaMemcpyDeviceToHost, compute.get()),
                "cudaMemcpyAsync"));
    return context->synchronize("gathering values for the host");
  };
  Status status;
  for (size_t begin = 0; begin < mine.size() && status.ok(); begin += piece)
    status = gatherPiece(begin, std::min(piece, mine.size() - begin));
  if (status.ok())
    return all;
  context->leave(std::make_shared<DeviceMemory>(std::move(memory)));
  return status;
}

Status CudaRank::enqueueInputs(const CudaProgram &program) {
  for (const PinnedInput &input : program.inputs)
    if (input.bytes != 0)
      WEFT_RETURN_IF_ERROR(
          check(cudart.memcpyAsync(input.destination, input.staging.get(),
                                   input.bytes, cudaMemcpyHostToDevice,
                                   compute.get()),
                "cudaMemcpyAsync"));
  return {};
}

/// The stream that a step runs on. That of a collective first waits for what
/// the computation has done before it.
Result<cudaStream_t> CudaRank::streamFor(const CudaStep &step) {
  const auto *start = std::get_if<DeviceStartStep>(&step.operation);
  if (!start)
    return compute.get();
  const cudaEvent_t started = start->bound->started.get();
  const cudaStream_t stream =
      communication[start->bound->collective.queue].get();
  WEFT_RETURN_IF_ERROR(
      check(cudart.eventRecord(started, compute.get()), "cudaEventRecord"));
  WEFT_RETURN_IF_ERROR(
      check(cudart.streamWaitEvent(stream, started, 0), "cudaStreamWaitEvent"));
  return stream;
}

Status CudaRank::enqueue(const CudaStep &step, cudaStream_t stream) {
  const auto enqueueStart = [&](const DeviceStartStep &start) -> Status {
    const BoundDeviceCollective &bound = *start.bound;
    WEFT_RETURN_IF_ERROR(bound.communicator->enqueue(bound.collective, stream));
    return check(cudart.eventRecord(bound.done.get(), stream),
                 "cudaEventRecord");
  };
  return std::visit(
      Overloaded{
          [&](const OperationStep &step) {
            return step.operation->enqueue(compute.get());
          },
          [&](const GridStep &grid) {
            GridLaunch &launch = *grid.launch;
            return check(cudart.launchKernel(
                             reinterpret_cast<const void *>(launch.kernel),
                             dim3(launch.blocks, launch.batch),
                             dim3(launch.threads), launch.parameters.data(),
                             launch.sharedBytes, compute.get()),
                         "cudaLaunchKernel");
          },
          enqueueStart,
          [&](const DeviceWaitStep &wait) {
            return check(cudart.streamWaitEvent(compute.get(),
                                                wait.bound->done.get(), 0),
                         "cudaStreamWaitEvent");
          },
          [&](const DeviceCopyStep &copy) {
            return check(
                cudart.memcpyAsync(copy.destination, copy.source, copy.bytes,
                                   cudaMemcpyDeviceToDevice, compute.get()),
                "cudaMemcpyAsync");
          },
          [&](const DeviceTransferStep &start) -> Status {
            WEFT_RETURN_IF_ERROR(
                check(cudart.eventRecord(start.transfer->started.get(),
                                         compute.get()),
                      "cudaEventRecord"));
            return start.channel->start(*start.transfer);
          },
          [&](const DeviceTransferWaitStep &wait) -> Status {
            WEFT_RETURN_IF_ERROR(wait.channel->wait(*wait.transfer));
            return check(cudart.streamWaitEvent(compute.get(),
                                                wait.transfer->done.get(), 0),
                         "cudaStreamWaitEvent");
          }},
      step.operation);
}

/// What a traced step is, without its times.
TraceEvent CudaRank::eventOf(const CudaProgram &program, const CudaStep &step,
                             size_t at) const {
  TraceEvent event{.entry = step.entry,
                   .instruction = step.instruction,
                   .begin = {},
                   .end = {}};
  if (!program.row)
    return event;
  const auto *wait = std::get_if<DeviceTransferWaitStep>(&step.operation);
  event.action = {role,
                  wait ? wait->transfer->microbatch
                       : program.row->actions()
                             ->Get(program.actionAt(static_cast<uint32_t>(at)))
                             ->microbatch(),
                  false};
  return event;
}

/// The track of its stream.
static TraceTrack RankTrace::*trackOf(const CudaStep &step) {
  const auto *start = std::get_if<DeviceStartStep>(&step.operation);
  if (!start)
    return &RankTrace::compute;
  return start->bound->collective.queue == 0 ? &RankTrace::communication
                                             : &RankTrace::secondQueue;
}

template <bool isTimed> Status CudaRank::walk(const CudaProgram &program) {
  if constexpr (isTimed)
    WEFT_RETURN_IF_ERROR(timer->start(*context));
  WEFT_RETURN_IF_ERROR(enqueueInputs(program));
  const std::vector<uint32_t> &order = program.order.steps();
  for (size_t i = 0; i < order.size(); ++i) {
    const CudaStep &step = program.steps[order[i]];
    position.store(static_cast<uint32_t>(i), std::memory_order_relaxed);
    if (i % markInterval == 0 && i != 0)
      WEFT_RETURN_IF_ERROR(
          marks.write(static_cast<uint32_t>(i / markInterval), compute.get()));
    const NvtxRange range(step.label.c_str());
    WEFT_ASSIGN_OR_RETURN(const cudaStream_t stream, streamFor(step));
    // What starts a transfer takes no time of its own.
    const bool isSlice =
        isTimed && !std::holds_alternative<DeviceTransferStep>(step.operation);
    if (isSlice)
      WEFT_RETURN_IF_ERROR(timer->begin(stream));
    if (Status status = enqueue(step, stream); !status.ok())
      return located(std::move(status), program, step, i);
    if (isSlice)
      WEFT_RETURN_IF_ERROR(
          timer->end(stream, trackOf(step), eventOf(program, step, i)));
  }
  return {};
}

/// In the mode that leaves other threads alone (rule C3). A failed capture is
/// ended all the same: the stream must be usable again.
Status CudaRank::capture(EntryRuns &each) {
  WEFT_RETURN_IF_ERROR(
      check(cudart.streamBeginCapture(compute.get(),
                                      cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture"));
  Status captured = walk<false>(each.program);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudart.streamEndCapture(compute.get(), &graph);
  const GraphOwner owner(cudart, graph);
  WEFT_RETURN_IF_ERROR(captured);
  WEFT_RETURN_IF_ERROR(check(ended, "cudaStreamEndCapture"));
  cudaGraphExec_t executable = nullptr;
  WEFT_RETURN_IF_ERROR(
      check(cudart.graphInstantiate(&executable, graph,
                                    // Communication stays before computation.
                                    cudaGraphInstantiateFlagUseNodePriority),
            "cudaGraphInstantiate"));
  each.graph = GraphExecOwner(cudart, executable);
  return check(cudart.graphUpload(executable, compute.get()),
               "cudaGraphUpload");
}

Status CudaRank::runSteps(uint32_t entry) {
  const Stopwatch stopwatch(enqueued);
  EntryRuns &each = runs[entry];
  constexpr uint64_t runsBeforeCapture = 2;
  if (tracks.compute.recording)
    return walk<true>(each.program);
  const bool isGraph = setup.request.options.cudaGraphs &&
                       setup.world.allowsCapture() &&
                       each.count >= runsBeforeCapture;
  if (!isGraph)
    return walk<false>(each.program);
  if (!each.graph)
    WEFT_RETURN_IF_ERROR(capture(each));
  return check(cudart.graphLaunch(each.graph.get(), compute.get()),
               "cudaGraphLaunch");
}

/// Polls, so that the end of the world ends the wait: who is stuck in a
/// collective would never come out of cudaStreamSynchronize. Where no watchdog
/// looks, the wait itself ends when the device has not come from one mark to
/// the next for longer than it ever took for all.
Status CudaRank::waitForDevice(const EntryRuns &each) {
  const std::chrono::nanoseconds deadline = setup.request.options.deadline;
  const std::chrono::nanoseconds allowed =
      each.count == 0
          ? times(4, deadline)
          : std::max<std::chrono::nanoseconds>(
                deadline, std::chrono::ceil<std::chrono::milliseconds>(
                              10 * each.longest));
  WaitBudget budget(allowed);
  uint32_t seen = marks.last();
  StreamPoll poll(cudart, compute.get());
  while (true) {
    const cudaError_t state = poll.ask();
    if (isDeviceFailure(state))
      return deviceFailure(cudart, state,
                           deviceProgress(each, /*withCauses=*/true));
    if (state != cudaErrorNotReady)
      return check(state, "waiting for the device");
    WEFT_RETURN_IF_ERROR(setup.world.status());
    if (const uint32_t mark = marks.last(); mark != seen) {
      seen = mark;
      budget = WaitBudget(allowed);
    }
    if (!setup.world.isWatched() && budget.isSpent())
      return deadlineExceeded(fmt::format(
          "the device has made no progress for {} {}; if its work takes that "
          "long, "
          "give a longer --deadline; otherwise --no-cuda-graphs with "
          "CUDA_LAUNCH_BLOCKING=1 shows the step, and dmesg may show an Xid",
          describeDuration(allowed),
          deviceProgress(each, /*withCauses=*/true)));
    poll.pause();
  }
}

Status CudaRank::runOnDevice(uint32_t entry) {
  EntryRuns &each = runs[entry];
  const Clock::time_point begin = Clock::now();
  marks.clear();
  hostState.store(HostState::Enqueues);
  Status status = runSteps(entry);
  if (status.ok()) {
    hostState.store(HostState::Waits);
    status = waitForDevice(each);
  } else {
    const cudaError_t state = StreamPoll(cudart, compute.get()).ask();
    if (!isDeviceFailure(state))
      return status;
    // The call only learned of what an earlier step has done.
    status =
        deviceFailure(cudart, state, deviceProgress(each, /*withCauses=*/true));
  }
  if (!status.ok())
    return status.withContext(
        fmt::format("entry \"{}\" on rank {}",
                    escaped(view(each.program.entry->name())), number()));
  hostState.store(HostState::Between);
  ++each.count;
  each.longest =
      std::max<std::chrono::nanoseconds>(each.longest, Clock::now() - begin);
  if (!tracks.compute.recording)
    return {};
  // The end of a collective is recorded after what the computation waited for.
  for (const StreamOwner &queue : communication)
    WEFT_RETURN_IF_ERROR(
        context->synchronize(queue.get(), "the collectives of a traced run"));
  return timer->collect(setup.request.plan.contents(), setup.roofline, tracks);
}

Status CudaRank::run(uint32_t entry) {
  const NvtxRange range(runs[entry].program.entry->name()->c_str());
  const bool isFirst = !std::exchange(hasRun, true);
  if (isFirst)
    WEFT_RETURN_IF_ERROR(setup.world.barrier(number()));
  setup.world.beginRun(number(), entry);
  Status status = runOnDevice(entry);
  setup.world.endRun(number());
  WEFT_RETURN_IF_ERROR(status);
  return isFirst ? setup.world.barrier(number()) : Status();
}

} // namespace weft::runtime
