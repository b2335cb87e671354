//===- PrintSchedule.h - The output of shard-sim schedule -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `shard-sim schedule` prints.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_PRINTSCHEDULE_H
#define WEFT_TOOLS_SHARD_SIM_PRINTSCHEDULE_H

#include "weft/Timeline/TimedSchedule.h"

namespace weft::tools {

/// As "text", "csv", "json" or "svg".
std::string print(const timeline::TimedSchedule &schedule,
                  std::string_view format);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_PRINTSCHEDULE_H
