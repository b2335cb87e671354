//===- StepTrace.cpp - A predicted step for Perfetto ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPrint.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

using namespace weft::simulate;
using nlohmann::ordered_json;

namespace weft::tools {
namespace {

class TraceWriter {
public:
  TraceWriter(const plan::Plan &plan, const Prediction &prediction,
              const MeasuredTrace *measured)
      : plan(plan), prediction(prediction), measured(measured) {}

  std::string run();

private:
  void addRole(size_t role);
  void addMeasured();
  std::string nameOfRole(size_t role) const {
    return fmt::format("{}role {}", measured ? "predicted, " : "", role);
  }
  void addTransfers(const plan::Timeline &timeline);
  void name(size_t role, size_t track, const std::string &name);
  void add(size_t role, size_t track, const std::string &name,
           Picoseconds begin, Picoseconds end, ordered_json args);

  const plan::Plan &plan;
  const Prediction &prediction;
  const MeasuredTrace *measured;
  ordered_json events = ordered_json::array();
};

} // namespace

/// Behind the queues of collectives, those of messages.
static constexpr size_t firstMessageTrack = 10;

void TraceWriter::name(size_t role, size_t track, const std::string &name) {
  events.push_back({{"name", "thread_name"},
                    {"ph", "M"},
                    {"pid", role},
                    {"tid", track},
                    {"args", {{"name", name}}}});
}

void TraceWriter::add(size_t role, size_t track, const std::string &name,
                      Picoseconds begin, Picoseconds end, ordered_json args) {
  constexpr double microsecond = 1e6;
  events.push_back({{"name", name},
                    {"ph", "X"},
                    {"ts", static_cast<double>(begin) / microsecond},
                    {"dur", static_cast<double>(end - begin) / microsecond},
                    {"pid", role},
                    {"tid", track},
                    {"args", std::move(args)}});
}

void TraceWriter::addRole(size_t role) {
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", role},
                    {"args", {{"name", nameOfRole(role)}}}});
  name(role, 0, "compute");
  size_t queues = 0;
  const std::vector<Prediction::Event> events = prediction.events(role);
  for (const auto &[number, microbatch, event] : events)
    for (; queues < event.stream; ++queues)
      name(role, queues + 1, fmt::format("collectives {}", queues));
  for (const auto &[number, microbatch, event] : events) {
    const plan::Entry &entry = *plan.entries()->Get(number);
    const plan::Instruction &instruction =
        *entry.instructions()->Get(event.instruction);
    ordered_json args = {{"entry", entry.name()->str()},
                         {"step", event.instruction},
                         {"microbatch", microbatch}};
    if (instruction.cause() && instruction.cause()->size() > 0)
      args["cause"] = instruction.cause()->str();
    if (instruction.location() && instruction.location()->size() > 0)
      args["location"] = instruction.location()->str();
    const std::string name = nameInTrace(plan, instruction);
    add(role, event.stream, event.isExposed ? "wait for " + name : name,
        event.begin, event.end, std::move(args));
  }
}

void TraceWriter::addTransfers(const plan::Timeline &timeline) {
  std::map<uint32_t, const plan::Message *> queues;
  for (const plan::Message *message : *timeline.messages())
    queues.try_emplace(message->queue(), message);
  for (const auto &[queue, message] : queues) {
    name(message->source_role(), firstMessageTrack + queue,
         fmt::format("send to role {}", message->destination_role()));
    name(message->destination_role(), firstMessageTrack + queue,
         fmt::format("receive from role {}", message->source_role()));
  }
  for (const TransferTime &transfer : prediction.transfers) {
    const plan::Message &message = *timeline.messages()->Get(transfer.message);
    for (uint32_t role : {message.source_role(), message.destination_role()})
      add(role, firstMessageTrack + message.queue(), message.label()->str(),
          transfer.begin, transfer.end,
          {{"message", transfer.message}, {"microbatch", transfer.microbatch}});
  }
}

/// Ranks below the roles, on the same clock.
void TraceWriter::addMeasured() {
  static constexpr const char *tracks[] = {"compute", "communication",
                                           "communication, second queue"};
  std::set<std::pair<size_t, size_t>> named;
  for (ordered_json event : measured->events) {
    const auto rank = event["pid"].get<size_t>(),
               track = event["tid"].get<size_t>();
    const size_t process = prediction.roles.size() + rank;
    event["pid"] = process;
    if (named.insert({process, track}).second) {
      events.push_back(
          {{"name", "process_name"},
           {"ph", "M"},
           {"pid", process},
           {"args", {{"name", fmt::format("measured, rank {}", rank)}}}});
      name(process, track, tracks[std::min(track, std::size(tracks) - 1)]);
    }
    events.push_back(std::move(event));
  }
}

std::string TraceWriter::run() {
  for (size_t role = 0; role < prediction.roles.size(); ++role)
    addRole(role);
  for (const plan::Entry *entry : *plan.entries())
    if (entry->timeline() && entry->name()->str() == prediction.entry)
      addTransfers(*entry->timeline());
  if (measured)
    addMeasured();
  const ordered_json trace = {{"displayTimeUnit", "ms"},
                              {"traceEvents", std::move(events)}};
  // Names of a plan may be bytes that are no UTF-8.
  return trace.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string printTrace(const plan::Plan &plan, const Prediction &prediction,
                       const MeasuredTrace *measured) {
  return TraceWriter(plan, prediction, measured).run();
}

} // namespace weft::tools
