//===- BufferParts.cpp - Buffers that are parts of others -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/BufferParts.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::runtime {

Status verifyParts(const plan::Entry &entry) {
  const auto &buffers = *entry.buffers();
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    const plan::Buffer &part = *buffers.Get(i);
    if (!part.part_of())
      continue;
    const uint32_t index = *part.part_of();
    const auto fail = [&](const std::string &reason) {
      return invalidArgument(fmt::format("buffer {} is a part of buffer {}, {}",
                                         i, index, reason));
    };
    if (index >= buffers.size())
      return fail(fmt::format("but the entry has {}", buffers.size()));
    const plan::Buffer &whole = *buffers.Get(index);
    if (whole.part_of())
      return fail("which is a part itself");
    if (part.kind() != plan::BufferKind::Temporary ||
        whole.kind() != plan::BufferKind::Temporary || entry.timeline())
      return fail("but only temporaries have parts and are some");
    if (part.offset() < whole.offset() ||
        part.offset() + part.bytes() > whole.offset() + whole.bytes())
      return fail(fmt::format("but lies at {}..{} and that at {}..{}",
                              part.offset(), part.offset() + part.bytes(),
                              whole.offset(), whole.offset() + whole.bytes()));
  }
  return {};
}

uint64_t BufferParts::begin(uint32_t buffer) const {
  return entry.buffers()->Get(buffer)->offset();
}

uint64_t BufferParts::end(uint32_t buffer) const {
  return begin(buffer) + entry.buffers()->Get(buffer)->bytes();
}

BufferParts::BufferParts(const plan::Entry &entry)
    : entry(entry), others(entry.buffers()->size()) {
  std::vector<std::vector<uint32_t>> parts(others.size());
  for (uint32_t i = 0; i < others.size(); ++i)
    if (const auto whole = entry.buffers()->Get(i)->part_of())
      parts[*whole].push_back(i);
  for (uint32_t whole = 0; whole < others.size(); ++whole) {
    std::sort(parts[whole].begin(), parts[whole].end(),
              [&](uint32_t a, uint32_t b) { return begin(a) < begin(b); });
    for (auto a = parts[whole].begin(); a != parts[whole].end(); ++a) {
      others[whole].push_back(*a);
      others[*a].push_back(whole);
      for (auto b = a + 1; b != parts[whole].end() && begin(*b) < end(*a);
           ++b) {
        others[*a].push_back(*b);
        others[*b].push_back(*a);
      }
    }
  }
}

bool BufferParts::share(uint32_t a, uint32_t b) const {
  return std::find(others[a].begin(), others[a].end(), b) != others[a].end();
}

bool BufferParts::contains(uint32_t outer, uint32_t inner) const {
  return begin(outer) <= begin(inner) && end(inner) <= end(outer);
}

bool BufferParts::fill(uint32_t whole, const std::vector<bool> &isIn) const {
  std::vector<uint32_t> parts;
  for (uint32_t other : others[whole])
    if (isIn[other] && contains(whole, other))
      parts.push_back(other);
  std::sort(parts.begin(), parts.end(),
            [&](uint32_t a, uint32_t b) { return begin(a) < begin(b); });
  uint64_t filled = begin(whole);
  for (uint32_t part : parts)
    if (begin(part) <= filled)
      filled = std::max(filled, end(part));
  return !parts.empty() && filled >= end(whole);
}

} // namespace weft::runtime
