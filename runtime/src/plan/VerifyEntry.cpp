//===- VerifyEntry.cpp - Lifetimes and races are checked -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/BufferParts.h"
#include "plan/PlanVerifier.h"
#include "plan/Text.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace weft::runtime {
namespace {

/// What is known about a buffer while the instructions are walked in order.
/// Times: instruction i happens at i; -1 is the call, the number of
/// instructions is the return.
struct BufferState {
  bool holdsValue = false;
  bool isOutput = false;
  bool isBound = false;
  std::optional<int64_t> firstTouch;
  int64_t lastTouch = -1;
  /// Collectives in flight that read it, and the one that writes it.
  uint32_t readersInFlight = 0;
  std::optional<uint32_t> writerInFlight;
};

/// A started collective.
struct Flight {
  uint32_t source = 0;
  uint32_t destination = 0;
  /// How many loops it was started in.
  size_t depth = 0;
  bool started = false;
  bool waited = false;
};

/// A loop around the instruction that is looked at.
struct Loop {
  /// The instruction that says so, and the one behind the last of its block.
  uint32_t index;
  uint32_t end;
  /// Instructions that are executed in one iteration of all loops around it.
  uint64_t iterations;
  /// The first collective in it.
  uint32_t firstFlight;
  /// Buffers that the block has touched.
  std::set<uint32_t> touched = {};
};

class EntryVerifier {
public:
  EntryVerifier(const VerifiedHeader &header, const plan::Entry &entry)
      : header(header), entry(entry), parts(entry),
        states(entry.buffers()->size()) {}

  Status verify();

private:
  Status verifyInputs();
  Status verifyOutputs();
  Status verifyStateBuffers();
  Status verifyInstruction(uint32_t index);
  Status findStarts();
  Status verifyStartsBehind(uint32_t index);
  Status verifyStart(const plan::CollectiveStart &start);
  Status begin(const plan::CollectiveStart &start);
  Status verifyWait(uint32_t index, uint32_t id);
  Status touch(uint32_t index, const Touch &touch, bool starts);
  Status verifyInFlight(uint32_t buffer, const Touch &touch) const;
  bool holdsValue(uint32_t buffer) const;
  void setValue(uint32_t buffer);
  Status verifyShared(const std::vector<Touch> &touches) const;
  Status verifyRepeat(uint32_t index, const plan::Repeat &repeat);
  Status closeLoops(uint32_t index);
  Status verifyEnd();
  Status verifyLifetimes() const;
  Status verifyLifetimes(const std::vector<FixedRegion> &fixed) const;

  const plan::Buffer &buffer(uint32_t index) const {
    return *entry.buffers()->Get(index);
  }
  std::string bufferName(uint32_t index) const;

  const VerifiedHeader &header;
  const plan::Entry &entry;
  const BufferParts parts;
  std::vector<BufferState> states;
  /// By number of the collective.
  std::vector<Flight> flights;
  /// Starts that have been looked at in their places.
  uint32_t starts = 0;
  /// From instructions of loops to the starts that come behind their last
  /// execution.
  std::multimap<uint32_t, uint32_t> startsBehind;
  /// Outermost first.
  std::vector<Loop> loops;
  /// Instructions that a call executes.
  uint64_t executed = 0;
};

/// A buffer or fixed region that is alive during [begin, end].
struct Lifetime {
  uint64_t offset;
  uint64_t bytes;
  int64_t begin;
  int64_t end;
  std::string name;
};

} // namespace

std::string EntryVerifier::bufferName(uint32_t index) const {
  const std::string_view name = view(buffer(index).name());
  return fmt::format("buffer {} ({}{})", index,
                     bufferKindName(buffer(index).kind()),
                     name.empty() ? "" : fmt::format(" \"{}\"", escaped(name)));
}

