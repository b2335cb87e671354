//===- Session.cpp - Runs a plan in this process ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Session.h"

#include "plan/Text.h"
#include "session/GatherTraces.h"
#include "session/SessionImpl.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace weft::runtime {

static bool isState(const plan::Entry &entry, const plan::Binding &binding) {
  return entry.buffers()->Get(binding.buffer())->kind() ==
         plan::BufferKind::State;
}

Session::Impl::Impl(std::shared_ptr<SessionCore> core)
    : core(std::move(core)), states(this->core->plan().states().size()),
      stateIsSet(states.size()) {
  for (const plan::State *state : *contents().states())
    if (!state->internal()) {
      ArenaLocation &location = states[*stateIndex(view(state->name()))];
      location.type = state->type();
      location.offsets.push_back({state->role(), state->offset()});
    }
  for (const plan::Entry *entry : *contents().entries()) {
    inputIsSet.emplace_back(entry->inputs()->size());
    std::vector<Input> &found = inputs.emplace_back();
    std::vector<uint32_t> &updated = updates.emplace_back();
    if (entry->role())
      continue;
    uint32_t staged = 0;
    for (const plan::Binding *input : *entry->inputs())
      found.push_back(isState(*entry, *input)
                          ? Input{true, *stateIndex(view(input->name()))}
                          : Input{false, staged++});
    for (const plan::Binding *output : *entry->outputs())
      if (isState(*entry, *output))
        updated.push_back(*stateIndex(view(output->name())));
  }
}

std::optional<uint32_t> Session::Impl::entryIndex(std::string_view name) const {
  const EntrySpec *entry = core->plan().entry(name);
  return entry ? std::optional(entry->number) : std::nullopt;
}

std::optional<uint32_t> Session::Impl::stateIndex(std::string_view name) const {
  const ValueSpec *state = core->plan().state(name);
  if (!state)
    return std::nullopt;
  return static_cast<uint32_t>(state - core->plan().states().data());
}

Status Session::Impl::noEntry(std::string_view name) const {
  std::vector<std::string> names;
  for (const EntrySpec &entry : core->plan().entries())
    names.push_back(escaped(entry.name));
  return notFound(fmt::format("the plan has no entry \"{}\"; it has: {}",
                              escaped(name), fmt::join(names, ", ")));
}

template <typename What>
static Status checkValue(const plan::TensorType &type,
                         const flatbuffers::Vector<int64_t> &shape,
                         const ArrayView &value, const What &what) {
  if (value.dtype == dtypeOf(type.dtype()) &&
      std::equal(shape.begin(), shape.end(), value.shape.begin(),
                 value.shape.end()))
    return {};
  return invalidArgument(fmt::format("{} must be {}, got {}", what(),
                                     typeName(dtypeOf(type.dtype()), shape),
                                     typeName(value.dtype, value.shape)));
}

std::vector<std::string> Session::Impl::unset(uint32_t index) const {
  std::vector<std::string> names;
  const plan::Entry &entry = *contents().entries()->Get(index);
  for (uint32_t i = 0; i < entry.inputs()->size(); ++i) {
    const Input &input = inputs[index][i];
    if (input.isState ? !stateIsSet[input.number] : !inputIsSet[index][i])
      names.push_back(entry.inputs()->Get(i)->name()->str());
  }
  return names;
}

Result<Session::Impl::ArenaLocation>
Session::Impl::readable(uint32_t state) const {
  if (stateIsSet[state])
    return states[state];
  return failedPrecondition(
      fmt::format("state \"{}\" is read, but nothing has set it",
                  escaped(core->plan().states()[state].name)));
}

Session::Impl::ArenaLocation
Session::Impl::locationOf(uint32_t entryIndex,
                          const plan::Binding &binding) const {
  const plan::Entry &entry = *contents().entries()->Get(entryIndex);
  ArenaLocation location{binding.type(), {}};
  const auto add = [&](uint32_t index) {
    const plan::Buffer &buffer = *entry.buffers()->Get(index);
    location.offsets.push_back({buffer.role(), buffer.offset()});
  };
  add(binding.buffer());
  if (const auto *copies = binding.copies())
    std::ranges::for_each(*copies, add);
  return location;
}

int64_t Session::Impl::ownerOf(const ArenaLocation &location,
                               int64_t rank) const {
  if (location.in(core->roles().of(rank)))
    return rank;
  return core->roles().rankIn(rank, *location.offsets.front().role);
}

