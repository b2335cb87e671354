//===- CollectiveKind.cpp - The kinds of collectives ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CollectiveKind.h"

#include <cstddef>
#include <iterator>

using namespace weft;

static constexpr std::string_view names[] = {"all_reduce",     "all_gather",
                                             "reduce_scatter", "all_to_all",
                                             "permute",        "exchange"};

std::string_view cost::nameOf(CollectiveKind kind) {
  return names[static_cast<size_t>(kind)];
}

std::optional<cost::CollectiveKind>
cost::findCollectiveKind(std::string_view name) {
  for (size_t kind = 0; kind < std::size(names); ++kind)
    if (names[kind] == name)
      return static_cast<CollectiveKind>(kind);
  return std::nullopt;
}
