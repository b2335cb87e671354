//===- Roles.h - Which rank has what of a pipeline --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The role of a rank is its coordinate along the axis of the pipeline. A plan
// without a pipeline has one role, 0, which all ranks have.
//
// Example: mesh <["pipe"=2, "data"=2]> with a pipeline over "pipe"
//   role of rank 3        1
//   rankIn(3, 0)          1, which has rank 3's coordinate along "data"
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_ROLES_H
#define WEFT_RUNTIME_SRC_PLAN_ROLES_H

#include "plan/Mesh.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::runtime {

/// An optional role of the schema; none: all of them.
using OptionalRole = flatbuffers::Optional<uint32_t>;

/// Whether ranks of `role` have something of `owner`.
inline bool isOf(OptionalRole owner, uint32_t role) {
  return !owner || *owner == role;
}

class Roles {
public:
  /// Of a plan whose pipeline was verified.
  Roles(const plan::Plan &plan, const Mesh &mesh);

  uint32_t count() const { return static_cast<uint32_t>(arenas.size()); }
  uint32_t of(int64_t rank) const;
  /// The rank of `role` that differs from `rank` in its role only.
  int64_t rankIn(int64_t rank, uint32_t role) const;
  /// The arena of every rank that has something of `owner` holds so much.
  uint64_t arenaBytes(OptionalRole owner) const;
  /// Whether one of `refs` is the axis of the pipeline or a part of it.
  bool split(const std::vector<plan::AxisRef> &refs) const;

private:
  const Mesh &mesh;
  /// The axis of the pipeline; empty without one.
  std::vector<plan::AxisRef> axis;
  std::vector<uint64_t> arenas;
};

/// The states of a plan by name.
class StateNames {
public:
  explicit StateNames(const plan::Plan &plan);

  /// The state of that name that ranks with things of `owner` have, or null.
  const plan::State *find(std::string_view name, OptionalRole owner) const;

private:
  std::unordered_multimap<std::string_view, const plan::State *> states;
};

/// The buffer that holds a value of an entry with a timeline in a role, if that
/// has it.
std::optional<uint32_t> bufferOf(const plan::Entry &entry,
                                 const plan::Binding &binding, uint32_t role);

/// Bytes of all slots of a state or buffer.
template <typename Slotted> uint64_t spanOf(const Slotted &slotted) {
  return slotted.slots() == 1 ? slotted.bytes()
                              : slotted.slots() * slotted.slot_bytes();
}

/// Where the slot of a micro-batch begins in the arena.
template <typename Slotted>
uint64_t offsetOf(const Slotted &slotted, uint32_t microbatch) {
  return slotted.offset() + microbatch % slotted.slots() * slotted.slot_bytes();
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_ROLES_H
