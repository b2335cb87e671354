//===- DumpNetwork.h - A cost network as JSON -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The problem that was solved and the solution, to be compared with that of
// another solver:
//   {"functions": [{
//     "name": "step",
//     "sizes": [4, 2],                 values of each variable
//     "tables": [[0, 7, ...], ...],
//     "factors": [{"scope": [0, 1], "table": 0}, ...],
//     "assignment": [3, 0],            of the solution
//     "isOptimal": true, "cost": 7, "fixedCost": 0,
//     "startCarriedOut": 9, "foundCarriedOut": 7}]}
// Costs are picoseconds; 2^58 is forbidden.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_DUMPNETWORK_H
#define WEFT_LIB_PARTITION_DUMPNETWORK_H

#include "ShardingNetwork.h"

#include "llvm/Support/JSON.h"

namespace weft {

/// `start`, `found`: what the choices of both cost as they are carried out.
llvm::json::Object dump(llvm::StringRef function,
                        const ShardingNetwork &network, optimize::Cost start,
                        optimize::Cost found);

mlir::LogicalResult writeDump(mlir::ModuleOp module,
                              llvm::json::Array functions,
                              llvm::StringRef file);

} // namespace weft

#endif // WEFT_LIB_PARTITION_DUMPNETWORK_H
