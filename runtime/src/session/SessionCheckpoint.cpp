//===- SessionCheckpoint.cpp - States are saved and restored --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/StartThread.h"
#include "plan/Text.h"
#include "session/SessionImpl.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>

namespace weft::runtime {

/// Between processes that have read different amounts.
static constexpr std::chrono::minutes patience(10);

/// Where this process is among those of the ranks.
static Holder processOf(const SessionCore &core) {
  const Bootstrap *bootstrap = core.bootstrap();
  return bootstrap ? Holder{bootstrap->launch().rank, bootstrap->launch().world}
                   : Holder{};
}

const std::vector<StateShards> &Session::Impl::stateShards() {
  if (!shards.empty())
    return shards;
  const Holder process = processOf(*core);
  for (const ArenaLocation &state : states)
    shards.push_back(
        shardsOf(*state.type, core->mesh(), process.index, process.count,
                 [&](int64_t rank) {
                   return state.in(core->roles().of(rank)).has_value();
                 }));
  return shards;
}

static size_t elementBytes(const plan::TensorType &type) {
  return byteSize(dtypeOf(type.dtype()));
}

//===----------------------------------------------------------------------===//
// Save
//===----------------------------------------------------------------------===//

/// What this process writes, one after the other in memory.
static CheckpointContents contentsOf(const Plan &plan,
                                     const std::vector<StateShards> &shards) {
  CheckpointContents contents;
  for (size_t s = 0; s < shards.size(); ++s) {
    const ValueSpec &state = plan.states()[s];
    contents.tensors.push_back({state.name, state.dtype, state.globalShape});
    for (const StateShard &shard : shards[s])
      if (auto share =
              shareOf(shard.box, byteSize(state.dtype), shard.holder, s))
        contents.parts.push_back({s, *std::move(share), 0});
  }
  return contents;
}

/// Gives the parts their places; the bytes of all.
static size_t place(CheckpointContents &contents) {
  size_t end = 0;
  for (CheckpointPart &part : contents.parts) {
    part.offset = end;
    end += part.box.elements() * byteSize(contents.tensors[part.tensor].dtype);
    end = (end + 63) / 64 * 64;
  }
  return end;
}

/// Copies a box out of the memory that holds `held`, in an array of `extents`.
static void copyBox(const Box &box, const Box &held,
                    std::span<const int64_t> extents, size_t bytes,
                    const std::byte *from, std::byte *to) {
  std::vector<int64_t> start(box.start.size());
  for (size_t d = 0; d < start.size(); ++d)
    start[d] = box.start[d] - held.start[d];
  const std::vector<int64_t> origin(start.size());
  forEachRun({extents, start}, {box.extent, origin}, box.extent,
             [&](int64_t inFrom, int64_t inTo, int64_t count) {
               std::memcpy(to + inTo * bytes, from + inFrom * bytes,
                           count * bytes);
             });
}

/// The parts of one state to where they begin in `memory`.
Status Session::Impl::copyState(size_t s, std::span<const CheckpointPart> parts,
                                std::byte *memory) {
  const plan::TensorType &type = *states[s].type;
  if (isUnreduced(type)) {
    // With all processes, whether they write a part of it or not.
    WEFT_ASSIGN_OR_RETURN(const Array whole, assemble(states[s]));
    for (const CheckpointPart &part : parts)
      copyBox(part.box, Box::whole(whole.shape), whole.shape,
              elementBytes(type), whole.data.data(), memory + part.offset);
    return {};
  }
  const auto &local = *type.local_shape();
  std::vector<std::byte> copy;
  for (const CheckpointPart &part : parts) {
    const StateShard &shard =
        *std::ranges::find_if(stateShards()[s], [&](const StateShard &each) {
          return each.box.contains(part.box);
        });
    const Rank &rank = *core->rank(shard.ranks.front());
    WEFT_ASSIGN_OR_RETURN(
        const std::byte *from,
        rank.read(*states[s].in(core->roles().of(rank.number())),
                  partBytes(type), copy));
    copyBox(part.box, shard.box, {local.data(), local.size()},
            elementBytes(type), from, memory + part.offset);
  }
  return {};
}

Status Session::Impl::prepareSave(CheckpointWriter &writer) {
  WEFT_RETURN_IF_ERROR(writer.wait());
  CheckpointContents contents = contentsOf(core->plan(), stateShards());
  writer.reserve(place(contents));
  return {};
}

Status Session::Impl::save(CheckpointWriter &writer, int64_t step,
                           Metadata metadata) {
  if (const int own = processOf(*core).count; own != writer.processes())
    return failedPrecondition(
        fmt::format("the ranks of the session are in {} processes, the "
                    "checkpoint is written by {}",
                    own, writer.processes()));
  for (uint32_t s = 0; s < states.size(); ++s)
    WEFT_RETURN_IF_ERROR(readable(s).status());
  WEFT_RETURN_IF_ERROR(writer.wait());
  CheckpointContents contents = contentsOf(core->plan(), stateShards());
  contents.step = step;
  contents.metadata = std::move(metadata);
  contents.memory = writer.takeMemory();
  contents.memory.resize(place(contents));
  WEFT_RETURN_IF_ERROR(copyStates(contents));
  return writer.start(std::move(contents));
}

static Status noMemoryToCopy() {
  return resourceExhausted("no memory to copy the states for a checkpoint");
}

/// By several threads where the ranks can be read by any: a step waits for it,
/// and one does not use all of the memory's speed.
Status Session::Impl::copyStates(CheckpointContents &contents) {
  const auto copy = [&](size_t s) {
    const auto parts = std::ranges::equal_range(contents.parts, s, {},
                                                &CheckpointPart::tensor);
    return copyState(s, {parts.begin(), parts.end()}, contents.memory.data());
  };
  const bool isShared = core->rankSet().runsInAnyThread();
  const auto isCollective = [&](size_t s) {
    return !isShared || isUnreduced(*states[s].type);
  };
  for (size_t s = 0; s < states.size(); ++s)
    if (isCollective(s))
      WEFT_RETURN_IF_ERROR(copy(s));
  (void)stateShards(); // found before several ask for them
  const size_t threads = std::min<size_t>(
      {4, std::thread::hardware_concurrency(), contents.memory.size() >> 24});
  std::vector<Status> outcomes(std::max<size_t>(1, threads));
  std::atomic<size_t> next{0};
  const auto work = [&](Status &outcome) {
    try {
      for (size_t s = next++; s < states.size() && outcome.ok(); s = next++)
        if (!isCollective(s))
          outcome = copy(s);
    } catch (const std::bad_alloc &) {
      outcome = noMemoryToCopy();
    }
  };
  std::vector<std::thread> helpers(outcomes.size() - 1);
  for (size_t i = 0; i < helpers.size(); ++i)
    if (!startThread(helpers[i], "that copies states",
                     [&work, &outcome = outcomes[i + 1]] { work(outcome); })
             .ok())
      break; // those that there are copy all
  work(outcomes[0]);
  for (std::thread &helper : helpers)
    if (helper.joinable())
      helper.join();
  for (const Status &outcome : outcomes)
    WEFT_RETURN_IF_ERROR(outcome);
  return {};
}

//===----------------------------------------------------------------------===//
// Restore
//===----------------------------------------------------------------------===//

/// Whether the checkpoint has the states of the plan and nothing else; all
/// problems at once.
static Status checkFits(const Checkpoint &checkpoint, const Plan &plan) {
  std::vector<std::string> problems;
  for (const ValueSpec &state : plan.states()) {
    const auto number = checkpoint.find(state.name);
    if (!number) {
      problems.push_back(
          fmt::format("it has no state \"{}\"", escaped(state.name)));
      continue;
    }
    const TensorInfo &tensor = checkpoint.tensors()[*number];
    if (tensor.dtype != state.dtype || tensor.shape != state.globalShape)
      problems.push_back(fmt::format("it has \"{}\" as {}, the plan wants {}",
                                     escaped(state.name),
                                     typeName(tensor.dtype, tensor.shape),
                                     typeName(state.dtype, state.globalShape)));
  }
  for (const TensorInfo &tensor : checkpoint.tensors())
    if (!plan.state(tensor.name))
      problems.push_back(
          fmt::format("it has \"{}\", which is no state of the plan",
                      escaped(tensor.name)));
  if (problems.empty())
    return {};
  return invalidArgument(
      fmt::format("{}: {}", checkpoint.path(), fmt::join(problems, "; ")));
}

namespace {

/// Reads the states of a session from a checkpoint.
class StateReader {
public:
  StateReader(Session::Impl &session, const Checkpoint &checkpoint)
      : session(session), checkpoint(checkpoint) {}

