//===- SlurmNodes.h - Lists in the variables of Slurm -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_SLURMNODES_H
#define WEFT_RUNTIME_SRC_LAUNCH_SLURMNODES_H

#include "weft/runtime/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

/// The first host of a node list: "n[03-04,07],m1" -> "n03".
Result<std::string> firstSlurmNode(std::string_view list);

/// Tasks of each node: "4(x2),3" -> {4, 4, 3}.
Result<std::vector<int>> slurmTasksOfNodes(std::string_view list);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_SLURMNODES_H