Status EntryVerifier::verifyInputs() {
  std::set<std::string_view> names;
  for (const plan::Binding *binding : *entry.inputs()) {
    const std::string what =
        fmt::format("input \"{}\"", escaped(view(binding->name())));
    if (!names.insert(view(binding->name())).second)
      return invalidArgument(what + " is listed twice");
    WEFT_RETURN_IF_ERROR(
        verifyBinding(header, entry, *binding, binding->buffer())
            .withContext(what));
    BufferState &state = states[binding->buffer()];
    const plan::BufferKind kind = buffer(binding->buffer()).kind();
    if (kind != plan::BufferKind::Input && kind != plan::BufferKind::State)
      return invalidArgument(fmt::format("{} is bound to {}", what,
                                         bufferName(binding->buffer())));
    if (state.isBound)
      return invalidArgument(fmt::format("{}: {} has another input", what,
                                         bufferName(binding->buffer())));
    state.isBound = true;
    state.holdsValue = true;
  }
  return {};
}

Status EntryVerifier::verifyOutputs() {
  std::set<std::string_view> names;
  for (const plan::Binding *binding : *entry.outputs()) {
    const std::string what =
        fmt::format("output \"{}\"", escaped(view(binding->name())));
    if (!names.insert(view(binding->name())).second)
      return invalidArgument(what + " is listed twice");
    WEFT_RETURN_IF_ERROR(
        verifyBinding(header, entry, *binding, binding->buffer())
            .withContext(what));
    if (buffer(binding->buffer()).kind() == plan::BufferKind::Temporary)
      return invalidArgument(fmt::format("{} is bound to {}", what,
                                         bufferName(binding->buffer())));
    states[binding->buffer()].isOutput = true;
  }
  return {};
}

/// Every state buffer belongs to a state, every input buffer to an input.
Status EntryVerifier::verifyStateBuffers() {
  for (uint32_t i = 0; i < states.size(); ++i) {
    const plan::BufferKind kind = buffer(i).kind();
    if ((kind == plan::BufferKind::Input && !states[i].isBound) ||
        (kind == plan::BufferKind::State && !states[i].isBound &&
         !states[i].isOutput))
      return invalidArgument(
          fmt::format("{} is bound to no name", bufferName(i)));
    if (kind == plan::BufferKind::Constant)
      states[i].holdsValue = true;
  }
  return {};
}

Status EntryVerifier::verifyInFlight(uint32_t buffer,
                                     const Touch &touch) const {
  const BufferState &state = states[buffer];
  if (state.writerInFlight)
    return invalidArgument(fmt::format(
        "{} {}, which collective {} in flight writes; its wait must come first",
        touch.writes ? "writes" : "reads", bufferName(touch.buffer),
        *state.writerInFlight));
  if (touch.writes && state.readersInFlight != 0)
    return invalidArgument(
        fmt::format("writes {}, which a collective in flight reads; its wait "
                    "must come first",
                    bufferName(touch.buffer)));
  return {};
}

/// A whole does if what is written to its parts fills it.
bool EntryVerifier::holdsValue(uint32_t buffer) const {
  if (states[buffer].holdsValue || parts.sharing(buffer).empty())
    return states[buffer].holdsValue;
  std::vector<bool> holds;
  for (const BufferState &state : states)
    holds.push_back(state.holdsValue);
  return parts.fill(buffer, holds);
}

void EntryVerifier::setValue(uint32_t buffer) {
  states[buffer].holdsValue = true;
  for (uint32_t other : parts.sharing(buffer))
    if (parts.contains(buffer, other))
      states[other].holdsValue = true;
}

/// What an instruction writes is no part of another buffer that it touches.
Status EntryVerifier::verifyShared(const std::vector<Touch> &touches) const {
  for (const Touch &written : touches) {
    if (!written.writes || parts.sharing(written.buffer).empty())
      continue;
    for (const Touch &other : touches)
      if (parts.share(written.buffer, other.buffer))
        return invalidArgument(
            fmt::format("writes {}, which shares bytes with {}",
                        bufferName(written.buffer), bufferName(other.buffer)));
  }
  return {};
}