  /// Adds up what this process answers for of the digests.
  Status read(std::vector<uint64_t> &digests) {
    for (uint32_t s = 0; s < session.states.size(); ++s)
      WEFT_RETURN_IF_ERROR(readState(s, digests));
    return {};
  }

private:
  Status readState(uint32_t s, std::vector<uint64_t> &digests) {
    const size_t tensor =
        *checkpoint.find(session.core->plan().states()[s].name);
    const size_t bytes = elementBytes(*session.states[s].type);
    for (const StateShard &shard : session.stateShards()[s]) {
      memory.resize(shard.box.elements() * bytes);
      WEFT_RETURN_IF_ERROR(
          checkpoint.readBox(tensor, shard.box, memory.data()));
      if (const auto share = shareOf(shard.box, bytes, shard.holder, s))
        digests[tensor] +=
            checkpoint.digestOf(tensor, *share, shard.box, memory.data());
      for (int64_t rank : shard.ranks)
        WEFT_RETURN_IF_ERROR(write(s, shard, rank));
    }
    return {};
  }

  /// To the memory of a rank.
  Status write(uint32_t s, const StateShard &shard, int64_t number) {
    const Session::Impl::ArenaLocation &state = session.states[s];
    const plan::TensorType &type = *state.type;
    const auto offset = state.in(session.core->roles().of(number));
    if (!offset)
      return {};
    return session.core->rank(number)->write(
        *offset, partBytes(type), [&](std::byte *part) {
          if (isUnreduced(type))
            extractShard(type, session.core->mesh(), number, memory.data(),
                         part);
          else
            fillPart(type, shard.box, memory.data(), part);
        });
  }

