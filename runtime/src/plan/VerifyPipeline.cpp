//===- VerifyPipeline.cpp - Roles and who has one are checked -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"
#include "plan/Text.h"

#include <algorithm>

namespace weft::runtime {

static Status verifyRoles(const plan::Plan &plan) {
  const plan::Pipeline &pipeline = *plan.pipeline();
  if (pipeline.axis() >= plan.mesh()->size())
    return invalidArgument(
        fmt::format("the pipeline is over mesh axis {}, but the mesh has {}",
                    pipeline.axis(), plan.mesh()->size()));
  const plan::MeshAxis &axis = *plan.mesh()->Get(pipeline.axis());
  if (pipeline.roles()->size() != axis.size())
    return invalidArgument(fmt::format(
        "the number of roles is {}, but mesh axis \"{}\" has size {}",
        pipeline.roles()->size(), escaped(view(axis.name())), axis.size()));
  for (uint32_t role = 0; role < axis.size(); ++role)
    if (pipeline.roles()->Get(role)->arena_bytes() > plan.arena_bytes())
      return invalidArgument(fmt::format(
          "role {} has an arena of {} bytes, the largest has {}", role,
          pipeline.roles()->Get(role)->arena_bytes(), plan.arena_bytes()));
  return {};
}

/// What may say of which role it is.
static Status verifyOwner(const plan::Plan &plan, OptionalRole owner,
                          std::string_view what) {
  if (!owner)
    return {};
  if (!plan.pipeline())
    return invalidArgument(fmt::format(
        "{} is of role {}, but the plan has no pipeline", what, *owner));
  if (*owner >= plan.pipeline()->roles()->size())
    return invalidArgument(
        fmt::format("{} is of role {}, but the pipeline has {}", what, *owner,
                    plan.pipeline()->roles()->size()));
  return {};
}

/// A segment takes and leaves states only.
static Status verifySegment(const plan::Entry &entry) {
  if (entry.timeline())
    return invalidArgument("has both a role and a timeline");
  for (const plan::Buffer *buffer : *entry.buffers())
    if (buffer->kind() == plan::BufferKind::Input ||
        buffer->kind() == plan::BufferKind::Output)
      return invalidArgument(fmt::format(
          "is a segment and has buffers of kind {}; what it takes and leaves "
          "are states",
          bufferKindName(buffer->kind())));
  return {};
}

static Status verifyOwners(const plan::Plan &plan, const plan::Entry &entry) {
  WEFT_RETURN_IF_ERROR(verifyOwner(plan, entry.role(), "the entry"));
  for (uint32_t i = 0; i < entry.buffers()->size(); ++i) {
    const OptionalRole owner = entry.buffers()->Get(i)->role();
    WEFT_RETURN_IF_ERROR(verifyOwner(plan, owner, fmt::format("buffer {}", i)));
    if (owner && !entry.timeline())
      return invalidArgument(fmt::format(
          "buffer {} is of role {}, but the entry has no timeline", i, *owner));
  }
  if (entry.deferred_from() && !entry.role())
    return invalidArgument("is put off, but is no segment");
  if (entry.timeline() && !plan.pipeline())
    return invalidArgument("has a timeline, but the plan has no pipeline");
  return entry.role() ? verifySegment(entry) : Status();
}

Status verifyPipeline(const plan::Plan &plan) {
  if (plan.pipeline())
    WEFT_RETURN_IF_ERROR(verifyRoles(plan));
  for (const plan::State *state : *plan.states())
    WEFT_RETURN_IF_ERROR(
        verifyOwner(plan, state->role(),
                    fmt::format("state \"{}\"", escaped(view(state->name())))));
  for (const plan::Entry *entry : *plan.entries())
    WEFT_RETURN_IF_ERROR(
        verifyOwners(plan, *entry)
            .withContext(
                fmt::format("entry \"{}\"", escaped(view(entry->name())))));
  return {};
}

} // namespace weft::runtime
