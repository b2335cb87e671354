//===- RecordedJson.cpp - What a predicted step does when -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/MemoryOverTime.h"
#include "weft/Simulate/StepReport.h"
#include "weft/runtime/PlanNames.h"
#include "weft/runtime/VisitOperation.h"

#include <nlohmann/json.hpp>

using nlohmann::ordered_json;

namespace weft::simulate {
namespace {

class Writer {
public:
  Writer(const StepRequest &request, const Prediction &prediction)
      : request(request), prediction(prediction) {}

  ordered_json run();

private:
  void addSegment(uint32_t number, const Recording &recording);
  ordered_json toJson(const plan::Instruction &instruction) const;
  size_t numberOf(const plan::Instruction &instruction);
  ordered_json toJson(size_t role) const;
  ordered_json slots(size_t role) const;
  ordered_json messages(const plan::Timeline &timeline) const;

  const StepRequest &request;
  const Prediction &prediction;
  /// Instructions that read alike are one.
  std::map<std::string, size_t> numbers;
  ordered_json instructions = ordered_json::array();
  ordered_json segments = ordered_json::array();
  /// By the number of the recording.
  std::map<uint32_t, size_t> segmentNumbers;
};

} // namespace

/// Rounded, so that what follows each other still does.
static int64_t nanoseconds(Picoseconds time) { return (time + 500) / 1000; }

static std::string text(const flatbuffers::String *string) {
  return string ? string->str() : "";
}

static const char *kindOf(const plan::Instruction &instruction) {
  return runtime::visitOperation(
      instruction, [](const plan::Gemm &) { return "gemm"; },
      [](const plan::Convolution &) { return "convolution"; },
      [](const runtime::AttentionOperation auto &) { return "attention"; },
      [](const plan::CollectiveStart &) { return "collective"; },
      [](const runtime::OneOf<plan::Launch, plan::Copy, plan::CollectiveWait,
                              plan::Repeat, plan::Sort> auto &) {
        return "other";
      });
}

ordered_json Writer::toJson(const plan::Instruction &instruction) const {
  ordered_json json = {{"name", runtime::operationName(instruction)},
                       {"kind", kindOf(instruction)},
                       {"location", text(instruction.location())},
                       {"cause", text(instruction.cause())},
                       {"bytes", instruction.bytes()},
                       {"flops", instruction.flops()}};
  runtime::visitOperation(
      instruction,
      [&](const plan::Launch &launch) {
        const plan::Kernel &kernel =
            *request.plan.kernels()->Get(launch.kernel());
        if (kernel.summary())
          json["name"] = kernel.summary()->str();
      },
      [&](const plan::CollectiveStart &start) {
        json["bytes"] = start.wire_bytes();
        json["axes"] = prediction.axes[prediction.axesOfGroup[start.group()]];
      },
      [](const runtime::AttentionOperation auto &) {},
      [](const runtime::OneOf<plan::Gemm, plan::Copy, plan::CollectiveWait,
                              plan::Repeat, plan::Sort, plan::Convolution> auto
             &) {});
  if (instruction.recomputes())
    json["recomputes"] = true;
  return json;
}

size_t Writer::numberOf(const plan::Instruction &instruction) {
  ordered_json json = toJson(instruction);
  const auto [number, isNew] = numbers.try_emplace(
      json.dump(-1, ' ', false, ordered_json::error_handler_t::replace),
      instructions.size());
  if (isNew)
    instructions.push_back(std::move(json));
  return number->second;
}

void Writer::addSegment(uint32_t number, const Recording &recording) {
  const plan::Entry &entry = *request.plan.entries()->Get(recording.entry);
  segmentNumbers[number] = segments.size();
  auto events = ordered_json::array(), memory = ordered_json::array();
  std::map<uint32_t, size_t> known;
  for (const StreamEvent &event : recording.events) {
    const auto [at, isNew] = known.try_emplace(event.instruction);
    if (isNew)
      at->second = numberOf(*entry.instructions()->Get(event.instruction));
    events.push_back({event.stream, at->second, nanoseconds(event.begin),
                      nanoseconds(event.end), event.isExposed ? 1 : 0});
  }
  const std::vector<PurposeBytes> bytes = memoryOverTime(entry);
  PurposeBytes last = {};
  for (const Recording::Start &start : recording.starts) {
    if (!memory.empty() && bytes[start.instruction] == last)
      continue;
    last = bytes[start.instruction];
    auto point = ordered_json::array({nanoseconds(start.time)});
    for (uint64_t purpose : last)
      point.push_back(purpose);
    memory.push_back(std::move(point));
  }
  segments.push_back({{"name", text(entry.name())},
                      {"events", std::move(events)},
                      {"memory", std::move(memory)}});
}

ordered_json Writer::toJson(size_t role) const {
  auto runs = ordered_json::array(), waits = ordered_json::array(),
       fixed = ordered_json::array();
  PurposeBytes slotBytes = {};
  for (const plan::State *state : *request.plan.states())
    if (request.entry.timeline() && state->role() == role &&
        state->slots() > 1 && !state->counts())
      slotBytes[indexOf(state->purpose())] += state->slots() * state->bytes();
  for (const RunTime &run : prediction.roles[role].runs)
    runs.push_back({segmentNumbers.at(run.recording), run.microbatch,
                    nanoseconds(run.begin), nanoseconds(run.end)});
  for (const WaitTime &wait : prediction.roles[role].waits)
    waits.push_back({wait.message, wait.microbatch, nanoseconds(wait.begin),
                     nanoseconds(wait.from), nanoseconds(wait.end)});
  for (size_t i = 0; i < numPurposes; ++i)
    fixed.push_back(request.facts.memory[role].purposes[i].fixedBytes -
                    slotBytes[i]);
  return {{"runs", std::move(runs)},
          {"waits", std::move(waits)},
          {"fixed_bytes", std::move(fixed)},
          {"slot_bytes", slotBytes},
          {"slots", slots(role)},
          {"arena_bytes", request.facts.memory[role].arenaBytes}};
}

/// Bytes that micro-batches in flight have in slots, whenever they change. A
/// send is over when its transfer is.
ordered_json Writer::slots(size_t role) const {
  auto points = ordered_json::array();
  if (!request.entry.timeline())
    return points;
  std::map<std::pair<uint32_t, uint32_t>, Picoseconds> sent;
  for (const TransferTime &transfer : prediction.transfers)
    sent[{transfer.message, transfer.microbatch}] = transfer.end;
  const auto &row = *request.entry.timeline()->rows()->Get(role)->actions();
  std::vector<Picoseconds> begins, ends;
  size_t runs = 0;
  Picoseconds now = 0;
  for (const plan::Action *action : row) {
    begins.push_back(now);
    if (action->kind() == plan::ActionKind::Run) {
      begins.back() = prediction.roles[role].runs[runs].begin;
      now = prediction.roles[role].runs[runs++].end;
    }
    ends.push_back(action->kind() == plan::ActionKind::Send
                       ? sent[{action->index(), action->microbatch()}]
                       : now);
  }
  std::map<Picoseconds, PurposeBytes> changes;
  for (const SlotUse &use :
       slotUsesOf(request.plan, request.entry, static_cast<uint32_t>(role))) {
    const size_t purpose = indexOf(use.state->purpose());
    changes[begins[use.first]][purpose] += use.state->bytes();
    changes[ends[use.last]][purpose] -= use.state->bytes();
  }
  PurposeBytes bytes = {};
  for (const auto &[time, change] : changes) {
    auto point = ordered_json::array({nanoseconds(time)});
    for (size_t i = 0; i < numPurposes; ++i)
      point.push_back(bytes[i] += change[i]);
    points.push_back(std::move(point));
  }
  return points;
}

ordered_json Writer::messages(const plan::Timeline &timeline) const {
  auto messages = ordered_json::array();
  for (const plan::Message *message : *timeline.messages()) {
    uint64_t bytes = 0;
    for (uint32_t state : *message->source_states())
      bytes += request.plan.states()->Get(state)->bytes();
    messages.push_back({{"label", text(message->label())},
                        {"location", text(message->location())},
                        {"source", message->source_role()},
                        {"destination", message->destination_role()},
                        {"queue", message->queue()},
                        {"bytes", bytes}});
  }
  return messages;
}

ordered_json Writer::run() {
  for (const auto &[number, recording] : prediction.recordings)
    addSegment(number, recording);
  auto roles = ordered_json::array(), purposes = ordered_json::array(),
       transfers = ordered_json::array();
  bool isWhole = true;
  for (size_t role = 0; role < prediction.roles.size(); ++role) {
    roles.push_back(toJson(role));
    for (const RunTime &run : prediction.roles[role].runs)
      isWhole &= prediction.recordings.at(run.recording).hasAllEvents;
  }
  for (const PurposeRecord &purpose : request.facts.memory[0].purposes)
    purposes.push_back(purpose.purpose);
  for (const TransferTime &transfer : prediction.transfers)
    transfers.push_back({transfer.message, transfer.microbatch,
                         nanoseconds(transfer.begin),
                         nanoseconds(transfer.end)});
  ordered_json json = {{"step", nanoseconds(prediction.step)},
                       {"is_whole", isWhole},
                       {"instructions", std::move(instructions)},
                       {"segments", std::move(segments)},
                       {"roles", std::move(roles)},
                       {"purposes", std::move(purposes)}};
  if (request.entry.timeline()) {
    json["messages"] = messages(*request.entry.timeline());
    json["transfers"] = std::move(transfers);
  }
  return json;
}

ordered_json recordedToJson(const StepRequest &request,
                            const Prediction &prediction) {
  return Writer(request, prediction).run();
}

} // namespace weft::simulate
