//===- Sections.cpp - The tables of shard-bench ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SectionTables.h"

#include "weft/Cost/Bytes.h"

#include <fmt/format.h>

namespace weft::tools {

const std::vector<Section> &sections() {
  static const std::vector<Section> all = {gemmSection(), attentionSection(),
                                           memorySection(), kernelSection(),
                                           collectiveSection()};
  return all;
}

std::string printTimes(const Timing &timing) {
  return fmt::format("{:>10} {:>10} {:>10}", printSeconds(timing.best),
                     printSeconds(timing.median), printSeconds(timing.wall));
}

} // namespace weft::tools
