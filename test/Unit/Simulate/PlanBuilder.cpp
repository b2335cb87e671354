//===- PlanBuilder.cpp - Plans for tests of the simulator -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

#include <algorithm>
#include <tuple>

using namespace weft;
using namespace weft::simulate;
using timeline::Action;
using timeline::ActionKind;

PlanBuilder::PlanBuilder(const std::vector<cost::MeshAxis> &mesh) {
  table.producer = "test";
  table.target = std::make_unique<plan::TargetT>();
  table.target->kind = "none";
  table.kernels.push_back(std::make_unique<plan::KernelT>());
  table.kernels.back()->symbol = "kernel_0";
  for (uint32_t i = 0; i < mesh.size(); ++i) {
    table.mesh.push_back(std::make_unique<plan::MeshAxisT>());
    table.mesh.back()->name = mesh[i].name;
    table.mesh.back()->size = mesh[i].size;
    table.groups.push_back(std::make_unique<plan::AxisListT>());
    table.groups.back()->axes.emplace_back(i, 1, mesh[i].size);
  }
}

plan::EntryT &PlanBuilder::entry(const std::string &name) {
  table.entries.push_back(std::make_unique<plan::EntryT>());
  table.entries.back()->name = name;
  return *table.entries.back();
}

plan::InstructionT &PlanBuilder::add(plan::EntryT &entry) {
  entry.instructions.push_back(std::make_unique<plan::InstructionT>());
  return *entry.instructions.back();
}

uint32_t PlanBuilder::buffer(plan::EntryT &entry, int64_t bytes) {
  entry.buffers.push_back(std::make_unique<plan::BufferT>());
  plan::BufferT &buffer = *entry.buffers.back();
  buffer.kind = plan::BufferKind::Temporary;
  buffer.dtype = plan::DType::BF16;
  buffer.shape = {bytes / 2};
  buffer.bytes = bytes;
  return entry.buffers.size() - 1;
}

uint32_t PlanBuilder::gemm(plan::EntryT &entry, int64_t size) {
  plan::GemmT gemm;
  gemm.lhs = gemm.rhs = gemm.out = buffer(entry, 2 * size * size);
  gemm.batch = 1;
  gemm.m = gemm.n = gemm.k = size;
  gemm.lhs_k_stride = gemm.rhs_n_stride = 1;
  plan::InstructionT &instruction = add(entry);
  instruction.flops = 2 * size * size * size;
  instruction.bytes = 6 * size * size;
  instruction.operation.Set(gemm);
  return entry.instructions.size() - 1;
}

uint32_t PlanBuilder::kernel(plan::EntryT &entry, int64_t bytes) {
  plan::CopyT copy;
  copy.source = buffer(entry, bytes);
  copy.destination = buffer(entry, bytes);
  plan::InstructionT &instruction = add(entry);
  instruction.bytes = 2 * bytes;
  instruction.operation.Set(copy);
  return entry.instructions.size() - 1;
}

uint32_t PlanBuilder::start(plan::EntryT &entry, plan::CollectiveKind kind,
                            uint32_t axis, int64_t bytes) {
  plan::CollectiveStartT start;
  for (const auto &instruction : entry.instructions)
    start.id += instruction->operation.AsCollectiveStart() != nullptr;
  start.kind = kind;
  start.group = axis;
  start.source = buffer(entry, bytes);
  start.destination = start.source;
  const uint32_t id = start.id;
  plan::InstructionT &instruction = add(entry);
  instruction.stream = 1;
  instruction.operation.Set(start);
  return id;
}

void PlanBuilder::wait(plan::EntryT &entry, uint32_t id) {
  plan::CollectiveWaitT wait;
  wait.id = id;
  add(entry).operation.Set(wait);
}

void PlanBuilder::repeat(plan::EntryT &entry, uint32_t count,
                         uint32_t instructions) {
  plan::RepeatT repeat;
  repeat.count = count;
  repeat.instructions = instructions;
  add(entry).operation.Set(repeat);
}

uint32_t PlanBuilder::state(uint32_t role, const std::string &name,
                            uint32_t slots, uint64_t bytes) {
  for (uint32_t i = 0; i < table.states.size(); ++i)
    if (table.states[i]->name == name && table.states[i]->role == role)
      return i;
  table.states.push_back(std::make_unique<plan::StateT>());
  plan::StateT &state = *table.states.back();
  state.name = name;
  state.role = role;
  state.slots = slots;
  state.bytes = state.slot_bytes = bytes;
  state.type = std::make_unique<plan::TensorTypeT>();
  return table.states.size() - 1;
}

static void addBinding(std::vector<std::unique_ptr<plan::BindingT>> &bindings,
                       const std::string &name) {
  bindings.push_back(std::make_unique<plan::BindingT>());
  bindings.back()->name = name;
}

/// "activation of 2" is written by stage 2, "gradient of 2" read by it.
static std::string valueOf(int32_t stage, bool isBackward) {
  return (isBackward ? "gradient of " : "activation of ") +
         std::to_string(stage);
}

