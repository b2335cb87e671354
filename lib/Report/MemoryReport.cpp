//===- MemoryReport.cpp - The memory of an entry --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryReport.h"

#include "weft/runtime/PlanFormat.h"

#include <algorithm>
#include <iterator>

namespace weft {
namespace {

/// In the order of plan::Purpose.
constexpr const char *purposeNames[] = {
    "parameters", "gradients",   "optimizer state",
    "states",     "activations", "communication buffers",
    "arguments",  "results",     "constants",
    "temporaries"};
constexpr size_t numPurposes = std::size(purposeNames);

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

private:
  /// The entry is over: outputs are alive.
  uint64_t end() const { return changes.size() - 2; }

  std::vector<uint64_t> changes;
};

/// What a buffer holds during [first, last].
struct Holding {
  const plan::Buffer *buffer;
  const plan::Content *content;
  uint64_t first, last;
};

} // namespace

static size_t indexOf(plan::Purpose purpose) {
  return std::min(static_cast<size_t>(purpose), numPurposes - 1);
}

static uint64_t aligned(uint64_t bytes) {
  constexpr uint64_t unit = runtime::bufferAlignment;
  return (bytes + unit - 1) / unit * unit;
}

/// `f32[4x8]`
template <typename Shape>
static std::string typeOf(plan::DType dtype, const Shape &shape) {
  static constexpr const char *names[] = {"f32",  "bf16", "i32", "i64",
                                          "pred", "f64",  "f16", "i8"};
  size_t index = static_cast<size_t>(dtype);
  std::string text = index < std::size(names) ? names[index] : "?";
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "x" : "") + std::to_string(shape.Get(i));
  return text + ']';
}

/// What lies outside of the memory of states and constants.
static bool isShared(const plan::Buffer &buffer) {
  return buffer.kind() != plan::BufferKind::State &&
         buffer.kind() != plan::BufferKind::Constant;
}

static std::vector<Holding> findHoldings(const plan::Entry &entry) {
  std::vector<Holding> holdings;
  for (const plan::Buffer *buffer : *entry.buffers()) {
    if (!isShared(*buffer))
      continue;
    uint32_t count = buffer->contents() ? buffer->contents()->size() : 0;
    for (uint32_t i = 0; i < count; ++i) {
      const plan::Content *content = buffer->contents()->Get(i);
      uint64_t last = i + 1 < count ? buffer->contents()->Get(i + 1)->first()
                                    : buffer->last() + uint64_t(1);
      if (last > content->first())
        holdings.push_back({buffer, content, content->first(), last - 1});
    }
  }
  return holdings;
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

/// States and constants are alive at any time.
static void addFixed(const plan::Plan &plan, const plan::Entry &entry,
                     EntryReport &report) {
  auto add = [&](plan::Purpose purpose, uint64_t bytes) {
    report.purposes[indexOf(purpose)].peakBytes += bytes;
    report.purposes[indexOf(purpose)].highestBytes += bytes;
  };
  for (const plan::State *state : *plan.states()) {
    // A segment is of ranks that do not have those of other roles.
    if (entry.role() && state->role() && *state->role() != *entry.role())
      continue;
    add(state->purpose(), bytesOfSlots(*state));
    report.peak.push_back(
        {state->name()->str(), purposeNames[indexOf(state->purpose())],
         typeOf(state->type()->dtype(), *state->type()->local_shape()),
         bytesOfSlots(*state)});
  }
  uint64_t constants = plan.constant_data() ? plan.constant_data()->size() : 0;
  add(plan::Purpose::Constant, constants);
  if (constants)
    report.peak.push_back({"all constants",
                           purposeNames[indexOf(plan::Purpose::Constant)], "",
                           constants});
}

void reportMemory(const plan::Plan &plan, const plan::Entry &entry,
                  EntryReport &report) {
  size_t size = entry.instructions()->size();
  Timeline all(size);
  std::vector<Timeline> byPurpose(numPurposes, Timeline(size));
  for (const plan::Buffer *buffer : *entry.buffers())
    if (isShared(*buffer))
      all.add(buffer->first(), buffer->last(), aligned(buffer->bytes()));
  std::vector<Holding> holdings = findHoldings(entry);
  for (const Holding &holding : holdings)
    byPurpose[indexOf(holding.content->purpose())].add(
        holding.first, holding.last, holding.buffer->bytes());

  report.peakInstruction = all.highest().first;
  if (report.peakInstruction < size)
    if (const flatbuffers::String *location =
            entry.instructions()->Get(report.peakInstruction)->location())
      report.peakLocation = location->str();
  for (size_t i = 0; i < numPurposes; ++i)
    report.purposes.push_back(
        {purposeNames[i], 0, byPurpose[i].highest().second});
  addFixed(plan, entry, report);
  for (const Holding &holding : holdings) {
    if (holding.first > report.peakInstruction ||
        holding.last < report.peakInstruction)
      continue;
    report.purposes[indexOf(holding.content->purpose())].peakBytes +=
        holding.buffer->bytes();
    report.peak.push_back(toRecord(holding));
  }
  std::stable_sort(report.peak.begin(), report.peak.end(),
                   [](const TensorRecord &a, const TensorRecord &b) {
                     return a.bytes > b.bytes;
                   });
  for (const PurposeRecord &record : report.purposes)
    report.peakBytes += record.peakBytes;
}

} // namespace weft
