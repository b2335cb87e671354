//===- PlanVerifier.cpp - The header of a plan is checked -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"

#include "plan/BufferParts.h"
#include "plan/Text.h"
#include "weft/runtime/PlanFormat.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>

namespace weft::runtime {

Result<int64_t> elementCount(const flatbuffers::Vector<int64_t> &shape,
                             DType dtype) {
  int64_t bytes = static_cast<int64_t>(byteSize(dtype));
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes) ||
        bytes >= (int64_t(1) << 62))
      return invalidArgument(
          fmt::format("shape [{}] has a negative extent or too many bytes",
                      extents(shape)));
  return bytes / static_cast<int64_t>(byteSize(dtype));
}

static Status verifyDevices(const plan::Plan &plan, int64_t ranks) {
  if (!plan.devices())
    return {};
  if (plan.devices()->size() != ranks)
    return invalidArgument(
        fmt::format("the mesh has {} positions and lists {} devices", ranks,
                    plan.devices()->size()));
  std::vector<bool> named(ranks);
  for (uint32_t device : *plan.devices()) {
    if (device >= ranks || named[device])
      return invalidArgument(fmt::format(
          "the mesh lists device {}, of {} devices each once", device, ranks));
    named[device] = true;
  }
  return {};
}

static Status verifyMesh(const plan::Plan &plan) {
  std::set<std::string_view> names;
  int64_t ranks = 1;
  for (const plan::MeshAxis *axis : *plan.mesh()) {
    if (axis->size() < 1)
      return invalidArgument(
          fmt::format("mesh axis \"{}\" has size {}, must be at least 1",
                      escaped(view(axis->name())), axis->size()));
    if (!names.insert(view(axis->name())).second)
      return invalidArgument(fmt::format("the mesh has two axes named \"{}\"",
                                         escaped(view(axis->name()))));
    if (__builtin_mul_overflow(ranks, axis->size(), &ranks) ||
        ranks > std::numeric_limits<int32_t>::max())
      return invalidArgument(fmt::format("the mesh has more than {} devices",
                                         std::numeric_limits<int32_t>::max()));
  }
  return verifyDevices(plan, ranks);
}

/// Whether parts of size `local` hold `global` elements and less padding than
/// there are ranks; a single part holds none.
static bool isPartOf(int64_t local, int64_t global, int64_t parts,
                     int64_t ranks) {
  // First without a product, which might not fit.
  if (local < global / parts || local > global / parts + ranks)
    return false;
  const int64_t padding = local * parts - global;
  return padding >= 0 && padding < (parts == 1 ? 1 : ranks);
}

std::vector<plan::AxisRef> axesOf(const plan::TensorType &type) {
  std::vector<plan::AxisRef> all = axesOf(type.unreduced());
  for (const plan::AxisList *axes : *type.dim_axes())
    for (const plan::AxisRef &ref : axesOf(axes))
      all.push_back(ref);
  return all;
}

Status verifyType(const Mesh &mesh, const plan::TensorType &type) {
  const DType dtype = dtypeOf(type.dtype());
  if (!isValid(dtype))
    return invalidArgument(
        fmt::format("unknown element type {}", static_cast<int>(dtype)));
  const auto &global = *type.global_shape();
  const auto &local = *type.local_shape();
  const auto &dims = *type.dim_axes();
  if (local.size() != global.size() || dims.size() != global.size())
    return invalidArgument(fmt::format(
        "global shape [{}], local shape [{}] and {} lists of axes differ in "
        "rank",
        extents(global), extents(local), dims.size()));
  WEFT_RETURN_IF_ERROR(elementCount(global, dtype).status());
  WEFT_RETURN_IF_ERROR(mesh.checkAxes(axesOf(type), "sharding"));
  for (uint32_t d = 0; d < global.size(); ++d) {
    const int64_t parts = groupSize(axesOf(dims.Get(d)));
    if (!isPartOf(local.Get(d), global.Get(d), parts, mesh.ranks()))
      return invalidArgument(fmt::format(
          "dimension {}: local size {} is not global size {} / {} parts", d,
          local.Get(d), global.Get(d), parts));
  }
  if (type.unreduced_kind() > plan::Reduction::MAX)
    return invalidArgument(
        fmt::format("unreduced_kind {} is no reduction",
                    static_cast<int>(type.unreduced_kind())));
  if (type.unreduced() && type.unreduced()->axes()->size() != 0 &&
      type.unreduced_kind() == plan::Reduction::Sum && dtype == DType::Pred)
    return invalidArgument("a pred value cannot hold partial sums");
  return {};
}

