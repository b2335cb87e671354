//===- Arrival.h - Messages about ranks that do not arrive ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_ARRIVAL_H
#define WEFT_RUNTIME_SRC_LAUNCH_ARRIVAL_H

#include "comm/Call.h"
#include "weft/runtime/Launch.h"
#include "weft/runtime/Status.h"

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace weft::runtime {

/// "ranks 0, 1 and 1022 more".
std::string shortList(const std::vector<int> &ranks);

/// "rank 0 waited 30 s at tcp://node1:29500 for ranks 2, 3; ranks 0, 1 of 4
/// arrived (started by the variables of torchrun)". Long lists are cut.
Status notArrived(const Launch &launch, const std::set<int> &arrived,
                  const std::string &address, std::chrono::nanoseconds timeout);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_ARRIVAL_H
