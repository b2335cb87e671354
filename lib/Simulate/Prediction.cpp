//===- Prediction.cpp - What a call of an entry takes ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/Prediction.h"

#include "SegmentRun.h"

#include "weft/Cost/GroupsOnDevices.h"
#include "weft/runtime/CollectiveQueues.h"

#include <algorithm>

using namespace weft;
using namespace weft::simulate;

namespace {

/// A role while it has segments in flight whose deferred instructions are still
/// to come.
struct Flight {
  Streams streams;
  /// As far as they are recorded, and when they began.
  std::map<uint32_t, uint32_t> recordings = {};
  std::vector<std::pair<uint32_t, Picoseconds>> begins = {};
};

class Predictor {
public:
  Predictor(const plan::Plan &plan, const plan::Entry &entry,
            const cost::CostModel &cost, const PredictionOptions &options);

  Prediction run();

private:
  void checkMesh();
  void simulate();
  const SegmentTime &segment(uint32_t number);
  SegmentRequest requestOf(uint32_t number);
  Picoseconds run(const SegmentStep &step);
  Picoseconds runInFlight(const SegmentStep &step, Flight &flight);
  uint32_t record(const SegmentStep &step, Flight &flight);
  void land(uint32_t role);
  void addTimeline(const plan::Timeline &timeline);
  void addMessages(const plan::Timeline &timeline, uint32_t role);
  void addOverhead();
  uint32_t numberOf(const plan::Entry &entry) const;

  const plan::Plan &plan;
  const plan::Entry &entry;
  /// As each of the ranks has it.
  cost::CostModel cost;
  const PredictionOptions &options;
  Prediction result;
  std::vector<int64_t> devices;
  std::optional<Groups> groups;
  std::optional<Prices> prices;
  runtime::CollectiveQueues queues;
  /// By the number of the entry: a segment takes the same time in each run
  /// beside which nothing is in flight.
  std::map<uint32_t, SegmentTime> segments;
  std::map<uint32_t, std::vector<InstructionPrice>> priced;
  /// By role.
  std::map<uint32_t, Flight> flights;
  std::vector<Usage> usages;
  std::vector<std::vector<uint32_t>> recorded;
};

} // namespace

/// As the runtimes do: a rank on a CPU has one queue.
static bool serializes(const cost::CostModel &cost) {
  return cost.cluster().device.generation == cost::Generation::Cpu;
}

Predictor::Predictor(const plan::Plan &plan, const plan::Entry &entry,
                     const cost::CostModel &cost,
                     const PredictionOptions &options)
    : plan(plan), entry(entry), cost(cost), options(options),
      queues(plan, serializes(cost)) {
  result.entry = entry.name()->str();
  for (const plan::MeshAxis *axis : *plan.mesh())
    result.mesh.push_back({axis->name()->str(), axis->size()});
}

static bool isSplit(const plan::Plan &plan, uint32_t axis) {
  for (const plan::AxisList *group : *plan.groups())
    for (const plan::AxisRef *ref : *group->axes())
      if (ref->axis() == axis && ref->size() != plan.mesh()->Get(axis)->size())
        return true;
  return false;
}

static std::string namesOf(const std::vector<cost::MeshAxis> &mesh) {
  std::string names;
  for (const cost::MeshAxis &axis : mesh)
    names += (names.empty() ? "\"" : ", \"") + axis.name + "\"";
  return names;
}

void Predictor::checkMesh() {
  for (const auto &[name, size] : options.axisSizes) {
    const auto axis =
        std::ranges::find(result.mesh, name, &cost::MeshAxis::name);
    const uint32_t number = axis - result.mesh.begin();
    if (axis == result.mesh.end())
      result.problems.push_back("the mesh has no axis \"" + name +
                                "\"; its axes are " + namesOf(result.mesh));
    else if (plan.pipeline() && plan.pipeline()->axis() == number)
      result.problems.push_back("axis \"" + name +
                                "\" is that of the pipeline, whose stages are "
                                "fixed in the plan");
    else if (isSplit(plan, number))
      result.problems.push_back("the plan splits axis \"" + name +
                                "\" into parts of fixed sizes");
    else
      axis->size = size;
  }
  const int64_t devices = result.devices(),
                available = cost::mostRanks(cost.cluster());
  if (result.problems.empty() && devices > available)
    result.problems.push_back("the mesh has " + std::to_string(devices) +
                              " devices, " + cost.cluster().name + " has " +
                              std::to_string(available) +
                              ": it needs a larger cluster");
}

uint32_t Predictor::numberOf(const plan::Entry &wanted) const {
  uint32_t number = 0;
  while (plan.entries()->Get(number) != &wanted)
    ++number;
  return number;
}

SegmentRequest Predictor::requestOf(uint32_t number) {
  const plan::Entry &run = *plan.entries()->Get(number);
  const auto [prices, isNew] = priced.try_emplace(number);
  if (isNew)
    prices->second = this->prices->of(run);
  SegmentRequest request{
      run,          prices->second, {}, queues.count(), groups->axes().size(),
      options.turns};
  for (const plan::Instruction *instruction : *run.instructions())
    if (const auto *start = instruction->operation_as_CollectiveStart())
      request.queueOf.push_back(queues.of(number, start->id()));
  return request;
}

