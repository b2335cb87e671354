//===- Warp.cpp - The state of 32 threads ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warp.h"
#include "Block.h"

#include <cstdio>

namespace weft::emulator {

Warp::Warp(Block &block, uint32_t index)
    : block(block), index(index),
      isChecked(block.checker() || block.traffic()) {}

void Warp::fault(const Op &op, uint32_t lane, FaultKind kind,
                 const std::string &what) const {
  block.fault(op.line, thread(lane), kind, what);
}

uint64_t Warp::toGeneric(Space space, uint64_t address, uint32_t lane) const {
  if (space == Space::Shared)
    return block.shared().begin + address;
  if (space == Space::Local)
    return block.local(thread(lane)).begin + address;
  return address;
}

uint64_t Warp::fromGeneric(Space space, uint64_t address, uint32_t lane) const {
  return address - toGeneric(space, 0, lane);
}

bool Warp::isInSpace(Space space, uint64_t address, uint32_t lane) const {
  bool shared = block.shared().contains(address, 1),
       local = block.local(thread(lane)).contains(address, 1);
  return space == Space::Shared  ? shared
         : space == Space::Local ? local
                                 : !shared && !local;
}

static std::string bytesAt(Access kind, uint32_t bytes, uint64_t address) {
  char text[80];
  std::snprintf(text, sizeof text, "%s %u bytes at 0x%llx",
                kind == Access::Read ? "reads" : "writes", bytes,
                static_cast<unsigned long long>(address));
  return text;
}

std::byte *Warp::resolveGlobal(const Op &op, uint32_t lane, uint64_t address,
                               uint32_t bytes, Access kind) {
  const AddressSpace &memory = *block.launch().memory;
  const Range *range = memory.find(address, bytes);
  if (!range)
    fault(op, lane, FaultKind::IllegalAddress,
          bytesAt(kind, bytes, address) + ", " + memory.describe(address));
  if (!range->writable && kind != Access::Read)
    fault(op, lane, FaultKind::IllegalAddress,
          bytesAt(kind, bytes, address) + ", which may only be read");
  if (block.checker())
    if (auto report = block.checker()->global(address, bytes, kind,
                                              block.actor(*this, lane)))
      fault(op, lane, report->kind, report->what);
  if (block.traffic())
    block.traffic()->touch(address, bytes, kind != Access::Write,
                           kind != Access::Read);
  recent = *range;
  return range->at(address);
}

std::byte *Warp::resolve(const Op &op, uint32_t lane, Space space,
                         uint64_t address, uint32_t bytes, Access kind) {
  // Shared and local memory are one range each, where generic addresses find
  // them as well.
  Range shared = block.shared(), local = block.local(thread(lane));
  const Launch &launch = block.launch();
  Range parameters;
  parameters.begin = reinterpret_cast<uint64_t>(launch.parameters);
  parameters.end = parameters.begin + launch.program->parameterBytes;
  parameters.storage = const_cast<std::byte *>(launch.parameters);
  Range *range = nullptr;
  if (space == Space::Shared || space == Space::Local) {
    range = space == Space::Shared ? &shared : &local;
    address += range->begin;
  } else if (space == Space::Parameter || parameters.contains(address, 1)) {
    range = &parameters;
  } else if (space == Space::Generic && shared.contains(address, 1)) {
    range = &shared;
  } else if (space == Space::Generic && local.contains(address, 1)) {
    range = &local;
  }
  uint64_t shown = range ? address - range->begin : address;
  if (address & (bytes - 1))
    fault(op, lane, FaultKind::MisalignedAddress,
          bytesAt(kind, bytes, shown) + ", which is not a multiple of " +
              std::to_string(bytes));
  if (!range)
    return resolveGlobal(op, lane, address, bytes, kind);
  if (!range->contains(address, bytes) ||
      (range == &parameters && kind != Access::Read))
    fault(op, lane, FaultKind::IllegalAddress,
          bytesAt(kind, bytes, shown) + " of " +
              (range == &shared  ? "shared memory"
               : range == &local ? "local memory"
                                 : "the parameters") +
              ", which has " + std::to_string(range->end - range->begin));
  if (range == &shared && block.checker())
    if (auto report = block.checker()->shared(shown, bytes, kind,
                                              block.actor(*this, lane)))
      fault(op, lane, report->kind, report->what);
  return range->at(address);
}

} // namespace weft::emulator
