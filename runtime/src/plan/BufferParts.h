//===- BufferParts.h - Buffers that are parts of others ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of one collective for several tensors these are parts (`Buffer.part_of`): the
// whole is sent, and each part is written and read by itself.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_BUFFERPARTS_H
#define WEFT_RUNTIME_SRC_PLAN_BUFFERPARTS_H

#include "weft/runtime/Status.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <vector>

namespace weft::runtime {

/// Checks that what is a part of a buffer can be one.
Status verifyParts(const plan::Entry &entry);

/// Which buffers of an entry share bytes at all times. The parts are verified.
class BufferParts {
public:
  explicit BufferParts(const plan::Entry &entry);

  /// The whole, its other parts that share bytes with a part, or all parts of a
  /// whole.
  const std::vector<uint32_t> &sharing(uint32_t buffer) const {
    return others[buffer];
  }
  bool share(uint32_t a, uint32_t b) const;
  /// Whether all bytes of `inner` are bytes of `outer`.
  bool contains(uint32_t outer, uint32_t inner) const;
  /// Whether those of the buffers that `isIn` holds of fill `whole`.
  bool fill(uint32_t whole, const std::vector<bool> &isIn) const;

private:
  uint64_t begin(uint32_t buffer) const;
  uint64_t end(uint32_t buffer) const;

  const plan::Entry &entry;
  std::vector<std::vector<uint32_t>> others;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_BUFFERPARTS_H