  /// A shard with zeros where it is padded.
  static void fillPart(const plan::TensorType &type, const Box &box,
                       const std::byte *from, std::byte *part) {
    const auto &local = *type.local_shape();
    const std::vector<int64_t> origin(box.extent.size());
    const size_t bytes = elementBytes(type);
    if (!std::ranges::equal(box.extent, local))
      std::memset(part, 0, partBytes(type));
    forEachRun({{local.data(), local.size()}, origin}, {box.extent, origin},
               box.extent, [&](int64_t inPart, int64_t inBox, int64_t count) {
                 std::memcpy(part + inPart * bytes, from + inBox * bytes,
                             count * bytes);
               });
  }

  Session::Impl &session;
  const Checkpoint &checkpoint;
  std::vector<std::byte> memory;
};

/// The outcome of one process, of the same size in all.
struct Outcome {
  uint64_t code = 0;
  int64_t step = 0;
  char message[2048] = {};

  static Outcome of(const Status &status, int64_t step) {
    Outcome outcome{static_cast<uint64_t>(status.code()), step, {}};
    status.message().copy(outcome.message, sizeof(message) - 1);
    return outcome;
  }
};

} // namespace

/// The same on all processes: success, or the failure of the first of them.
static Status agree(SessionCore &core, const Status &mine, int64_t step) {
  const Outcome outcome = Outcome::of(mine, step);
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<std::byte> all,
      core.gather(std::as_bytes(std::span(&outcome, 1)), patience));
  if (all.size() == sizeof(Outcome))
    return mine;
  std::vector<Outcome> outcomes(all.size() / sizeof(Outcome));
  std::memcpy(outcomes.data(), all.data(), all.size());
  for (size_t process = 0; process < outcomes.size(); ++process) {
    const Outcome &each = outcomes[process];
    if (each.code != 0)
      return Status(static_cast<StatusCode>(each.code), each.message);
    if (each.step != outcomes[0].step)
      return failedPrecondition(fmt::format(
          "process 0 restores the checkpoint of step {}, process {} that of "
          "step {}; is the folder on a file system that all share?",
          outcomes[0].step, process, each.step));
  }
  return {};
}

/// The sums over the processes.
static Result<std::vector<uint64_t>> addUp(SessionCore &core,
                                           std::vector<uint64_t> mine) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                        core.gather(std::as_bytes(std::span(mine)), patience));
  std::vector<uint64_t> values(all.size() / sizeof(uint64_t));
  std::memcpy(values.data(), all.data(), all.size());
  std::vector<uint64_t> sums(mine.size());
  for (size_t i = 0; i < values.size(); ++i)
    sums[i % sums.size()] += values[i];
  return sums;
}

Status Session::Impl::restore(const std::string &path) {
  const Result<Checkpoint> checkpoint = Checkpoint::open(path);
  std::vector<uint64_t> digests;
  Status status = checkpoint.status();
  if (status.ok())
    status = checkFits(*checkpoint, core->plan());
  if (status.ok()) {
    digests.resize(checkpoint->tensors().size());
    try {
      status = StateReader(*this, *checkpoint).read(digests);
    } catch (const std::bad_alloc &) {
      status = resourceExhausted(path + ": no memory for a shard");
    }
  }
  // A process that cannot read says so to all, and none waits for it.
  WEFT_RETURN_IF_ERROR(
      agree(*core, status, checkpoint.ok() ? checkpoint->step() : 0));
  if (!digests.empty()) {
    WEFT_ASSIGN_OR_RETURN(digests, addUp(*core, std::move(digests)));
    WEFT_RETURN_IF_ERROR(checkpoint->compareDigests(
        std::vector<std::optional<uint64_t>>(digests.begin(), digests.end())));
  }
  stateIsSet.assign(stateIsSet.size(), true);
  return {};
}

Status Session::prepareSave(CheckpointWriter &writer) {
  return impl->prepareSave(writer);
}

Status Session::save(CheckpointWriter &writer, int64_t step,
                     Metadata metadata) {
  try {
    return impl->save(writer, step, std::move(metadata));
  } catch (const std::bad_alloc &) {
    return noMemoryToCopy();
  }
}

Status Session::restore(const std::string &path) { return impl->restore(path); }

} // namespace weft::runtime