Status EntryVerifier::touch(uint32_t index, const Touch &touch, bool starts) {
  BufferState &state = states[touch.buffer];
  if (touch.writes && buffer(touch.buffer).kind() == plan::BufferKind::Constant)
    return invalidArgument(fmt::format("writes {}", bufferName(touch.buffer)));
  if (entry.role() && touch.writes && !state.isOutput &&
      buffer(touch.buffer).kind() == plan::BufferKind::State)
    return invalidArgument(
        fmt::format("writes {}, which is no output", bufferName(touch.buffer)));
  WEFT_RETURN_IF_ERROR(verifyInFlight(touch.buffer, touch));
  for (uint32_t other : parts.sharing(touch.buffer))
    WEFT_RETURN_IF_ERROR(verifyInFlight(other, touch));
  if (touch.reads && !holdsValue(touch.buffer))
    return invalidArgument(fmt::format("reads {} before anything is written "
                                       "to it",
                                       bufferName(touch.buffer)));
  if (touch.writes && !starts)
    setValue(touch.buffer);
  if (!state.firstTouch)
    state.firstTouch = index;
  state.lastTouch = std::max<int64_t>(state.lastTouch, index);
  // What a loop reads before it writes it must last to the next iteration.
  for (Loop &loop : loops) {
    if (loop.touched.insert(touch.buffer).second && touch.reads)
      state.lastTouch = std::max<int64_t>(state.lastTouch, loop.end - 1);
    const std::vector<uint32_t> &others = parts.sharing(touch.buffer);
    loop.touched.insert(others.begin(), others.end());
  }
  return {};
}

Status EntryVerifier::verifyRepeat(uint32_t index, const plan::Repeat &repeat) {
  const uint64_t end = uint64_t(index) + 1 + repeat.instructions();
  const uint64_t limit =
      loops.empty() ? entry.instructions()->size() : loops.back().end;
  if (repeat.count() == 0 || repeat.instructions() == 0)
    return invalidArgument(fmt::format(
        "executes {} instructions {} times; both must be at least 1",
        repeat.instructions(), repeat.count()));
  if (end > limit)
    return invalidArgument(fmt::format(
        "repeats instructions {} to {}, but {} ends with {}", index + 1,
        end - 1, loops.empty() ? "the entry" : "the loop around it",
        limit - 1));
  const uint64_t around = loops.empty() ? 1 : loops.back().iterations;
  loops.push_back({index, static_cast<uint32_t>(end),
                   std::min(around * repeat.count(), mostExecuted + 1),
                   starts});
  return {};
}

/// Ends the loops of the instructions before `index`: what was started in one
/// has been waited for.
Status EntryVerifier::closeLoops(uint32_t index) {
  for (; !loops.empty() && loops.back().end <= index; loops.pop_back())
    for (size_t id = loops.back().firstFlight; id < starts; ++id)
      if (!flights[id].waited)
        return invalidArgument(fmt::format(
            "collective {} is started in the loop of instruction {}, which "
            "does not wait for it",
            id, loops.back().index));
  return {};
}

/// The starts are numbered in the order of the program.
Status EntryVerifier::findStarts() {
  for (uint32_t i = 0; i < entry.instructions()->size(); ++i) {
    const plan::Instruction &instruction = *entry.instructions()->Get(i);
    const auto *start = instruction.operation_as_CollectiveStart();
    if (!start)
      continue;
    if (start->id() != flights.size())
      return invalidArgument(fmt::format("has id {}, but is collective {} of "
                                         "the entry",
                                         start->id(), flights.size()))
          .withContext(stepName(i, instruction));
    flights.emplace_back();
    if (start->behind())
      startsBehind.emplace(*start->behind(), i);
  }
  return {};
}

Status EntryVerifier::begin(const plan::CollectiveStart &start) {
  flights[start.id()] = {start.source(), start.destination(),
                         start.behind() ? 0 : loops.size(), true, false};
  ++states[start.source()].readersInFlight;
  states[start.destination()].writerInFlight = start.id();
  return {};
}

/// In its place. One that comes behind an instruction of a loop has begun.
Status EntryVerifier::verifyStart(const plan::CollectiveStart &start) {
  ++starts;
  if (!start.behind())
    return begin(start);
  if (!flights[start.id()].started)
    return invalidArgument(
        fmt::format("starts behind instruction {}, which is in no loop that "
                    "ends before it",
                    *start.behind()));
  return {};
}

