//===- MpiWorlds.h - The processes that tests run in ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_COMM_MPIWORLDS_H
#define WEFT_RUNTIME_TEST_COMM_MPIWORLDS_H

#include "RankThreads.h"
#include "comm/mpi/MpiWorld.h"

namespace weft::runtime {

/// Where the processes of the tests meet.
Bootstrap &bootstrapOfTests();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_COMM_MPIWORLDS_H
