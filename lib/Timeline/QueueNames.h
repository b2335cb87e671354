//===- QueueNames.h - Which transfers share a queue -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Communicators, and with them queues, by the names of what shares them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_TIMELINE_QUEUENAMES_H
#define WEFT_LIB_TIMELINE_QUEUENAMES_H

#include "weft/Timeline/Check.h"

#include <map>

namespace weft::timeline {

class QueueNames {
public:
  QueueNames(Communicators policy, const Placement &placement)
      : policy(policy), placement(placement) {}

  /// Numbered as they are asked for first.
  int32_t numberOf(int32_t source, int32_t destination, bool isOnce) {
    const auto [it, isNew] = numbers.try_emplace(
        nameOf(source, destination, isOnce), int32_t(names.size()));
    if (isNew)
      names.push_back(it->first);
    return it->second;
  }

  std::vector<std::string> names;

private:
  int32_t rankOf(int32_t stage) const {
    return stage >= 0 && size_t(stage) < placement.size() ? placement[stage]
                                                          : -1;
  }

  std::string nameOf(int32_t source, int32_t destination, bool isOnce) const {
    const auto join = [](const char *of, int32_t left, const char *sign,
                         int32_t right) {
      return of + std::to_string(left) + sign + std::to_string(right);
    };
    const int32_t from = rankOf(source), to = rankOf(destination);
    switch (policy) {
    case Communicators::One:
      return "all ranks";
    case Communicators::RankPair:
      return join("ranks ", std::min(from, to), "-", std::max(from, to));
    case Communicators::DirectedPair:
      return join("ranks ", from, "->", to);
    case Communicators::Edge:
      break;
    }
    return isOnce ? join("once, ranks ", from, "->", to)
                  : join("stages ", source, "->", destination);
  }

  const Communicators policy;
  const Placement &placement;
  std::map<std::string, int32_t> numbers;
};

} // namespace weft::timeline

#endif // WEFT_LIB_TIMELINE_QUEUENAMES_H