/// Whether [offset, offset + bytes) is an aligned piece of the arena.
static Status verifyRegion(uint64_t offset, uint64_t bytes, uint64_t arena) {
  if (offset % bufferAlignment != 0)
    return invalidArgument(fmt::format("offset {} is not a multiple of {}",
                                       offset, bufferAlignment));
  if (bytes > arena || offset > arena - bytes)
    return invalidArgument(
        fmt::format("bytes {}..{} lie outside the arena of {} bytes", offset,
                    static_cast<unsigned __int128>(offset) + bytes, arena));
  return {};
}

/// Whether the slots of a state or buffer do not share bytes, and lie in the
/// arenas that have it.
template <typename Slotted>
static Status verifySlots(const Slotted &slotted, uint64_t arena) {
  if (slotted.slots() == 0)
    return invalidArgument("has 0 slots, must have at least 1");
  if (slotted.slots() == 1)
    return verifyRegion(slotted.offset(), slotted.bytes(), arena);
  if (slotted.slot_bytes() < slotted.bytes() ||
      slotted.slot_bytes() % bufferAlignment != 0)
    return invalidArgument(fmt::format(
        "slots of {} bytes begin every {} bytes, must be a multiple of {} that "
        "holds one",
        slotted.bytes(), slotted.slot_bytes(), bufferAlignment));
  uint64_t span = 0;
  if (__builtin_mul_overflow(slotted.slots(), slotted.slot_bytes(), &span))
    return invalidArgument(
        fmt::format("{} slots of {} bytes are too many bytes", slotted.slots(),
                    slotted.slot_bytes()));
  return verifyRegion(slotted.offset(), span, arena);
}

/// States of one name are of different roles, and of one type.
static Status verifyStateNames(const plan::Plan &plan) {
  std::map<std::string_view, std::set<int64_t>> names;
  std::map<std::string_view, const plan::State *> visible;
  constexpr int64_t all = -1;
  for (const plan::State *state : *plan.states()) {
    std::set<int64_t> &found = names[view(state->name())];
    const int64_t role = state->role() ? int64_t(*state->role()) : all;
    if (found.contains(role) || found.contains(all) ||
        (role == all && !found.empty()))
      return invalidArgument(fmt::format("state \"{}\" is listed twice",
                                         escaped(view(state->name()))));
    found.insert(role);
    if (state->internal())
      continue;
    const plan::State &first =
        *visible.emplace(view(state->name()), state).first->second;
    if (!isSameType(*first.type(), *state->type()))
      return invalidArgument(fmt::format(
          "the states named \"{}\" of roles {} and {} differ in type",
          escaped(view(state->name())), *first.role(), role));
  }
  return {};
}

static Status verifyStates(const plan::Plan &plan, const Mesh &mesh,
                           const Roles &roles) {
  for (const plan::State *state : *plan.states()) {
    const std::string what =
        fmt::format("state \"{}\"", escaped(view(state->name())));
    WEFT_RETURN_IF_ERROR(verifyType(mesh, *state->type()).withContext(what));
    const DType dtype = dtypeOf(state->type()->dtype());
    WEFT_ASSIGN_OR_RETURN(const int64_t elements,
                          elementCount(*state->type()->local_shape(), dtype));
    if (state->bytes() < elements * byteSize(dtype))
      return invalidArgument(
          fmt::format("{} has {} bytes, its local shape needs {}", what,
                      state->bytes(), elements * byteSize(dtype)));
    WEFT_RETURN_IF_ERROR(
        verifySlots(*state, roles.arenaBytes(state->role())).withContext(what));
    if (state->role() && roles.split(axesOf(*state->type())))
      return invalidArgument(
          fmt::format("{} is of role {}, but split or unreduced over the axis "
                      "of the pipeline",
                      what, *state->role()));
    if (state->counts() && (dtype != DType::I32 || elements != 1))
      return invalidArgument(
          fmt::format("{} counts micro-batches and must be i32[], got {}", what,
                      typeName(dtype, *state->type()->local_shape())));
  }
  return verifyStateNames(plan);
}

