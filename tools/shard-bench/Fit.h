//===- Fit.h - The numbers of a cluster from measurements -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model read backwards: the rates with which it gives the times that
// were measured. Middle batches decide, in CPU time where there is one: a step
// is made of typical calls, and a fit to the best ones is some 7 % short of it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_FIT_H
#define WEFT_TOOLS_SHARD_BENCH_FIT_H

#include "Results.h"

#include "weft/Cost/Cluster.h"

namespace weft::tools {

/// What the system says of this machine.
struct Machine {
  /// "AMD EPYC".
  std::string processor;
  int cores = 1;
  double memoryBytes = 0;
  double load = 0;
};
Machine thisMachine();

struct FittedCluster {
  cost::Cluster cluster;
  /// |predicted / measured - 1| of the products that the rates are fitted to:
  /// the mean, and the most.
  double gemmError = 0, worstGemmError = 0;
};

/// Of results of all kinds.
FittedCluster fitCluster(const Results &results, const Machine &machine);

/// The cluster file, each number with what it was measured by.
std::string printCluster(const FittedCluster &fitted, const Results &results,
                         const Machine &machine, const std::string &name);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_FIT_H