const SegmentTime &Predictor::segment(uint32_t number) {
  const auto [it, isNew] = segments.try_emplace(number);
  if (!isNew)
    return it->second;
  it->second = runSegment(requestOf(number), cost, options.records);
  it->second.recording.entry = number;
  return it->second;
}

/// Every segment alike, but for those that run while another one is in flight:
/// its collectives slow them down, and hold up theirs.
Picoseconds Predictor::run(const SegmentStep &step) {
  const bool isDeferred =
      plan.entries()->Get(step.segment)->deferred_from().has_value();
  auto flight = flights.find(step.role);
  if (flight == flights.end() && !isDeferred) {
    const SegmentTime &alone = segment(step.segment);
    usages[step.role].add(alone.usage);
    recorded[step.role].push_back(step.segment);
    return alone.duration;
  }
  if (flight == flights.end()) {
    flight = flights
                 .emplace(step.role, Flight{Streams(cost, queues.count(),
                                                    groups->axes().size())})
                 .first;
    flight->second.streams.now = step.begin;
  }
  const Picoseconds duration = runInFlight(step, flight->second);
  if (step.isDeferred)
    land(step.role);
  return duration;
}

/// The recording of a run; its deferred instructions are of the same one.
uint32_t Predictor::record(const SegmentStep &step, Flight &flight) {
  const bool isDeferred =
      plan.entries()->Get(step.segment)->deferred_from().has_value();
  if (step.isDeferred)
    return flight.recordings.at(step.segment);
  const uint32_t number =
      plan.entries()->size() + uint32_t(result.recordings.size());
  result.recordings[number].entry = step.segment;
  flight.begins.emplace_back(number, step.begin);
  recorded[step.role].push_back(number);
  if (isDeferred)
    flight.recordings[step.segment] = number;
  return number;
}

Picoseconds Predictor::runInFlight(const SegmentStep &step, Flight &flight) {
  const SegmentRequest request = requestOf(step.segment);
  const uint32_t size = request.entry.instructions()->size();
  const uint32_t split = request.entry.deferred_from().value_or(size);
  Streams &streams = flight.streams;
  streams.idle(step.begin - streams.now);
  streams.entry = step.segment;
  const uint32_t recording = record(step, flight);
  runInstructions(request, streams, step.isDeferred ? split : 0,
                  step.isDeferred ? size : split,
                  options.records ? &result.recordings[recording] : nullptr);
  if (step.isDeferred)
    flight.recordings.erase(step.segment);
  return std::min(streams.now, longestStep) - step.begin;
}

/// Once nothing is in flight, what was done meanwhile is known.
void Predictor::land(uint32_t role) {
  const auto flight = flights.find(role);
  if (!flight->second.recordings.empty())
    return;
  usages[role].add(flight->second.streams.usage);
  for (const auto &[number, begin] : flight->second.begins) {
    Recording &recording = result.recordings[number];
    for (StreamEvent &event : recording.events) {
      event.begin -= begin;
      event.end -= begin;
    }
    for (Recording::Start &start : recording.starts)
      start.time -= begin;
  }
  flights.erase(flight);
}

void Predictor::addMessages(const plan::Timeline &timeline, uint32_t role) {
  for (const plan::Action *action : *timeline.rows()->Get(role)->actions()) {
    if (action->kind() != plan::ActionKind::Send)
      continue;
    const plan::Message &message = *timeline.messages()->Get(action->index());
    result.roles[role].usage.sentBytes[groups->levelBetween(
        role, message.destination_role())] += prices->bytesOf(message);
  }
}

void Predictor::addTimeline(const plan::Timeline &timeline) {
  result.pipelineAxes = groups->pipelineAxes();
  usages.assign(
      timeline.rows()->size(),
      Usage(groups->axes().size(), Streams::levelsOf(cost.cluster())));
  recorded.resize(usages.size());
  std::optional<TimelineRun> run =
      runTimeline({plan, timeline,
                   [this](const SegmentStep &step) { return this->run(step); },
                   [this](const plan::Message &message) {
                     return prices->message(message);
                   }});
  if (!run) {
    result.problems.push_back("the roles of the pipeline deadlock");
    return;
  }
  for (uint32_t role = 0; role < run->roles.size(); ++role) {
    RolePrediction &out = result.roles.emplace_back(std::move(usages[role]));
    const RoleRun &ran = run->roles[role];
    if (options.records)
      out.runs = ran.runs;
    for (size_t i = 0; i < out.runs.size(); ++i)
      out.runs[i].recording = recorded[role][i];
    Communication &messages = out.usage.communication[*result.pipelineAxes];
    messages.total += ran.messages.total;
    messages.exposed += ran.messages.exposed;
    out.bubble = ran.bubble;
    if (options.records)
      out.waits = ran.waits;
    addMessages(timeline, role);
  }
  result.step = run->end;
  if (options.records)
    result.transfers = std::move(run->transfers);
}