Result<Session::Impl::ArenaLocation>
Session::Impl::find(std::string_view name) const {
  if (last) {
    const plan::Entry &entry = *contents().entries()->Get(*last);
    for (const plan::Binding *output : *entry.outputs())
      if (view(output->name()) == name)
        return locationOf(*last, *output);
  }
  if (const auto state = stateIndex(name))
    return readable(*state);
  return notFound(fmt::format(
      "\"{}\" is neither a state of the plan nor an output of {}",
      escaped(name),
      last
          ? fmt::format("entry \"{}\", which ran last",
                        escaped(view(contents().entries()->Get(*last)->name())))
          : std::string("an entry that has run")));
}

Result<Session::Impl::Destination>
Session::Impl::stateDestination(std::string_view name) {
  const auto index = stateIndex(name);
  if (!index)
    return notFound(fmt::format("the plan has no state \"{}\"", escaped(name)));
  return stateDestination(*index);
}

Session::Impl::Destination Session::Impl::stateDestination(uint32_t index) {
  const ArenaLocation &state = states[index];
  const auto write = [this, &state](Rank &rank, const Rank::Fill &fill) {
    const auto offset = state.in(core->roles().of(rank.number()));
    return offset ? rank.write(*offset, partBytes(*state.type), fill)
                  : Status();
  };
  return {state.type, "state", core->plan().states()[index].name, write,
          stateIsSet[index]};
}

Result<Session::Impl::Destination>
Session::Impl::inputDestination(std::string_view entryName,
                                std::string_view name) {
  const auto index = entryIndex(entryName);
  if (!index)
    return noEntry(entryName);
  const auto &bindings = *contents().entries()->Get(*index)->inputs();
  for (uint32_t i = 0; i < bindings.size(); ++i)
    if (view(bindings.Get(i)->name()) == name)
      return inputDestination(*index, i);
  return notFound(fmt::format("entry \"{}\" has no input \"{}\"",
                              escaped(entryName), escaped(name)));
}

Session::Impl::Destination Session::Impl::inputDestination(uint32_t entry,
                                                           uint32_t index) {
  const Input input = inputs[entry][index];
  if (input.isState)
    return stateDestination(input.number);
  const plan::Binding &binding =
      *contents().entries()->Get(entry)->inputs()->Get(index);
  const auto write = [entry, staged = input.number](Rank &rank,
                                                    const Rank::Fill &fill) {
    if (std::byte *part = rank.input(entry, staged))
      fill(part);
    return Status();
  };
  return {binding.type(), "input", view(binding.name()), write,
          inputIsSet[entry][index]};
}

Result<std::chrono::nanoseconds> deadlineOf(double seconds) {
  if (seconds >= 0.001 && seconds <= 1e9)
    return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  if (seconds == std::numeric_limits<double>::infinity())
    return std::chrono::nanoseconds::max();
  return invalidArgument(fmt::format(
      "deadline must be from 0.001 to 1e9 seconds or infinity, got {}",
      seconds));
}

