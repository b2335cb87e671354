//===- Holdings.cpp - What buffers hold when ------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Holdings.h"

namespace weft {

bool isShared(const plan::Buffer &buffer) {
  return !buffer.part_of() && buffer.kind() != plan::BufferKind::State &&
         buffer.kind() != plan::BufferKind::Constant;
}

std::vector<Holding> findHoldings(const plan::Entry &entry) {
  std::vector<Holding> holdings;
  for (const plan::Buffer *buffer : *entry.buffers()) {
    if (!isShared(*buffer))
      continue;
    uint32_t count = buffer->contents() ? buffer->contents()->size() : 0;
    for (uint32_t i = 0; i < count; ++i) {
      const plan::Content *content = buffer->contents()->Get(i);
      uint64_t last = i + 1 < count ? buffer->contents()->Get(i + 1)->first()
                                    : buffer->last() + uint64_t(1);
      if (last > content->first())
        holdings.push_back({buffer, content, content->first(), last - 1});
    }
  }
  return holdings;
}

} // namespace weft
