//===- Trace.cpp - When each instruction ran --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/Trace.h"

#include "executor/Bubbles.h"
#include "io/File.h"
#include "plan/Text.h"
#include "weft/runtime/VisitOperation.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace weft::runtime {

using OrderedJson = nlohmann::ordered_json;
using Time = std::chrono::steady_clock::time_point;

/// As it is: JSON has escapes of its own.
static std::string text(const flatbuffers::String *string) {
  return std::string(view(string));
}

static void addInstruction(OrderedJson &args,
                           const plan::Instruction &instruction) {
  if (!view(instruction.cause()).empty())
    args["cause"] = text(instruction.cause());
  if (!view(instruction.location()).empty())
    args["location"] = text(instruction.location());
  if (instruction.flops() != 0)
    args["flops"] = instruction.flops();
  if (instruction.bytes() != 0)
    args["bytes"] = instruction.bytes();
  visitOperation(
      instruction,
      [&](const plan::Launch &launch) {
        if (launch.batch() != 1)
          args["batch"] = launch.batch();
      },
      [&](const plan::CollectiveStart &start) {
        args["wire_bytes"] = start.wire_bytes();
      },
      [](const OneOf<plan::Gemm, plan::CollectiveWait, plan::Copy,
                     plan::Attention, plan::AttentionGrad, plan::Repeat,
                     plan::Sort, plan::Convolution> auto &) {});
}

static OrderedJson eventJson(const plan::Plan &plan, const TraceEvent &event,
                             int rank, int stream, Time origin) {
  const plan::Entry &entry = *plan.entries()->Get(event.entry);
  const auto micros = [](auto duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
  };
  OrderedJson args = {{"entry", text(entry.name())}};
  std::string name;
  if (entry.timeline()) {
    name = text(entry.timeline()->messages()->Get(event.instruction)->label());
    args["message"] = event.instruction;
  } else if (event.action && event.action->isWholeSegment) {
    name = fmt::format("{} {}", text(entry.name()), event.action->microbatch);
  } else {
    const plan::Instruction &instruction =
        *entry.instructions()->Get(event.instruction);
    name = workName(plan, instruction);
    args["step"] = event.instruction;
    addInstruction(args, instruction);
  }
  if (event.action) {
    args["role"] = event.action->role;
    args["microbatch"] = event.action->microbatch;
  }
  if (event.predicted != 0)
    args["predicted_us"] = event.predicted * 1e6;
  return {{"name", name},
          {"ph", "X"},
          {"ts", micros(event.begin - origin)},
          {"dur", micros(event.end - event.begin)},
          {"pid", rank},
          {"tid", stream},
          {"args", std::move(args)}};
}

static OrderedJson metadata(std::string_view key, int rank, int stream,
                            const std::string &name) {
  return {{"name", key},
          {"ph", "M"},
          {"pid", rank},
          {"tid", stream},
          {"args", {{"name", name}}}};
}

static OrderedJson bubbleJson(const Bubble &bubble, int rank, int stream,
                              Time origin) {
  const auto micros = [](auto duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
  };
  return {{"name", "bubble"},
          {"cat", "bubble"},
          {"ph", "X"},
          {"ts", micros(bubble.begin - origin)},
          {"dur", micros(bubble.end - bubble.begin)},
          {"pid", rank},
          {"tid", stream},
          {"args", OrderedJson::object()}};
}

static OrderedJson traceJson(const Plan &whole,
                             const std::vector<const RankTrace *> &ranks) {
  const plan::Plan &plan = whole.contents();
  Time origin = Time::max();
  for (const RankTrace *rank : ranks)
    for (const TraceTrack *track : {&rank->compute, &rank->communication})
      for (const TraceEvent &event : track->events)
        origin = std::min(origin, event.begin);
  OrderedJson events = OrderedJson::array();
  const std::vector<std::vector<Bubble>> bubbles = findBubbles(plan, ranks);
  constexpr int bubbleStream = std::size(RankTrace::all);
  for (size_t r = 0; r < ranks.size(); ++r) {
    const int rank = static_cast<int>(r);
    events.push_back(
        metadata("process_name", rank, 0, fmt::format("rank {}", rank)));
    events.push_back(metadata("thread_name", rank, 0, "compute"));
    events.push_back(metadata("thread_name", rank, 1, "communication"));
    if (!ranks[r]->secondQueue.events.empty())
      events.push_back(
          metadata("thread_name", rank, 2, "communication, second queue"));
    for (int stream = 0; TraceTrack RankTrace::*track : RankTrace::all) {
      for (const TraceEvent &event : (ranks[r]->*track).events)
        events.push_back(eventJson(plan, event, rank, stream, origin));
      ++stream;
    }
    if (!bubbles[r].empty())
      events.push_back(metadata("thread_name", rank, bubbleStream, "bubble"));
    for (const Bubble &bubble : bubbles[r])
      events.push_back(bubbleJson(bubble, rank, bubbleStream, origin));
  }
  // By the hash a reader knows the plan again.
  return {{"displayTimeUnit", "ms"},
          {"otherData", {{"weft.plan", fmt::format("{:016x}", whole.hash())}}},
          {"traceEvents", std::move(events)}};
}

Status writeTraceFile(const std::string &path, const Plan &plan,
                      const std::vector<const RankTrace *> &ranks) {
  // Names of a plan may be bytes that are no UTF-8, for which `dump` would
  // throw.
  const std::string json =
      traceJson(plan, ranks)
          .dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                        OutputFile::create(path));
  WEFT_RETURN_IF_ERROR(file->append(json));
  return file->commit();
}

} // namespace weft::runtime