/// What starts when instruction `index` of a loop has been executed for the
/// last time: nothing of the rest of the iteration may touch its buffers.
Status EntryVerifier::verifyStartsBehind(uint32_t index) {
  const auto [first, last] = startsBehind.equal_range(index);
  for (auto it = first; it != last; ++it) {
    const plan::Instruction &instruction =
        *entry.instructions()->Get(it->second);
    // If not, its place says so.
    if (loops.empty() || loops.back().index == index ||
        it->second < loops.front().end)
      continue;
    std::vector<Touch> touches;
    Status status = verifyOperation(header, entry, instruction, touches);
    for (const Touch &each : touches)
      if (status.ok())
        status = touch(index, each, /*starts=*/true);
    if (status.ok())
      status = begin(*instruction.operation_as_CollectiveStart());
    if (!status.ok())
      return status.withContext(stepName(it->second, instruction));
  }
  return {};
}

Status EntryVerifier::verifyWait(uint32_t index, uint32_t id) {
  if (id >= starts)
    return invalidArgument(
        fmt::format("waits for collective {}, which is not started", id));
  Flight &flight = flights[id];
  if (flight.waited)
    return invalidArgument(
        fmt::format("waits for collective {} a second time", id));
  if (flight.depth != loops.size() ||
      (!loops.empty() && id < loops.back().firstFlight))
    return invalidArgument(fmt::format(
        "waits for collective {}, which is started outside of its loop", id));
  flight.waited = true;
  --states[flight.source].readersInFlight;
  states[flight.destination].writerInFlight.reset();
  setValue(flight.destination);
  for (uint32_t buffer : {flight.source, flight.destination})
    states[buffer].lastTouch =
        std::max<int64_t>(states[buffer].lastTouch, index);
  return {};
}

Status EntryVerifier::verifyInstruction(uint32_t index) {
  const plan::Instruction &instruction = *entry.instructions()->Get(index);
  std::vector<Touch> touches;
  WEFT_RETURN_IF_ERROR(verifyOperation(header, entry, instruction, touches));
  WEFT_RETURN_IF_ERROR(verifyShared(touches));
  const auto *start = instruction.operation_as_CollectiveStart();
  if (!start || !start->behind())
    for (const Touch &each : touches)
      WEFT_RETURN_IF_ERROR(touch(index, each, start != nullptr));
  return visitOperation(
      instruction,
      [&](const plan::CollectiveStart &start) { return verifyStart(start); },
      [&](const plan::CollectiveWait &wait) {
        return verifyWait(index, wait.id());
      },
      [&](const plan::Repeat &repeat) { return verifyRepeat(index, repeat); },
      [](const Computation auto &) { return Status(); });
}

Status EntryVerifier::verifyEnd() {
  for (size_t id = 0; id < flights.size(); ++id)
    if (!flights[id].waited)
      return invalidArgument(
          fmt::format("collective {} is started but never waited for", id));
  for (const plan::Binding *binding : *entry.outputs())
    if (!states[binding->buffer()].holdsValue)
      return invalidArgument(fmt::format("output \"{}\": {} is never written",
                                         escaped(view(binding->name())),
                                         bufferName(binding->buffer())));
  return {};
}

/// Whether any two things that are alive at the same time share bytes: a sweep
/// over time that keeps the live ones ordered by offset.
static Status verifyDisjoint(const std::vector<Lifetime> &lifetimes) {
  struct Event {
    int64_t time;
    bool isEnd;
    size_t index;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    events.push_back({lifetimes[i].begin, false, i});
    events.push_back({lifetimes[i].end, true, i});
  }
  std::stable_sort(
      events.begin(), events.end(), [](const Event &a, const Event &b) {
        return std::pair(a.time, a.isEnd) < std::pair(b.time, b.isEnd);
      });
  std::map<uint64_t, size_t> live;
  for (const Event &event : events) {
    const Lifetime &added = lifetimes[event.index];
    if (event.isEnd) {
      live.erase(added.offset);
      continue;
    }
    auto next = live.lower_bound(added.offset);
    const Lifetime *clash = nullptr;
    if (next != live.end() && next->first < added.offset + added.bytes)
      clash = &lifetimes[next->second];
    if (!clash && next != live.begin()) {
      const Lifetime &before = lifetimes[std::prev(next)->second];
      if (before.offset + before.bytes > added.offset)
        clash = &before;
    }
    if (clash)
      return invalidArgument(fmt::format(
          "{} (bytes {}..{}, steps {}..{}) and {} (bytes {}..{}, steps {}..{}) "
          "share bytes while both are alive",
          clash->name, clash->offset, clash->offset + clash->bytes,
          clash->begin, clash->end, added.name, added.offset,
          added.offset + added.bytes, added.begin, added.end));
    live.emplace(added.offset, event.index);
  }
  return {};
}