static Status verifyGroups(const plan::Plan &plan, const Mesh &mesh) {
  for (uint32_t i = 0; i < plan.groups()->size(); ++i)
    WEFT_RETURN_IF_ERROR(mesh.checkAxes(axesOf(plan.groups()->Get(i)),
                                        fmt::format("group {}", i)));
  return {};
}

/// Buffers of all entries: their own fields, not yet what touches them.
static Status verifyBuffers(const plan::Plan &plan, const Roles &roles,
                            const plan::Entry &entry) {
  const uint64_t data = plan.constant_data() ? plan.constant_data()->size() : 0;
  for (uint32_t i = 0; i < entry.buffers()->size(); ++i) {
    const plan::Buffer &buffer = *entry.buffers()->Get(i);
    const std::string what = fmt::format("buffer {}", i);
    const DType dtype = dtypeOf(buffer.dtype());
    if (buffer.kind() > plan::BufferKind::MAX)
      return invalidArgument(fmt::format("{} has unknown kind {}", what,
                                         static_cast<int>(buffer.kind())));
    if (!isValid(dtype))
      return invalidArgument(fmt::format("{} has unknown element type {}", what,
                                         static_cast<int>(dtype)));
    Result<int64_t> elements = elementCount(*buffer.shape(), dtype);
    if (!elements.ok())
      return elements.status().withContext(what);
    if (buffer.bytes() < *elements * byteSize(dtype))
      return invalidArgument(fmt::format(
          "{} has {} bytes, its shape {} needs {}", what, buffer.bytes(),
          typeName(dtype, *buffer.shape()), *elements * byteSize(dtype)));
    const OptionalRole owner = entry.timeline() ? buffer.role() : entry.role();
    if (buffer.slots() != 1 && buffer.kind() != plan::BufferKind::State)
      return invalidArgument(fmt::format("{} has {} slots, but is no state",
                                         what, buffer.slots()));
    WEFT_RETURN_IF_ERROR(
        verifySlots(buffer, roles.arenaBytes(owner)).withContext(what));
    if (buffer.kind() == plan::BufferKind::Constant &&
        (buffer.bytes() > data || buffer.data_offset() > data - buffer.bytes()))
      return invalidArgument(fmt::format(
          "{}: contents at {}..{} lie outside the {} bytes of constant data",
          what, buffer.data_offset(),
          static_cast<unsigned __int128>(buffer.data_offset()) + buffer.bytes(),
          data));
  }
  return verifyParts(entry);
}

static std::vector<FixedRegion> collectFixedRegions(const plan::Plan &plan,
                                                    uint32_t role) {
  std::vector<FixedRegion> regions;
  for (const plan::State *state : *plan.states())
    if (isOf(state->role(), role))
      regions.push_back(
          {state->offset(), spanOf(*state), UINT64_MAX,
           fmt::format("state \"{}\"", escaped(view(state->name())))});
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> seen;
  for (const plan::Entry *entry : *plan.entries())
    for (uint32_t i = 0; i < entry->buffers()->size(); ++i) {
      const plan::Buffer &buffer = *entry->buffers()->Get(i);
      if (isOf(entry->role(), role) &&
          buffer.kind() == plan::BufferKind::Constant &&
          seen.emplace(buffer.offset(), buffer.bytes(), buffer.data_offset())
              .second)
        regions.push_back({buffer.offset(), buffer.bytes(),
                           buffer.data_offset(),
                           fmt::format("constant buffer {} of entry \"{}\"", i,
                                       escaped(view(entry->name())))});
    }
  return regions;
}

