//===- MeasuredTrace.cpp - What a run of a plan took ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeasuredTrace.h"

#include "weft/runtime/PlanNames.h"
#include "weft/runtime/VisitOperation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

using namespace weft::simulate;
using nlohmann::ordered_json;

namespace weft::tools {
namespace {

struct Event {
  ordered_json json;
  int64_t rank = 0, track = 0;
  double begin = 0, end = 0;
  /// Null for messages, and for what is around the instructions of a segment.
  const plan::Instruction *instruction = nullptr;
  /// The same in every run.
  std::string key;
};

class Reader {
public:
  Reader(const runtime::Plan &loaded, const plan::Entry &entry);

  MeasuredTrace run(const std::string &text, const std::string &fileName);

private:
  std::string readHash(const ordered_json &trace);
  std::string readEvents(const ordered_json &trace);
  std::string readEvent(const ordered_json &json);
  std::string findInstruction(const plan::Entry &of, Event &event) const;
  std::vector<double> beginsOfRuns(int64_t rank) const;
  std::vector<std::vector<Event>> splitIntoRuns();
  MeasuredUsage usageOf(const std::vector<Event> &run, double step) const;

  const plan::Plan &plan;
  const plan::Entry &entry;
  const std::string hash;
  bool hasHash = false;
  /// The entry, and the segments that it runs.
  std::map<std::string, const plan::Entry *> entries;
  std::vector<Event> events;
};

} // namespace

std::string nameInTrace(const plan::Plan &plan,
                        const plan::Instruction &instruction) {
  if (const auto *launch = instruction.operation_as_Launch())
    if (const auto *summary = plan.kernels()->Get(launch->kernel())->summary();
        summary && summary->size() > 0)
      return summary->str();
  return runtime::operationName(instruction);
}

Reader::Reader(const runtime::Plan &loaded, const plan::Entry &entry)
    : plan(loaded.contents()), entry(entry),
      hash(fmt::format("{:016x}", loaded.hash())) {
  entries[entry.name()->str()] = &entry;
  if (!entry.timeline())
    return;
  for (const plan::TimelineRow *row : *entry.timeline()->rows())
    for (const plan::Action *action : *row->actions())
      if (action->kind() == plan::ActionKind::Run) {
        const plan::Entry &segment = *plan.entries()->Get(action->index());
        entries[segment.name()->str()] = &segment;
      }
}

/// How often an instruction is executed in a run: by the loops around it.
static int64_t executionsOf(const plan::Entry &entry, uint32_t wanted) {
  int64_t executions = 1;
  for (uint32_t at = 0; at < wanted; ++at)
    if (const auto *loop = entry.instructions()->Get(at)->operation_as_Repeat();
        loop && at + loop->instructions() >= wanted)
      executions *= loop->count();
  return executions;
}

/// Why the event is not of the plan, or nothing.
std::string Reader::findInstruction(const plan::Entry &of, Event &event) const {
  const ordered_json &args = event.json["args"];
  if (!args.contains("step"))
    return "";
  const auto step = args["step"].is_number_unsigned()
                        ? args["step"].get<uint64_t>()
                        : UINT64_MAX;
  if (!of.instructions() || step >= of.instructions()->size())
    return fmt::format("entry \"{}\" of the plan has no step {}",
                       of.name()->str(), args["step"].dump());
  event.instruction = of.instructions()->Get(static_cast<uint32_t>(step));
  const std::string name = nameInTrace(plan, *event.instruction);
  if (event.json["name"] != name)
    return fmt::format("step {} of entry \"{}\" is {} in the plan, and {} here",
                       step, of.name()->str(), name, event.json["name"].dump());
  return "";
}

std::string Reader::readEvent(const ordered_json &json) {
  if (!json.is_object() || json.value("ph", "") != "X" ||
      json.value("cat", "") == "bubble")
    return "";
  const auto isNumber = [&](const char *key) {
    return json.contains(key) && json[key].is_number();
  };
  const bool isWhole = isNumber("ts") && isNumber("dur") && isNumber("pid") &&
                       isNumber("tid") && json.contains("name") &&
                       json.contains("args") && json["args"].is_object() &&
                       json["args"].contains("entry") &&
                       json["args"]["entry"].is_string();
  if (!isWhole)
    return "an event is none of shard-run";
  const auto of = entries.find(json["args"]["entry"].get<std::string>());
  if (of == entries.end())
    return "";
  Event event;
  event.json = json;
  event.rank = json["pid"].get<int64_t>();
  event.track = json["tid"].get<int64_t>();
  event.begin = json["ts"].get<double>();
  event.end = event.begin + json["dur"].get<double>();
  std::string problem = findInstruction(*of->second, event);
  const ordered_json &args = json["args"];
  event.key = fmt::format("{} {} {} {} {} {}", event.rank, event.track,
                          of->first, args.value("step", ordered_json()).dump(),
                          args.value("message", ordered_json()).dump(),
                          args.value("microbatch", ordered_json()).dump());
  events.push_back(std::move(event));
  return problem;
}

/// Plans of the same steps may differ in all sizes.
std::string Reader::readHash(const ordered_json &trace) {
  const ordered_json data = trace.value("otherData", ordered_json::object());
  const auto found = data.find("weft.plan");
  hasHash = found != data.end() && found->is_string();
  if (!hasHash || *found == hash)
    return "";
  return fmt::format("the trace of a plan with hash {}, but this plan has hash "
                     "{}; trace a run of it: shard-run --trace",
                     found->get<std::string>(), hash);
}

std::string Reader::readEvents(const ordered_json &trace) {
  const auto found =
      trace.is_object() ? trace.find("traceEvents") : trace.end();
  if (!trace.is_object() || found == trace.end() || !found->is_array())
    return "not a trace: array \"traceEvents\" not found";
  if (std::string problem = readHash(trace); !problem.empty())
    return problem;
  for (const ordered_json &json : *found)
    if (std::string problem = readEvent(json); !problem.empty())
      return problem;
  std::ranges::stable_sort(events, {}, &Event::begin);
  if (std::ranges::none_of(events,
                           [](const Event &event) { return event.track == 0; }))
    return fmt::format("no run of entry \"{}\" found", entry.name()->str());
  return "";
}

/// A run of a rank begins with the same event each time.
std::vector<double> Reader::beginsOfRuns(int64_t rank) const {
  const auto first = std::ranges::find_if(events, [&](const Event &event) {
    return event.rank == rank && event.track == 0;
  });
  std::vector<double> begins;
  if (first == events.end())
    return begins;
  int64_t executions = 1, seen = 0;
  if (first->instruction && !entry.timeline())
    executions =
        executionsOf(entry, first->json["args"]["step"].get<uint32_t>());
  for (const Event &event : events)
    if (event.key == first->key && seen++ % executions == 0)
      begins.push_back(event.begin);
  return begins;
}

/// Ranks do not begin a run at one moment: one may be done before another
/// begins.
std::vector<std::vector<Event>> Reader::splitIntoRuns() {
  std::map<int64_t, std::vector<double>> begins;
  std::vector<std::vector<Event>> runs;
  for (Event &event : events) {
    const auto [of, isNew] = begins.try_emplace(event.rank);
    if (isNew)
      of->second = beginsOfRuns(event.rank);
    // A rank begins a run with what it computes.
    const auto after = std::ranges::upper_bound(of->second, event.begin);
    const auto run = std::max<ptrdiff_t>(0, after - of->second.begin() - 1);
    runs.resize(std::max<size_t>(runs.size(), run + 1));
    runs[run].push_back(std::move(event));
  }
  return runs;
}

static bool isKernel(const plan::Instruction &instruction, KernelClass &kind) {
  return runtime::visitOperation(
      instruction,
      [&](const plan::Gemm &) {
        kind = KernelClass::Gemm;
        return true;
      },
      [&](const plan::Convolution &) {
        kind = KernelClass::Convolution;
        return true;
      },
      [&](const runtime::AttentionOperation auto &) {
        kind = KernelClass::Attention;
        return true;
      },
      [&](const runtime::OneOf<plan::Launch, plan::Copy, plan::Sort> auto &) {
        kind = KernelClass::Other;
        return true;
      },
      [](const runtime::OneOf<plan::CollectiveStart, plan::CollectiveWait,
                              plan::Repeat> auto &) { return false; });
}

MeasuredUsage Reader::usageOf(const std::vector<Event> &run,
                              double step) const {
  constexpr double microsecond = 1e-6;
  MeasuredUsage usage;
  std::set<int64_t> ranks;
  for (const Event &event : run) {
    ranks.insert(event.rank);
    if (event.track != 0 || !event.instruction)
      continue;
    KernelClass kind = KernelClass::Other;
    const double seconds = microsecond * (event.end - event.begin);
    if (isKernel(*event.instruction, kind))
      usage.kernels[static_cast<size_t>(kind)] += seconds;
    else
      usage.collectives += seconds;
  }
  const auto count = static_cast<double>(ranks.size());
  usage.step = usage.rest = step * microsecond;
  for (double &seconds : usage.kernels)
    usage.rest -= seconds /= count;
  usage.rest -= usage.collectives /= count;
  return usage;
}

MeasuredTrace Reader::run(const std::string &text,
                          const std::string &fileName) {
  MeasuredTrace result;
  const ordered_json trace = ordered_json::parse(text, nullptr, false);
  std::string problem = trace.is_discarded() ? "not JSON" : readEvents(trace);
  if (!problem.empty()) {
    result.problem = fileName + ": " + problem;
    return result;
  }
  result.hasHash = hasHash;
  std::vector<std::vector<Event>> runs = splitIntoRuns();
  result.runs = runs.size();
  std::vector<std::pair<double, size_t>> steps;
  for (size_t i = result.runs > 1 ? 1 : 0; i < result.runs; ++i)
    steps.emplace_back(std::ranges::max_element(runs[i], {}, &Event::end)->end -
                           runs[i].front().begin,
                       i);
  std::ranges::sort(steps);
  const auto [step, median] = steps[steps.size() / 2];
  result.usage = usageOf(runs[median], step);
  const double begin = runs[median].front().begin;
  for (Event &event : runs[median]) {
    event.json["ts"] = event.begin - begin;
    result.events.push_back(std::move(event.json));
  }
  return result;
}

MeasuredTrace readMeasuredTrace(const std::string &text,
                                const std::string &fileName,
                                const runtime::Plan &plan,
                                const plan::Entry &entry) {
  return Reader(plan, entry).run(text, fileName);
}

} // namespace weft::tools