Session::Session(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(Plan plan,
                                                 SessionOptions options) {
  Result<std::shared_ptr<SessionCore>> core =
      SessionCore::create(std::move(plan), options);
  if (!core.ok()) {
    // The other processes wait for this one.
    if (options.bootstrap)
      options.bootstrap->failHere(core.status().message());
    return core.status();
  }
  return std::unique_ptr<Session>(
      new Session(std::make_unique<Impl>(*std::move(core))));
}

const Plan &Session::plan() const { return impl->core->plan(); }

Status Session::Impl::setWhole(Result<Destination> destination,
                               const ArrayView &value) {
  if (!destination.ok())
    return destination.status();
  const plan::TensorType &type = *destination->type;
  WEFT_RETURN_IF_ERROR(checkValue(type, *type.global_shape(), value,
                                  [&] { return destination->what(); }));
  for (const auto &rank : core->ranks())
    WEFT_RETURN_IF_ERROR(destination->write(*rank, [&](std::byte *part) {
      extractShard(type, core->mesh(), rank->number(), value.data, part);
    }));
  destination->isSet = true;
  return {};
}

/// Whole, where several ranks hold the same or a part is scattered; otherwise
/// only the parts.
Status Session::Impl::setFrom(Result<Destination> destination,
                              const TensorSource &value) {
  if (!destination.ok())
    return destination.status();
  const plan::TensorType &type = *destination->type;
  const bool isWhole =
      isReplicated(type) ||
      !std::ranges::all_of(core->ranks(), [&](const auto &rank) {
        return isOfLongRuns(type, core->mesh(), rank->number());
      });
  if (isWhole) {
    Array whole(value.dtype, value.shape);
    WEFT_RETURN_IF_ERROR(value.read(0, whole.data));
    return setWhole(std::move(destination), whole);
  }
  WEFT_RETURN_IF_ERROR(checkValue(type, *type.global_shape(),
                                  {value.dtype, value.shape, nullptr},
                                  [&] { return destination->what(); }));
  for (const auto &rank : core->ranks()) {
    Status read;
    WEFT_RETURN_IF_ERROR(destination->write(*rank, [&](std::byte *part) {
      read = readShard(type, core->mesh(), rank->number(), value.read, part);
    }));
    WEFT_RETURN_IF_ERROR(read);
  }
  destination->isSet = true;
  return {};
}

/// Whether every rank of every role has all of it, and so each process.
bool Session::Impl::isWholeHere(const ArenaLocation &location) const {
  if (!isReplicated(*location.type))
    return false;
  for (uint32_t role = 0; role < core->roles().count(); ++role)
    if (!location.in(role))
      return false;
  return true;
}

Status Session::Impl::readWhole(const ArenaLocation &location,
                                std::byte *to) const {
  const Rank &rank = *core->ranks()[0];
  const size_t bytes = partBytes(*location.type);
  std::vector<std::byte> copy;
  WEFT_ASSIGN_OR_RETURN(
      const std::byte *memory,
      rank.read(*location.in(core->roles().of(rank.number())), bytes, copy));
  std::copy_n(memory, bytes, to);
  return {};
}

/// The parts of all ranks, in their order.
Result<std::vector<std::byte>>
Session::Impl::gatherParts(const ArenaLocation &location) const {
  const size_t bytes = partBytes(*location.type);
  std::vector<std::byte> mine, copy;
  for (const auto &rank : core->ranks()) {
    const auto offset = location.in(core->roles().of(rank->number()));
    if (!offset) {
      mine.resize(mine.size() + bytes); // nobody looks at it
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(const std::byte *part,
                          rank->read(*offset, bytes, copy));
    mine.insert(mine.end(), part, part + bytes);
  }
  return core->gather(mine, core->deadline());
}

Result<Array> Session::Impl::assemble(const ArenaLocation &location) const {
  const size_t bytes = partBytes(*location.type);
  if (isWholeHere(location)) {
    Array whole(dtypeOf(location.type->dtype()),
                {location.type->global_shape()->begin(),
                 location.type->global_shape()->end()});
    WEFT_RETURN_IF_ERROR(readWhole(location, whole.data.data()));
    return whole;
  }
  if (core->bootstrap()) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<std::byte> parts,
                          gatherParts(location));
    return assembleShards(*location.type, core->mesh(), [&](int64_t number) {
      return parts.data() + ownerOf(location, number) * bytes;
    });
  }
  Status status;
  std::vector<std::byte> copy;
  Array whole =
      assembleShards(*location.type, core->mesh(), [&](int64_t number) {
        const int64_t owner = ownerOf(location, number);
        Result<const std::byte *> part = core->rank(owner)->read(
            *location.in(core->roles().of(owner)), bytes, copy);
        if (part.ok())
          return *part;
        status = part.status();
        copy.resize(bytes);
        return const_cast<const std::byte *>(copy.data());
      });
  if (!status.ok())
    return status;
  return whole;
}

Status Session::setInput(std::string_view entry, std::string_view name,
                         const ArrayView &value) {
  return impl->setWhole(impl->inputDestination(entry, name), value);
}

Status Session::setInput(uint32_t entry, uint32_t input,
                         const ArrayView &value) {
  return impl->setWhole(
      impl->inputDestination(plan().entries()[entry].number, input), value);
}

Status Session::setInputFrom(std::string_view entry, std::string_view name,
                             const TensorSource &value) {
  return impl->setFrom(impl->inputDestination(entry, name), value);
}

Status Session::setStateFrom(std::string_view name, const TensorSource &value) {
  return impl->setFrom(impl->stateDestination(name), value);
}

Status Session::setState(std::string_view name, const ArrayView &value) {
  return impl->setWhole(impl->stateDestination(name), value);
}

