//===- Kernels.h - Times generated kernels ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element-wise kernels are machine code of a plan, so that they are compiled
// for this machine first, and run by a session:
//
//   WEFT_ASSIGN_OR_RETURN(auto kernels, KernelRun::create(
//       {{"exp", 65536, "%r = math.exp %x : T"}}, /*ranks=*/1));
//   kernels->time("exp", 0.5);
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_KERNELS_H
#define WEFT_TOOLS_SHARD_BENCH_KERNELS_H

#include "Measure.h"

#include <memory>
#include <string>
#include <vector>

namespace weft::runtime {
class Session;
} // namespace weft::runtime

namespace weft::tools {

/// An entry: f32 vectors %x and %y are read, and %r is written. `body` defines
/// %r, with T for the type of all of them.
struct KernelCode {
  std::string name;
  int64_t elements = 0;
  std::string body;
};

class KernelRun {
public:
  /// With several ranks each has its part of the elements.
  static runtime::Result<std::unique_ptr<KernelRun>>
  create(const std::vector<KernelCode> &kernels, int ranks);
  ~KernelRun();

  /// Of a run of one entry, with what a session adds.
  runtime::Result<Timing> time(const std::string &name, double seconds);

private:
  KernelRun(std::unique_ptr<runtime::Session> session, int ranks);
  std::unique_ptr<runtime::Session> session;
  int ranks;
};

/// So many kernels and one more, each of which does next to nothing.
KernelCode launchesOf(int count);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_KERNELS_H
