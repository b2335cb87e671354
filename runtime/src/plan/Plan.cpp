//===- Plan.cpp - A plan that was read and verified -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Plan.h"

#include "io/File.h"
#include "plan/Alignment.h"
#include "plan/PlanDump.h"
#include "plan/PlanVerifier.h"
#include "plan/Text.h"
#include "weft/runtime/PlanFormat.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

namespace weft::runtime {

static_assert(static_cast<int>(plan::DType::MAX) + 1 == dtypeCount);

/// The payload in memory of its own (FlatBuffers needs alignment 8), and what
/// callers ask for often.
struct Plan::Image {
  std::vector<uint64_t> words;
  const plan::Plan *root = nullptr;
  uint64_t hash = 0;
  int64_t ranks = 1;
  std::vector<EntrySpec> entries;
  std::vector<ValueSpec> states;
};

template <typename Spec>
static const Spec *find(const std::vector<Spec> &specs, std::string_view name) {
  for (const Spec &spec : specs)
    if (spec.name == name)
      return &spec;
  return nullptr;
}

const ValueSpec *EntrySpec::input(std::string_view name) const {
  return find(inputs, name);
}
const ValueSpec *EntrySpec::output(std::string_view name) const {
  return find(outputs, name);
}

static ValueSpec specOf(const flatbuffers::String &name,
                        const plan::TensorType &type, bool isState) {
  return {name.str(),
          dtypeOf(type.dtype()),
          {type.global_shape()->begin(), type.global_shape()->end()},
          {type.local_shape()->begin(), type.local_shape()->end()},
          isState};
}

static std::vector<ValueSpec>
specsOf(const plan::Entry &entry,
        const flatbuffers::Vector<flatbuffers::Offset<plan::Binding>> &list) {
  std::vector<ValueSpec> specs;
  for (const plan::Binding *binding : list)
    specs.push_back(specOf(*binding->name(), *binding->type(),
                           entry.buffers()->Get(binding->buffer())->kind() ==
                               plan::BufferKind::State));
  return specs;
}

/// FlatBuffers' own check, with limits that grow with the size of the buffer.
template <typename Root>
static bool isWellFormed(const uint8_t *data, size_t size,
                         const char *identifier) {
  const auto maxTables =
      static_cast<flatbuffers::uoffset_t>(std::max<size_t>(size / 4, 1000));
  flatbuffers::Verifier verifier(data, size, /*max_depth=*/16, maxTables);
  return verifier.VerifyBuffer<Root>(identifier);
}

static Result<const plan::Container *>
openContainer(std::span<const std::byte> bytes) {
  const auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  if (bytes.size() < 8 ||
      !flatbuffers::BufferHasIdentifier(data, plan::ContainerIdentifier()))
    return invalidArgument(fmt::format(
        "is not a plan: {} bytes without the identifier \"{}\" at byte 4",
        bytes.size(), plan::ContainerIdentifier()));
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return invalidArgument(
        fmt::format("has {} bytes, a plan has less than {}", bytes.size(),
                    static_cast<uint64_t>(FLATBUFFERS_MAX_BUFFER_SIZE)));
  if (!isWellFormed<plan::Container>(data, bytes.size(),
                                     plan::ContainerIdentifier()))
    return invalidArgument(fmt::format(
        "its container is damaged or cut short ({} bytes); copy or compile the "
        "plan again",
        bytes.size()));
  const auto *container = flatbuffers::GetRoot<plan::Container>(data);
  if (container->format_version() != planFormatVersion)
    return failedPrecondition(fmt::format(
        "has format version {}, this runtime reads version {}; compile the "
        "plan with the compiler of this runtime's release",
        container->format_version(), planFormatVersion));
  return container;
}

/// Whether the file ends where its payload does, up to the zeros that fill it
/// to a multiple of its alignment.
static bool endsWithPayload(std::span<const std::byte> bytes,
                            const flatbuffers::Vector<uint8_t> &payload) {
  const size_t end = payload.data() + payload.size() -
                     reinterpret_cast<const uint8_t *>(bytes.data());
  const size_t rounded =
      (end + payloadAlignment - 1) / payloadAlignment * payloadAlignment;
  return bytes.size() == rounded &&
         std::all_of(bytes.begin() + end, bytes.end(),
                     [](std::byte byte) { return byte == std::byte(0); });
}

Result<Plan> Plan::parse(std::span<const std::byte> bytes) {
  // The container's scalars need aligned memory too.
  std::vector<uint64_t> words((bytes.size() + 7) / 8);
  std::copy_n(bytes.data(), bytes.size(),
              reinterpret_cast<std::byte *>(words.data()));
  bytes = {reinterpret_cast<const std::byte *>(words.data()), bytes.size()};
  WEFT_ASSIGN_OR_RETURN(const plan::Container *container, openContainer(bytes));
  const auto &payload = *container->payload();
  if (!endsWithPayload(bytes, payload))
    return invalidArgument(fmt::format(
        "its {} bytes do not end with its payload of {} bytes: the "
        "file was cut short or appended to; copy or compile it again",
        bytes.size(), payload.size()));
  auto image = std::make_shared<Image>();
  image->hash = XXH3_64bits(payload.data(), payload.size());
  if (image->hash != container->payload_hash())
    return invalidArgument(fmt::format(
        "its contents have hash {:016x}, its container says {:016x}: the file "
        "is damaged; copy or compile it again",
        image->hash, container->payload_hash()));
  image->words.resize((payload.size() + 7) / 8);
  std::copy_n(payload.data(), payload.size(),
              reinterpret_cast<uint8_t *>(image->words.data()));
  const auto *data = reinterpret_cast<const uint8_t *>(image->words.data());
  if (payload.size() < 8 ||
      !isWellFormed<plan::Plan>(data, payload.size(), nullptr) ||
      !hasAlignedVectors(*flatbuffers::GetRoot<plan::Plan>(data)))
    return invalidArgument(
        "its payload is not a FlatBuffer of the plan schema; "
        "the writer is broken");
  image->root = flatbuffers::GetRoot<plan::Plan>(data);
  WEFT_RETURN_IF_ERROR(verifyPlan(*image->root));

  image->ranks = Mesh(*image->root).ranks();
  std::set<std::string_view> names; // several roles may have one
  for (const plan::State *state : *image->root->states())
    if (!state->internal() && names.insert(view(state->name())).second)
      image->states.push_back(specOf(*state->name(), *state->type(), true));
  for (uint32_t i = 0; i < image->root->entries()->size(); ++i) {
    const plan::Entry &entry = *image->root->entries()->Get(i);
    if (!entry.role())
      image->entries.push_back({entry.name()->str(),
                                specsOf(entry, *entry.inputs()),
                                specsOf(entry, *entry.outputs()), i});
  }
  return Plan(std::move(image));
}

Result<Plan> Plan::load(const std::string &path) {
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file,
                        InputFile::open(path));
  std::vector<std::byte> bytes(file->size());
  WEFT_RETURN_IF_ERROR(file->readAt(0, bytes));
  Result<Plan> plan = parse(bytes);
  if (!plan.ok())
    return plan.status().withContext(path);
  return plan;
}

uint64_t Plan::hash() const { return image->hash; }
int64_t Plan::ranks() const { return image->ranks; }
const std::vector<EntrySpec> &Plan::entries() const { return image->entries; }
const std::vector<ValueSpec> &Plan::states() const { return image->states; }
const plan::Plan &Plan::contents() const { return *image->root; }

const EntrySpec *Plan::entry(std::string_view name) const {
  return find(image->entries, name);
}
const ValueSpec *Plan::state(std::string_view name) const {
  return find(image->states, name);
}

std::string Plan::dump() const { return dumpPlan(*image->root, image->hash); }

Result<std::string> Plan::dump(std::string_view section) const {
  return dumpSection(*image->root, image->hash, section);
}

} // namespace weft::runtime
