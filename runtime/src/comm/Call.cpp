//===- Call.cpp - What a rank asks of its group ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weft::runtime {

std::string_view name(Operation operation) {
  switch (operation) {
  case Operation::AllReduce:
    return "all_reduce";
  case Operation::ReduceScatter:
    return "reduce_scatter";
  case Operation::AllGather:
    return "all_gather";
  case Operation::AllToAll:
    return "all_to_all";
  case Operation::Permute:
    return "permute";
  case Operation::Exchange:
    return "exchange";
  case Operation::Barrier:
    return "barrier";
  }
  return "unknown";
}

static bool isReduction(Operation operation) {
  return operation == Operation::AllReduce ||
         operation == Operation::ReduceScatter;
}

static std::string describeExtent(const CallShape &shape) {
  switch (shape.operation) {
  case Operation::ReduceScatter:
  case Operation::AllGather:
    return fmt::format("[outer {}, inner {}]", shape.outer, shape.inner);
  case Operation::AllToAll:
    return fmt::format("[outer {}, middle {}, inner {}] split {}", shape.outer,
                       shape.middle, shape.inner,
                       shape.splitFirst ? "first" : "last");
  case Operation::Exchange:
    return fmt::format("[outer {}, {} to {}, inner {}]", shape.outer,
                       shape.before, shape.after, shape.inner);
  default:
    return fmt::format("[{}]", shape.inner);
  }
}

std::string describe(const CallShape &shape) {
  std::string text(name(shape.operation));
  if (shape.operation == Operation::Barrier)
    return text;
  if (isReduction(shape.operation))
    text += fmt::format(" {}", name(shape.reduction));
  text += fmt::format(" of {}{}", name(shape.dtype), describeExtent(shape));
  return text;
}

std::string describeCall(Operation operation, int64_t planStep, int worldRank) {
  if (planStep < 0)
    return fmt::format("{} on rank {}", name(operation), worldRank);
  return fmt::format("step {} {} on rank {}", planStep, name(operation),
                     worldRank);
}

std::string shortCause(std::string_view cause) {
  const size_t title = cause.find('\n');
  if (title == std::string_view::npos)
    return std::string(cause);
  const std::string_view lines = cause.substr(title + 1);
  const auto others = std::count(lines.begin(), lines.end(), '\n');
  return fmt::format("{} {}", cause.substr(0, title),
                     lines.substr(0, lines.find('\n'))) +
         (others ? fmt::format("; and {} more", others) : "");
}

std::string describeCause(std::string_view cause) {
  return cause.empty() ? std::string()
                       : fmt::format(" ({})", shortCause(cause));
}

std::string describeRanks(std::span<const int> ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",
                     fmt::join(ranks, ", "));
}

std::string describeDuration(std::chrono::nanoseconds duration) {
  const int64_t count = duration.count();
  if (count % 1000000000 == 0)
    return fmt::format("{} s", count / 1000000000);
  if (count % 1000000 == 0)
    return fmt::format("{} ms", count / 1000000);
  if (count % 1000 == 0)
    return fmt::format("{} us", count / 1000);
  return fmt::format("{} ns", count);
}

} // namespace weft::runtime