/// Of the host, before the first kernel of a step.
void Predictor::addOverhead() {
  const Picoseconds overhead = prices->callLaunch();
  result.step += overhead;
  for (RolePrediction &role : result.roles) {
    role.usage.host += overhead;
    for (RunTime &run : role.runs) {
      run.begin += overhead;
      run.end += overhead;
    }
    for (WaitTime &wait : role.waits) {
      wait.begin += overhead;
      wait.from += overhead;
      wait.end += overhead;
    }
  }
  for (TransferTime &transfer : result.transfers) {
    transfer.begin += overhead;
    transfer.end += overhead;
  }
}

void Predictor::simulate() {
  cost = cost.ofRanks(result.devices());
  devices = devicesOf(plan, result.mesh);
  if (devices.empty() && (options.looksAtDevices || options.rank))
    devices = cost::listDevices(cost.cluster(), result.mesh);
  groups.emplace(plan, cost.cluster(), result.mesh, devices, options.rank);
  prices.emplace(plan, cost, *groups);
  result.axes = groups->axes();
  result.placements = groups->placementsOfAxes();
  for (uint32_t group = 0; group < plan.groups()->size(); ++group)
    result.axesOfGroup.push_back(groups->axesOf(group));
  if (entry.timeline()) {
    addTimeline(*entry.timeline());
  } else {
    const uint32_t number = numberOf(entry);
    result.step = segment(number).duration;
    RolePrediction &out = result.roles.emplace_back(segment(number).usage);
    if (options.records)
      out.runs.push_back({number, 0, 0, result.step});
  }
  if (result.problems.empty() && result.step >= longestStep)
    result.problems.push_back("a step takes more than " +
                              std::to_string(longestStep / oneSecond) + " s");
  if (result.problems.empty())
    addOverhead();
  if (!options.records)
    result.recordings.clear();
  else
    for (auto &[number, time] : segments)
      result.recordings[number] = std::move(time.recording);
}

Prediction Predictor::run() {
  checkMesh();
  if (result.problems.empty())
    simulate();
  return std::move(result);
}

Prediction simulate::predict(const plan::Plan &plan, const plan::Entry &entry,
                             const cost::CostModel &cost,
                             const PredictionOptions &options) {
  return Predictor(plan, entry, cost, options).run();
}

Prediction simulate::predict(std::string_view bytes, std::string_view entry,
                             const cost::CostModel &cost) {
  const auto &container = *plan::GetContainer(bytes.data());
  const auto &whole =
      *flatbuffers::GetRoot<plan::Plan>(container.payload()->data());
  for (const plan::Entry *each : *whole.entries())
    if (!each->role() && each->name()->string_view() == entry)
      return predict(whole, *each, cost, {});
  Prediction none;
  none.problems = {"the plan has no entry \"" + std::string(entry) + "\""};
  return none;
}

Communication Prediction::communication() const {
  Communication mean;
  const auto number = static_cast<int64_t>(roles.size());
  for (const Communication &each : total().communication) {
    mean.total += each.total / number;
    mean.exposed += each.exposed / number;
  }
  return mean;
}

Picoseconds Prediction::bubble() const {
  Picoseconds mean = 0;
  for (const RolePrediction &role : roles)
    mean += role.bubble / static_cast<int64_t>(roles.size());
  return mean;
}

int64_t Prediction::devices() const {
  int64_t devices = 1;
  for (const cost::MeshAxis &axis : mesh)
    if (__builtin_mul_overflow(devices, axis.size, &devices))
      return INT64_MAX;
  return devices;
}

std::vector<Prediction::Event> Prediction::events(size_t role) const {
  std::vector<Event> events;
  for (const RunTime &run : roles[role].runs)
    for (StreamEvent event : recordings.at(run.recording).events) {
      if (events.size() == mostEvents)
        return events;
      event.begin += run.begin;
      event.end += run.begin;
      events.push_back({run.segment, run.microbatch, event});
    }
  return events;
}

bool Prediction::hasAllEvents(size_t role) const {
  size_t count = 0;
  for (const RunTime &run : roles[role].runs) {
    const Recording &recording = recordings.at(run.recording);
    count += recording.events.size();
    if (!recording.hasAllEvents || count > mostEvents)
      return false;
  }
  return true;
}

Usage Prediction::total() const {
  Usage sum(axes.size(), roles.front().usage.sentBytes.size());
  for (const RolePrediction &role : roles)
    sum.add(role.usage);
  return sum;
}

static double fractionOf(Picoseconds time, const Prediction &prediction) {
  return prediction.step == 0
             ? 0
             : static_cast<double>(time) /
                   (static_cast<double>(prediction.step) *
                    static_cast<double>(prediction.roles.size()));
}

double Prediction::modelUtilization() const {
  return fractionOf(total().modelAtPeak, *this);
}
double Prediction::hardwareUtilization() const {
  return fractionOf(total().executedAtPeak, *this);
}