Status EntryVerifier::verifyLifetimes() const {
  for (uint32_t role = 0; role < header.roles.count(); ++role)
    if (isOf(entry.role(), role))
      WEFT_RETURN_IF_ERROR(verifyLifetimes(header.fixed[role]));
  return {};
}

/// Beside the states and constants of a role. Parts live as long as the whole.
Status
EntryVerifier::verifyLifetimes(const std::vector<FixedRegion> &fixed) const {
  const int64_t end = entry.instructions()->size();
  std::vector<Lifetime> lifetimes;
  for (const FixedRegion &region : fixed)
    if (region.bytes != 0)
      lifetimes.push_back({region.offset, region.bytes, -1, end, region.name});
  std::vector<BufferState> wholes = states;
  for (uint32_t i = 0; i < states.size(); ++i) {
    if (!buffer(i).part_of() || !states[i].firstTouch)
      continue;
    BufferState &whole = wholes[*buffer(i).part_of()];
    whole.firstTouch =
        std::min(whole.firstTouch.value_or(*states[i].firstTouch),
                 *states[i].firstTouch);
    whole.lastTouch = std::max(whole.lastTouch, states[i].lastTouch);
  }
  for (uint32_t i = 0; i < wholes.size(); ++i) {
    const plan::BufferKind kind = buffer(i).kind();
    if (kind == plan::BufferKind::State || kind == plan::BufferKind::Constant ||
        buffer(i).part_of() || buffer(i).bytes() == 0)
      continue;
    const bool isInput = kind == plan::BufferKind::Input;
    if (!isInput && !wholes[i].firstTouch)
      continue;
    const bool isRead = kind == plan::BufferKind::Output || wholes[i].isOutput;
    lifetimes.push_back({buffer(i).offset(), buffer(i).bytes(),
                         isInput ? -1 : *wholes[i].firstTouch,
                         isRead ? end : wholes[i].lastTouch, bufferName(i)});
  }
  return verifyDisjoint(lifetimes);
}

Status EntryVerifier::verify() {
  const uint64_t arena = header.roles.arenaBytes(entry.role());
  if (entry.arena_bytes() > arena)
    return invalidArgument(fmt::format("uses {} bytes of an arena of {}",
                                       entry.arena_bytes(), arena));
  WEFT_RETURN_IF_ERROR(verifyInputs());
  WEFT_RETURN_IF_ERROR(verifyOutputs());
  WEFT_RETURN_IF_ERROR(verifyStateBuffers());
  WEFT_RETURN_IF_ERROR(findStarts());
  for (uint32_t i = 0; i < entry.instructions()->size(); ++i) {
    WEFT_RETURN_IF_ERROR(closeLoops(i));
    executed += loops.empty() ? 1 : loops.back().iterations;
    if (executed > mostExecuted)
      return invalidArgument(fmt::format(
          "its loops execute more than {} instructions", mostExecuted));
    if (Status status = verifyInstruction(i); !status.ok())
      return status.withContext(stepName(i, *entry.instructions()->Get(i)));
    WEFT_RETURN_IF_ERROR(verifyStartsBehind(i));
  }
  WEFT_RETURN_IF_ERROR(closeLoops(entry.instructions()->size()));
  WEFT_RETURN_IF_ERROR(verifyEnd());
  return verifyLifetimes();
}

Status verifyEntry(const VerifiedHeader &header, const plan::Entry &entry) {
  return EntryVerifier(header, entry).verify();
}

} // namespace weft::runtime