static Status verifyFixedRegions(std::vector<FixedRegion> regions) {
  std::erase_if(regions, [](const FixedRegion &r) { return r.bytes == 0; });
  std::stable_sort(regions.begin(), regions.end(),
                   [](const FixedRegion &a, const FixedRegion &b) {
                     return a.offset < b.offset;
                   });
  for (size_t i = 1; i < regions.size(); ++i)
    if (regions[i].offset < regions[i - 1].offset + regions[i - 1].bytes)
      return invalidArgument(fmt::format(
          "{} (bytes {}..{}) and {} (bytes {}..{}) overlap",
          regions[i - 1].name, regions[i - 1].offset,
          regions[i - 1].offset + regions[i - 1].bytes, regions[i].name,
          regions[i].offset, regions[i].offset + regions[i].bytes));
  return {};
}

/// `verify` of each entry of a kind: with a timeline, or without.
template <typename Verify>
static Status forEachEntry(const plan::Plan &plan, bool hasTimeline,
                           const Verify &verify) {
  for (const plan::Entry *entry : *plan.entries())
    if ((entry->timeline() != nullptr) == hasTimeline)
      WEFT_RETURN_IF_ERROR(verify(*entry).withContext(
          fmt::format("entry \"{}\"", escaped(view(entry->name())))));
  return {};
}

/// Nothing else calls a segment, and its results would be missing.
static Status verifySegmentsRun(const plan::Plan &plan) {
  std::vector<bool> runs(plan.entries()->size());
  for (const plan::Entry *entry : *plan.entries())
    if (const plan::Timeline *timeline = entry->timeline())
      for (const plan::TimelineRow *row : *timeline->rows())
        for (const plan::Action *action : *row->actions())
          if (action->kind() == plan::ActionKind::Run)
            runs[action->index()] = true;
  for (uint32_t i = 0; i < runs.size(); ++i)
    if (plan.entries()->Get(i)->role() && !runs[i])
      return invalidArgument(
          fmt::format("entry \"{}\" is a segment that no timeline runs",
                      escaped(view(plan.entries()->Get(i)->name()))));
  return {};
}

Status verifyPlan(const plan::Plan &plan) {
  WEFT_RETURN_IF_ERROR(verifyMesh(plan));
  WEFT_RETURN_IF_ERROR(verifyPipeline(plan));
  const Mesh mesh(plan);
  const Roles roles(plan, mesh);
  WEFT_RETURN_IF_ERROR(verifyGroups(plan, mesh));
  WEFT_RETURN_IF_ERROR(verifyStates(plan, mesh, roles));
  WEFT_RETURN_IF_ERROR(verifyKernels(plan));
  std::set<std::string_view> names;
  for (const plan::Entry *entry : *plan.entries()) {
    if (!names.insert(view(entry->name())).second)
      return invalidArgument(fmt::format("two entries are named \"{}\"",
                                         escaped(view(entry->name()))));
    WEFT_RETURN_IF_ERROR(
        verifyBuffers(plan, roles, *entry)
            .withContext(
                fmt::format("entry \"{}\"", escaped(view(entry->name())))));
  }
  VerifiedHeader header{plan, mesh, roles, StateNames(plan), {}};
  for (uint32_t role = 0; role < roles.count(); ++role) {
    header.fixed.push_back(collectFixedRegions(plan, role));
    WEFT_RETURN_IF_ERROR(verifyFixedRegions(header.fixed.back()));
  }
  WEFT_RETURN_IF_ERROR(
      forEachEntry(plan, false, [&](const plan::Entry &entry) -> Status {
        WEFT_RETURN_IF_ERROR(verifyObserved(entry));
        return verifyEntry(header, entry);
      }));
  WEFT_RETURN_IF_ERROR(
      forEachEntry(plan, true, [&](const plan::Entry &entry) -> Status {
        WEFT_RETURN_IF_ERROR(verifyObserved(entry));
        return verifyTimeline(header, entry);
      }));
  return verifySegmentsRun(plan);
}

} // namespace weft::runtime
