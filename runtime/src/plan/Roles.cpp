//===- Roles.cpp - Which rank has what of a pipeline ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/Roles.h"

#include "plan/Text.h"

#include <algorithm>

namespace weft::runtime {

Roles::Roles(const plan::Plan &plan, const Mesh &mesh) : mesh(mesh) {
  const plan::Pipeline *pipeline = plan.pipeline();
  if (!pipeline) {
    arenas.push_back(plan.arena_bytes());
    return;
  }
  axis.emplace_back(pipeline->axis(), 1,
                    plan.mesh()->Get(pipeline->axis())->size());
  for (const plan::Role *role : *pipeline->roles())
    arenas.push_back(role->arena_bytes());
}

uint32_t Roles::of(int64_t rank) const {
  return static_cast<uint32_t>(mesh.position(rank, axis));
}

int64_t Roles::rankIn(int64_t rank, uint32_t role) const {
  return mesh.rankAt(rank, axis, role);
}

uint64_t Roles::arenaBytes(OptionalRole owner) const {
  return owner ? arenas[*owner] : *std::ranges::min_element(arenas);
}

bool Roles::split(const std::vector<plan::AxisRef> &refs) const {
  return !axis.empty() && std::ranges::any_of(refs, [&](const auto &ref) {
    return ref.axis() == axis.front().axis() && ref.size() != 1;
  });
}

StateNames::StateNames(const plan::Plan &plan) {
  for (const plan::State *state : *plan.states())
    states.emplace(view(state->name()), state);
}

const plan::State *StateNames::find(std::string_view name,
                                    OptionalRole owner) const {
  const auto [first, last] = states.equal_range(name);
  for (auto it = first; it != last; ++it)
    if (!it->second->role() || it->second->role() == owner)
      return it->second;
  return nullptr;
}

std::optional<uint32_t> bufferOf(const plan::Entry &entry,
                                 const plan::Binding &binding, uint32_t role) {
  const auto isHeld = [&](uint32_t buffer) {
    return isOf(entry.buffers()->Get(buffer)->role(), role);
  };
  if (isHeld(binding.buffer()))
    return binding.buffer();
  if (const auto *copies = binding.copies())
    for (uint32_t copy : *copies)
      if (isHeld(copy))
        return copy;
  return std::nullopt;
}

} // namespace weft::runtime
