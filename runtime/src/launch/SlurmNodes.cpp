//===- SlurmNodes.cpp - Lists in the variables of Slurm ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/SlurmNodes.h"

#include "launch/Number.h"
#include "plan/Text.h"

#include <algorithm>

namespace weft::runtime {

static Status malformed(std::string_view list) {
  return invalidArgument(
      fmt::format("cannot read the node list \"{}\" of Slurm; expected the "
                  "form n1, n1,n2 or n[01-04,07]",
                  escaped(list)));
}

Result<std::string> firstSlurmNode(std::string_view list) {
  std::string name;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      name += list[i];
      continue;
    }
    const size_t close = list.find(']', i);
    if (close == std::string_view::npos)
      return malformed(list);
    // The first number of the first range, with its leading zeros.
    const std::string_view inside = list.substr(i + 1, close - i - 1);
    const std::string_view first = inside.substr(0, inside.find_first_of("-,"));
    if (!parseNumber(first, 0))
      return malformed(list);
    name += first;
    i = close;
  }
  if (name.empty() || name.find(']') != std::string::npos)
    return malformed(list);
  return name;
}

Result<std::vector<int>> slurmTasksOfNodes(std::string_view list) {
  // A repetition is bounded, so that a damaged variable costs no memory.
  constexpr int64_t mostNodes = 1 << 20;
  const auto bad = [&] {
    return invalidArgument(
        fmt::format("cannot read the tasks of nodes \"{}\" of Slurm; expected "
                    "the form 4 or 4(x2),3",
                    escaped(list)));
  };
  std::vector<int> tasks;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    std::string_view item = list.substr(begin, end - begin);
    begin = end + 1;
    int64_t nodes = 1;
    if (const size_t open = item.find("(x"); open != std::string_view::npos) {
      std::string_view times = item.substr(open + 2);
      const auto count =
          times.ends_with(')')
              ? parseNumber(times.substr(0, times.size() - 1), 1, mostNodes)
              : std::nullopt;
      if (!count)
        return bad();
      nodes = *count;
      item = item.substr(0, open);
    }
    const auto count = parseNumber(item, 1, mostNodes);
    if (!count || static_cast<int64_t>(tasks.size()) + nodes > mostNodes)
      return bad();
    tasks.insert(tasks.end(), nodes, static_cast<int>(*count));
  }
  return tasks;
}

} // namespace weft::runtime
