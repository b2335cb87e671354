//===- VerifyObserved.cpp - Values that are left to be compared -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"

#include "plan/Text.h"

namespace weft::runtime {

Status verifyObserved(const plan::Entry &entry) {
  if (!entry.observed())
    return {};
  if (entry.role())
    return invalidArgument("is a segment and has observed values, which are "
                           "those of its entry");
  for (uint32_t i = 0; i < entry.observed()->size(); ++i) {
    const plan::ObservedValue &value = *entry.observed()->Get(i);
    const std::string what = fmt::format("observed value {}", i);
    if (value.output() >= entry.outputs()->size())
      return invalidArgument(fmt::format("{} is output {}, but the entry has "
                                         "{}",
                                         what, value.output(),
                                         entry.outputs()->size()));
    if (value.kind() > plan::ObservedKind::MAX)
      return invalidArgument(
          fmt::format("{} is of kind {}, which does not exist", what,
                      static_cast<int>(value.kind())));
    const uint32_t sources = value.sources() ? value.sources()->size() : 0;
    if (value.kind() == plan::ObservedKind::Moved && sources != 1)
      return invalidArgument(
          fmt::format("{} was moved, but has {} sources", what, sources));
    for (uint32_t source = 0; source < sources; ++source)
      if (value.sources()->Get(source) >= i)
        return invalidArgument(
            fmt::format("{} is made of {}, which is none before it", what,
                        value.sources()->Get(source)));
  }
  return {};
}

} // namespace weft::runtime
