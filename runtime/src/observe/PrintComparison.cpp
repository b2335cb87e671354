//===- PrintComparison.cpp - What a verified run says ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/CompareValues.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace weft::runtime {

static std::string ranksOf(const WrongValue &wrong, int64_t ranks) {
  if (static_cast<int64_t>(wrong.ranks.size()) == ranks)
    return ranks == 1 ? "on the only rank" : "on all ranks";
  return fmt::format("on {} {}{}", wrong.ranks.size() == 1 ? "rank" : "ranks",
                     fmt::join(wrong.ranks, ", "),
                     wrong.where.empty() ? ""
                                         : fmt::format(" ({})", wrong.where));
}

static std::string print(const WrongValue &wrong, int64_t ranks) {
  std::string text =
      fmt::format("  {}{}\n", wrong.isMoved ? "moved: " : "", wrong.name);
  text += fmt::format("    {}: {} of {} {}\n", ranksOf(wrong, ranks),
                      wrong.elements, wrong.of,
                      wrong.of == 1 ? "element" : "elements");
  text += fmt::format("    at [{}]: {:.9g}, expected {:.9g}; error {:.3g}, "
                      "bound {:.3g}\n",
                      fmt::join(wrong.index, ", "), wrong.value, wrong.expected,
                      std::abs(wrong.value - wrong.expected), wrong.bound);
  for (const std::string &name : wrong.received)
    text += fmt::format("    made of what another stage sends, which has it "
                        "right: {}\n",
                        name);
  if (!wrong.differing.empty())
    text += fmt::format("    copies differ along \"{}\"\n",
                        fmt::join(wrong.differing, "\", \""));
  return text;
}

std::string print(const Comparison &comparison) {
  const std::string all =
      fmt::format("{} {} of entry {} on {} {}", comparison.values,
                  comparison.values == 1 ? "value" : "values", comparison.entry,
                  comparison.ranks, comparison.ranks == 1 ? "rank" : "ranks");
  if (comparison.wrong.empty())
    return fmt::format("{}: all right; the largest error is {:.2g} of its "
                       "bound\n",
                       all, comparison.largest);
  std::string text =
      fmt::format("{}: {} wrong\n", all,
                  comparison.wrong.size() == 1
                      ? "one is"
                      : fmt::format("{} are", comparison.wrong.size()));
  for (const WrongValue &wrong : comparison.wrong)
    text += print(wrong, comparison.ranks);
  if (comparison.behind != 0)
    text +=
        fmt::format("  {} more {}, made of what is wrong\n", comparison.behind,
                    comparison.behind == 1 ? "differs" : "differ");
  return text;
}

} // namespace weft::runtime
