//===- MemoryReport.cpp - The memory of a rank ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryReport.h"

#include "Holdings.h"

#include "weft/Report/MemoryOverTime.h"
#include "weft/runtime/PlanFormat.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace weft {
namespace {

/// In the order of plan::Purpose.
constexpr const char *purposeNames[] = {
    "parameters", "gradients",   "optimizer state",
    "states",     "activations", "communication buffers",
    "arguments",  "results",     "constants",
    "temporaries"};
static_assert(std::size(purposeNames) == numPurposes);

/// Bytes over the instructions of an entry and its end.
class Timeline {
public:
  explicit Timeline(size_t size) : changes(size + 2) {}

  void add(uint64_t first, uint64_t last, uint64_t bytes) {
    changes[std::min(first, end())] += bytes;
    changes[std::min(last, end()) + 1] -= bytes;
  }
  /// The first time of the highest sum, and the sum.
  std::pair<uint64_t, uint64_t> highest() const {
    std::pair<uint64_t, uint64_t> found = {0, 0};
    uint64_t sum = 0;
    for (uint64_t time = 0; time <= end(); ++time)
      if (sum += changes[time]; sum > found.second)
        found = {time, sum};
    return found;
  }
  /// The highest sums up to each time, itself included, and from it on.
  std::vector<uint64_t> highestUntil() const {
    std::vector<uint64_t> sums = this->sums();
    for (size_t time = 1; time < sums.size(); ++time)
      sums[time] = std::max(sums[time], sums[time - 1]);
    return sums;
  }
  std::vector<uint64_t> highestFrom() const {
    std::vector<uint64_t> sums = this->sums();
    for (size_t time = sums.size() - 1; time > 0; --time)
      sums[time - 1] = std::max(sums[time - 1], sums[time]);
    return sums;
  }

private:
  std::vector<uint64_t> sums() const {
    std::vector<uint64_t> sums(changes.begin(), changes.end() - 1);
    std::partial_sum(sums.begin(), sums.end(), sums.begin());
    return sums;
  }
  /// The entry is over: outputs are alive.
  uint64_t end() const { return changes.size() - 2; }

  std::vector<uint64_t> changes;
};

} // namespace

static uint64_t aligned(uint64_t bytes) {
  constexpr uint64_t unit = runtime::bufferAlignment;
  return (bytes + unit - 1) / unit * unit;
}

/// `f32[4x8]`
template <typename Shape>
static std::string typeOf(plan::DType dtype, const Shape &shape) {
  static constexpr const char *names[] = {"f32", "bf16", "i32", "i64", "pred",
                                          "f64", "f16",  "i8",  "i16"};
  size_t index = static_cast<size_t>(dtype);
  std::string text = index < std::size(names) ? names[index] : "?";
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "x" : "") + std::to_string(shape.Get(i));
  return text + ']';
}

static TensorRecord toRecord(const Holding &holding) {
  TensorRecord record;
  const plan::Buffer &buffer = *holding.buffer;
  plan::Purpose purpose = holding.content->purpose();
  bool isNamed = purpose == plan::Purpose::Argument ||
                 purpose == plan::Purpose::Parameter ||
                 purpose == plan::Purpose::Result;
  const flatbuffers::String *name =
      isNamed ? buffer.name() : holding.content->source();
  record.name = name ? name->str() : "";
  record.purpose = purposeNames[indexOf(purpose)];
  record.type = typeOf(buffer.dtype(), *buffer.shape());
  record.bytes = buffer.bytes();
  return record;
}

namespace {

class MemoryReporter {
public:
  MemoryReporter(const plan::Plan &plan, const RankPrograms &rank)
      : plan(plan), rank(rank) {}

  MemoryReport run();

private:
  void findStates();
  void addFixed(plan::Purpose purpose, TensorRecord record);
  void addFixed();
  uint64_t constantBytes() const;
  void addEntry(const plan::Entry &entry);
  void setPeak(const plan::Entry &entry, uint64_t instruction, uint64_t others);
  PurposeRecord &recordOf(plan::Purpose purpose) {
    return report.purposes[indexOf(purpose)];
  }

  const plan::Plan &plan;
  const RankPrograms &rank;
  MemoryReport report;
  std::vector<const plan::State *> states;
  /// What lies behind the states and constants begins there.
  uint64_t fixedEnd = 0;
};

} // namespace

/// Those of all ranks and of the role.
void MemoryReporter::findStates() {
  for (const plan::State *state : *plan.states()) {
    if (state->role() && state->role() != rank.role)
      continue;
    states.push_back(state);
    fixedEnd = std::max(
        fixedEnd, state->offset() + (state->slots() - 1) * state->slot_bytes() +
                      state->bytes());
  }
  fixedEnd = aligned(fixedEnd) + constantBytes();
}

/// What is alive at any time.
void MemoryReporter::addFixed(plan::Purpose purpose, TensorRecord record) {
  recordOf(purpose).peakBytes += record.bytes;
  recordOf(purpose).highestBytes += record.bytes;
  recordOf(purpose).fixedBytes += record.bytes;
  record.savedBytes = record.bytes;
  record.purpose = purposeNames[indexOf(purpose)];
  report.peak.push_back(std::move(record));
}

/// Where the states that segments leave for each other come from, by offset.
static std::map<uint64_t, std::string>
findSources(const std::vector<const plan::Entry *> &entries) {
  std::map<uint64_t, std::string> sources;
  for (const plan::Entry *entry : entries)
    for (const plan::Buffer *buffer : *entry->buffers())
      if (buffer->kind() == plan::BufferKind::State && buffer->contents())
        for (const plan::Content *content : *buffer->contents())
          if (content->source() && !content->source()->string_view().empty())
            sources.try_emplace(buffer->offset(), content->source()->str());
  return sources;
}