Status Session::setInputShards(std::string_view entry, std::string_view name,
                               std::span<const ArrayView> parts) {
  WEFT_ASSIGN_OR_RETURN(Impl::Destination destination,
                        impl->inputDestination(entry, name));
  const int64_t ranks = impl->core->mesh().ranks();
  if (static_cast<int64_t>(parts.size()) != ranks)
    return invalidArgument(
        fmt::format("{} needs a shard for each of the {} ranks, got {}",
                    destination.what(), ranks, parts.size()));
  for (int64_t r = 0; r < ranks; ++r)
    WEFT_RETURN_IF_ERROR(checkValue(
        *destination.type, *destination.type->local_shape(), parts[r], [&] {
          return fmt::format("the shard of rank {} of {}", r,
                             destination.what());
        }));
  for (const auto &rank : impl->core->ranks())
    WEFT_RETURN_IF_ERROR(destination.write(*rank, [&](std::byte *part) {
      copyShard(*destination.type, impl->core->mesh(), rank->number(),
                parts[rank->number()].data, part);
    }));
  destination.isSet = true;
  return {};
}

Result<Array> Session::getState(std::string_view name) const {
  const auto index = impl->stateIndex(name);
  if (!index)
    return notFound(fmt::format("the plan has no state \"{}\"", escaped(name)));
  WEFT_ASSIGN_OR_RETURN(const Impl::ArenaLocation location,
                        impl->readable(*index));
  return impl->assemble(location);
}

std::vector<uint64_t> Session::arenaBytes() const {
  std::vector<uint64_t> bytes;
  for (const auto &rank : impl->core->ranks())
    bytes.push_back(rank->arenaBytes());
  return bytes;
}

std::vector<std::string> Session::unsetInputs(std::string_view entry) const {
  const auto index = impl->entryIndex(entry);
  return index ? impl->unset(*index) : std::vector<std::string>();
}

Status Session::run(std::string_view name) {
  const auto index = impl->entryIndex(name);
  if (!index)
    return impl->noEntry(name);
  if (const auto unset = impl->unset(*index); !unset.empty())
    return failedPrecondition(fmt::format(
        "entry \"{}\" reads inputs that are not set: {}", escaped(name),
        escaped(fmt::format("{}", fmt::join(unset, ", ")))));
  WEFT_RETURN_IF_ERROR(impl->core->run(*index));
  for (uint32_t state : impl->updates[*index])
    impl->stateIsSet[state] = true;
  impl->last = index;
  return {};
}

RunTimes Session::lastRunTimes() const { return impl->core->lastRunTimes(); }

Result<Array> Session::getOutput(std::string_view name) const {
  WEFT_ASSIGN_OR_RETURN(const Impl::ArenaLocation location, impl->find(name));
  return impl->assemble(location);
}

Status Session::readOutput(uint32_t output, std::byte *to) const {
  if (!impl->last)
    return failedPrecondition("an output is read, but no entry has run");
  const Impl::ArenaLocation location = impl->locationOf(
      *impl->last,
      *impl->contents().entries()->Get(*impl->last)->outputs()->Get(output));
  if (impl->isWholeHere(location))
    return impl->readWhole(location, to);
  WEFT_ASSIGN_OR_RETURN(const Array whole, impl->assemble(location));
  std::copy_n(whole.data.data(), whole.bytes(), to);
  return {};
}

Result<Array> Session::getShard(std::string_view name, int64_t rank) const {
  WEFT_ASSIGN_OR_RETURN(const Impl::ArenaLocation location, impl->find(name));
  if (rank < 0 || rank >= impl->core->mesh().ranks())
    return invalidArgument(fmt::format("rank {} is not one of the {} ranks",
                                       rank, impl->core->mesh().ranks()));
  // Roles that do not have it have no part of it either.
  const int64_t owner = impl->ownerOf(location, rank);
  if (!impl->core->rank(owner))
    return invalidArgument(fmt::format(
        "rank {} is of another process, which has its shard", owner));
  const uint64_t offset = *location.in(impl->core->roles().of(owner));
  Array part(dtypeOf(location.type->dtype()),
             {location.type->local_shape()->begin(),
              location.type->local_shape()->end()});
  std::vector<std::byte> copy;
  WEFT_ASSIGN_OR_RETURN(
      const std::byte *memory,
      impl->core->rank(owner)->read(offset, part.bytes(), copy));
  std::copy_n(memory, part.bytes(), part.data.data());
  return part;
}

Status Session::writeTrace(const std::string &path) const {
  const Bootstrap *bootstrap = impl->core->bootstrap();
  WEFT_ASSIGN_OR_RETURN(const std::vector<RankTrace> traces,
                        gatherTraces(*impl->core));
  if (bootstrap && bootstrap->launch().rank != 0)
    return {};
  std::vector<const RankTrace *> tracks;
  for (const RankTrace &trace : traces)
    tracks.push_back(&trace);
  return writeTraceFile(path, plan(), tracks);
}

} // namespace weft::runtime
