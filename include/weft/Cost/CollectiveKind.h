//===- CollectiveKind.h - The kinds of collectives --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_COLLECTIVEKIND_H
#define WEFT_COST_COLLECTIVEKIND_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::cost {

/// What a collective does: the op `weft.<name>`.
enum class CollectiveKind : uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Permute,
  Exchange,
};

/// "all_reduce".
std::string_view nameOf(CollectiveKind kind);
std::optional<CollectiveKind> findCollectiveKind(std::string_view name);

} // namespace weft::cost

#endif // WEFT_COST_COLLECTIVEKIND_H