/// Whether users know the name of a state.
static bool isNamed(const plan::State &state) {
  switch (state.purpose()) {
  case plan::Purpose::Gradient:
  case plan::Purpose::Activation:
  case plan::Purpose::Communication:
  case plan::Purpose::Temporary:
    return state.counts();
  default:
    return true;
  }
}

void MemoryReporter::addFixed() {
  std::map<uint64_t, std::string> sources = findSources(rank.programs);
  for (const plan::State *state : states) {
    auto source = sources.find(state->offset());
    bool hasSource = source != sources.end() && !isNamed(*state);
    addFixed(state->purpose(),
             {hasSource ? source->second : state->name()->str(), "",
              typeOf(state->type()->dtype(), *state->type()->local_shape()),
              state->slots(), state->slots() * state->bytes()});
  }
  if (uint64_t bytes = constantBytes())
    addFixed(plan::Purpose::Constant, {"all constants", "", "", 1, bytes});
}

/// A role has the constants of its segments.
uint64_t MemoryReporter::constantBytes() const {
  if (!rank.role)
    return plan.constant_data() ? plan.constant_data()->size() : 0;
  std::map<uint64_t, uint64_t> bytes;
  for (const plan::Entry *entry : rank.programs)
    for (const plan::Buffer *buffer : *entry->buffers())
      if (buffer->kind() == plan::BufferKind::Constant)
        bytes[buffer->offset()] = aligned(buffer->bytes());
  uint64_t sum = 0;
  for (const auto &[offset, size] : bytes)
    sum += size;
  return sum;
}

/// Takes an entry into account, in which alone the other ones have no memory.
void MemoryReporter::addEntry(const plan::Entry &entry) {
  size_t size = entry.instructions()->size();
  std::vector<Timeline> byPurpose(numPurposes, Timeline(size));
  for (const Holding &holding : findHoldings(entry))
    byPurpose[indexOf(holding.content->purpose())].add(
        holding.first, holding.last, holding.buffer->bytes());
  for (size_t i = 0; i < numPurposes; ++i)
    report.purposes[i].highestBytes = std::max(report.purposes[i].highestBytes,
                                               byPurpose[i].highest().second);
  if (uint64_t bytes = entry.arena_bytes() - fixedEnd;
      entry.arena_bytes() > fixedEnd && bytes > report.callBytes) {
    report.callBytes = bytes;
    report.livenessBytes = entry.liveness_bytes() > fixedEnd
                               ? entry.liveness_bytes() - fixedEnd
                               : 0;
  }
}

/// What is in use over time, but for states and constants.
static Timeline inUse(const plan::Entry &entry) {
  Timeline all(entry.instructions()->size());
  for (const plan::Buffer *buffer : *entry.buffers())
    if (isShared(*buffer))
      all.add(buffer->first(), buffer->last(), aligned(buffer->bytes()));
  return all;
}

/// `others`: the peak of the other programs of the rank.
void MemoryReporter::setPeak(const plan::Entry &entry, uint64_t instruction,
                             uint64_t others) {
  const Timeline all = inUse(entry);
  const uint64_t peak = all.highest().second;
  const std::vector<uint64_t> until = all.highestUntil(),
                              from = all.highestFrom();
  if (rank.role)
    report.peakSegment = entry.name()->str();
  report.peakInstruction = instruction;
  if (instruction < entry.instructions()->size())
    if (const flatbuffers::String *location =
            entry.instructions()->Get(instruction)->location())
      report.peakLocation = location->str();
  for (const Holding &holding : findHoldings(entry)) {
    if (holding.first > instruction || holding.last < instruction)
      continue;
    recordOf(holding.content->purpose()).peakBytes += holding.buffer->bytes();
    TensorRecord record = toRecord(holding);
    const uint64_t bytes = aligned(holding.buffer->bytes());
    uint64_t highest = std::max(others, peak - std::min(bytes, peak));
    if (holding.first > 0)
      highest = std::max(highest, until[holding.first - 1]);
    if (holding.last + 1 < from.size())
      highest = std::max(highest, from[holding.last + 1]);
    record.savedBytes = std::min(peak - std::min(highest, peak), record.bytes);
    report.peak.push_back(std::move(record));
  }
}

MemoryReport MemoryReporter::run() {
  report.arenaBytes = rank.arenaBytes;
  for (const char *name : purposeNames)
    report.purposes.push_back({name, 0, 0, 0});
  findStates();
  const plan::Entry *largest = nullptr;
  // When the most memory is in use, and how much.
  std::pair<uint64_t, uint64_t> peak;
  uint64_t others = 0;
  for (const plan::Entry *entry : rank.programs) {
    addEntry(*entry);
    std::pair<uint64_t, uint64_t> highest = inUse(*entry).highest();
    if (!largest || highest.second > peak.second) {
      others = peak.second;
      largest = entry;
      peak = highest;
    } else {
      others = std::max(others, highest.second);
    }
  }
  addFixed();
  if (largest)
    setPeak(*largest, peak.first, others);
  std::stable_sort(report.peak.begin(), report.peak.end(),
                   [](const TensorRecord &a, const TensorRecord &b) {
                     return a.bytes > b.bytes;
                   });
  for (const PurposeRecord &record : report.purposes)
    report.peakBytes += record.peakBytes;
  return std::move(report);
}

MemoryReport makeMemoryReport(const plan::Plan &plan,
                              const RankPrograms &rank) {
  return MemoryReporter(plan, rank).run();
}

} // namespace weft
