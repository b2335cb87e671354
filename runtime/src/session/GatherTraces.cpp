//===- GatherTraces.cpp - The traces of all processes -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/GatherTraces.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace weft::runtime {

// Processes of one job are of one build, as their plan and MPI are.
static_assert(std::is_trivially_copyable_v<TraceEvent>);

/// From the steady clock of this process to the clock that hosts share.
static std::chrono::nanoseconds offsetToSystem() {
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::system_clock::now().time_since_epoch() - steady;
}

namespace {

class Writer {
public:
  template <typename Value> void write(std::span<const Value> values) {
    const auto bytes = std::as_bytes(values);
    data.insert(data.end(), bytes.begin(), bytes.end());
  }
  void write(uint64_t value) { write(std::span<const uint64_t>(&value, 1)); }

  std::vector<std::byte> data;
};

class Reader {
public:
  explicit Reader(std::span<const std::byte> data) : data(data) {}

  template <typename Value> std::vector<Value> read(size_t count) {
    std::vector<Value> values(count);
    // Not memcpy, which takes no null pointers: of a track without events.
    const auto bytes = std::as_writable_bytes(std::span(values));
    std::ranges::copy(data.first(bytes.size()), bytes.begin());
    data = data.subspan(bytes.size());
    return values;
  }
  uint64_t read() { return read<uint64_t>(1)[0]; }

private:
  std::span<const std::byte> data;
};

} // namespace

static std::vector<std::byte> encode(const SessionCore &core) {
  Writer writer;
  writer.write(static_cast<uint64_t>(offsetToSystem().count()));
  for (const auto &rank : core.ranks())
    for (TraceTrack RankTrace::*member : RankTrace::all) {
      const TraceTrack &track = rank->trace().*member;
      writer.write(track.events.size());
      writer.write(std::span<const TraceEvent>(track.events));
      writer.write(track.runs.size());
      writer.write(std::span<const size_t>(track.runs));
    }
  return std::move(writer.data);
}

/// Those of `ranks` ranks of a process, by the clock whose offset is `first`.
static std::vector<RankTrace> decode(Reader reader, uint64_t offset,
                                     uint64_t first, size_t ranks) {
  const std::chrono::nanoseconds shift(static_cast<int64_t>(offset - first));
  std::vector<RankTrace> traces(ranks);
  for (RankTrace &trace : traces)
    for (TraceTrack RankTrace::*member : RankTrace::all) {
      TraceTrack &track = trace.*member;
      track.events = reader.read<TraceEvent>(reader.read());
      track.runs = reader.read<size_t>(reader.read());
      for (TraceEvent &event : track.events) {
        event.begin += shift;
        event.end += shift;
      }
    }
  return traces;
}

Result<std::vector<RankTrace>> gatherTraces(SessionCore &core) {
  std::vector<RankTrace> traces;
  if (!core.bootstrap()) {
    for (const auto &rank : core.ranks())
      traces.push_back(rank->trace());
    return traces;
  }
  std::vector<std::byte> mine = encode(core);
  const uint64_t size = mine.size();
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<std::byte> allSizes,
      core.gather(std::as_bytes(std::span(&size, 1)), core.deadline()));
  const size_t processes = allSizes.size() / sizeof(size);
  const auto sizes = Reader(allSizes).read<uint64_t>(processes);
  const size_t most = *std::ranges::max_element(sizes);
  mine.resize(most);
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                        core.gather(mine, core.deadline()));
  const uint64_t first = Reader(all).read();
  for (size_t p = 0; p < processes; ++p) {
    Reader reader{std::span(all).subspan(p * most, most)};
    const uint64_t offset = reader.read();
    for (RankTrace &trace : decode(reader, offset, first, core.ranks().size()))
      traces.push_back(std::move(trace));
  }
  return traces;
}

} // namespace weft::runtime