PlanBuilder::Segments PlanBuilder::pipeline(const timeline::Table &rows,
                                            int32_t microbatches,
                                            uint64_t messageBytes) {
  table.pipeline = std::make_unique<plan::PipelineT>();
  auto timeline = std::make_unique<plan::TimelineT>();
  timeline->microbatches = microbatches;
  std::map<std::pair<int32_t, ActionKind>, uint32_t> numbers;
  Segments segments;
  int32_t stages = 0;
  std::map<int32_t, uint32_t> roleOf;
  for (int32_t role = 0; role < rows.ranks(); ++role)
    for (const Action &action : rows.rows[role])
      if (timeline::isCompute(action.kind)) {
        roleOf[action.stage] = role;
        stages = std::max(stages, action.stage + 1);
      }
  const auto segmentOf = [&](const Action &action) {
    const auto [it, isNew] =
        numbers.try_emplace({action.stage, action.kind}, table.entries.size());
    if (!isNew)
      return it->second;
    plan::EntryT &made = entry("step." + std::to_string(action.stage) +
                               std::string(timeline::nameOf(action.kind)));
    made.role = roleOf[action.stage];
    const auto sumOf = [](int32_t stage) {
      return "sum of " + std::to_string(stage);
    };
    if (action.kind == ActionKind::ReduceGradient) {
      state(*made.role, sumOf(action.stage), 1, 64);
      addBinding(made.inputs, sumOf(action.stage));
      addBinding(made.outputs, sumOf(action.stage));
    } else if (action.kind == ActionKind::Update) {
      for (const auto &[stage, role] : roleOf)
        if (role == *made.role)
          addBinding(made.inputs, sumOf(stage));
    }
    segments[{action.stage, action.kind}] = &made;
    if (action.kind == ActionKind::Forward) {
      if (action.stage > 0)
        addBinding(made.inputs, valueOf(action.stage - 1, false));
      addBinding(made.outputs, valueOf(action.stage, false));
    } else if (timeline::isCompute(action.kind) &&
               action.kind != ActionKind::WeightGradient) {
      if (action.stage + 1 < stages)
        addBinding(made.inputs, valueOf(action.stage, true));
      if (action.stage > 0)
        addBinding(made.outputs, valueOf(action.stage - 1, true));
    }
    return it->second;
  };
  std::map<std::tuple<int32_t, int32_t, bool>, uint32_t> messages;
  const auto messageOf = [&](const Action &action) {
    const bool isSend = timeline::isSend(action.kind);
    const bool isBackward = action.kind == ActionKind::SendBackward ||
                            action.kind == ActionKind::ReceiveBackward;
    const int32_t peer = timeline::peerOf(action);
    const int32_t source = isSend ? action.stage : peer,
                  destination = isSend ? peer : action.stage;
    const auto [it, isNew] = messages.try_emplace(
        {source, destination, isBackward}, timeline->messages.size());
    if (!isNew)
      return it->second;
    auto message = std::make_unique<plan::MessageT>();
    message->label = "message";
    message->kind =
        isBackward ? plan::MessageKind::Backward : plan::MessageKind::Forward;
    message->source_role = roleOf[source];
    message->destination_role = roleOf[destination];
    message->source_stage = source;
    message->destination_stage = destination;
    message->queue = it->second;
    const std::string value =
        valueOf(isBackward ? destination : source, isBackward);
    message->source_states = {
        state(message->source_role, value, microbatches, messageBytes)};
    message->destination_states = {
        state(message->destination_role, value, microbatches, messageBytes)};
    timeline->messages.push_back(std::move(message));
    return it->second;
  };
  for (const timeline::Row &row : rows.rows) {
    table.pipeline->roles.push_back(std::make_unique<plan::RoleT>());
    timeline->rows.push_back(std::make_unique<plan::TimelineRowT>());
    for (const Action &action : row)
      if (!timeline::isTransfer(action.kind))
        timeline->rows.back()->actions.emplace_back(
            plan::ActionKind::Run, segmentOf(action),
            timeline::isOfMicrobatch(action.kind) ? action.microbatch : 0);
      else
        timeline->rows.back()->actions.emplace_back(
            timeline::isSend(action.kind) ? plan::ActionKind::Send
                                          : plan::ActionKind::Receive,
            messageOf(action), action.microbatch);
  }
  entry("step").timeline = std::move(timeline);
  return segments;
}

const plan::Plan &PlanBuilder::build() {
  bytes.Clear();
  bytes.Finish(plan::Plan::Pack(bytes, &table));
  return *flatbuffers::GetRoot<plan::Plan>(bytes.GetBufferPointer());
}

const plan::Entry &PlanBuilder::built(const std::string &name) {
  const plan::Plan &plan = build();
  for (const plan::Entry *entry : *plan.entries())
    if (entry->name()->str() == name)
      return *entry;
  std::abort();
}
