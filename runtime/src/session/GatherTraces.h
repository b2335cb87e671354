//===- GatherTraces.h - The traces of all processes -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_SESSION_GATHERTRACES_H
#define WEFT_RUNTIME_SRC_SESSION_GATHERTRACES_H

#include "session/SessionCore.h"

#include <vector>

namespace weft::runtime {

/// What all ranks of the job have recorded, in their order, by the clock of the
/// first process. All processes call it alike. Clocks of several hosts agree
/// as well as these are synchronized.
Result<std::vector<RankTrace>> gatherTraces(SessionCore &core);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_SESSION_GATHERTRACES_H
