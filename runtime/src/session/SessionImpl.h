//===- SessionImpl.h - What a session consists of ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of a plan by name and by number, and where they are in the memory
// of the ranks.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_SESSION_SESSIONIMPL_H
#define WEFT_RUNTIME_SRC_SESSION_SESSIONIMPL_H

#include "session/SessionCore.h"
#include "session/ShardCopy.h"
#include "session/StateShards.h"
#include "weft/runtime/Session.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

class Session::Impl {
public:
  explicit Impl(std::shared_ptr<SessionCore> core);
  ~Impl() { core->shutDown(); }

  const plan::Plan &contents() const { return core->plan().contents(); }
  /// Of those that can be run, by number in the plan's contents.
  std::optional<uint32_t> entryIndex(std::string_view name) const;
  /// As `Plan::states()` counts.
  std::optional<uint32_t> stateIndex(std::string_view name) const;
  Status noEntry(std::string_view name) const;
  std::vector<std::string> unset(uint32_t entry) const;
  /// A value in the arenas: its type, and where it begins in those of each role
  /// that has it.
  struct ArenaLocation {
    struct Offset {
      OptionalRole role;
      uint64_t bytes;
    };
    const plan::TensorType *type;
    std::vector<Offset> offsets;

    /// Where ranks of `role` have it.
    std::optional<uint64_t> in(uint32_t role) const {
      for (const Offset &offset : offsets)
        if (isOf(offset.role, role))
          return offset.bytes;
      return std::nullopt;
    }
  };
  /// The state, or why it cannot be read.
  Result<ArenaLocation> readable(uint32_t state) const;
  Result<ArenaLocation> find(std::string_view name) const;

  /// An input or a state, where the host writes it.
  struct Destination {
    const plan::TensorType *type;
    /// How messages call it: what it is, and its name.
    std::string_view kind, name;
    /// Lets something write the part of a rank.
    std::function<Status(Rank &, const Rank::Fill &)> write;
    std::vector<bool>::reference isSet;

    std::string what() const {
      return fmt::format("{} \"{}\"", kind, escaped(name));
    }
  };
  Result<Destination> stateDestination(std::string_view name);
  Destination stateDestination(uint32_t state);
  Result<Destination> inputDestination(std::string_view entry,
                                       std::string_view name);
  Destination inputDestination(uint32_t entry, uint32_t input);
  Status setWhole(Result<Destination> destination, const ArrayView &value);
  Status setFrom(Result<Destination> destination, const TensorSource &value);
  /// The whole tensor at a location, out of the parts of the ranks.
  bool isWholeHere(const ArenaLocation &location) const;
  Status readWhole(const ArenaLocation &location, std::byte *to) const;
  Result<std::vector<std::byte>>
  gatherParts(const ArenaLocation &location) const;
  Result<Array> assemble(const ArenaLocation &location) const;
  ArenaLocation locationOf(uint32_t entry, const plan::Binding &binding) const;
  /// The rank that gives the part of `rank`: itself, or in another role.
  int64_t ownerOf(const ArenaLocation &location, int64_t rank) const;

  /// The states of the plan as a checkpoint has them, and the parts that this
  /// process holds (SessionCheckpoint.cpp).
  Status prepareSave(CheckpointWriter &writer);
  Status save(CheckpointWriter &writer, int64_t step, Metadata metadata);
  Status copyStates(CheckpointContents &contents);
  Status copyState(size_t s, std::span<const CheckpointPart> parts,
                   std::byte *memory);
  Status restore(const std::string &path);
  const std::vector<StateShards> &stateShards();

  /// What an input is: a state, or one of the others, which are counted apart.
  struct Input {
    bool isState;
    uint32_t number;
  };
  std::shared_ptr<SessionCore> core;
  /// As `Plan::states()` counts.
  std::vector<ArenaLocation> states;
  /// [entry][input], found once: a step must not compare names.
  std::vector<std::vector<Input>> inputs;
  /// [entry][output that is a state], as states.
  std::vector<std::vector<uint32_t>> updates;
  /// [state], and [entry][input], of which states are left out.
  std::vector<bool> stateIsSet;
  std::vector<std::vector<bool>> inputIsSet;
  /// [state], once it was asked for.
  std::vector<StateShards> shards;
  /// The entry that ran last.
  std::optional<uint32_t> last;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_SESSION_SESSIONIMPL_H
