//===- GpuKernelRunner.h - Kernels for a GPU, without one -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles kernels to PTX and executes them with the interpreter of
// emulator/, which reports accesses outside of buffers and
// accesses that nothing orders. `GpuComparison` runs a kernel there and on the
// CPU with the same random numbers.
//
//   GpuComparison kernels("func.func private @softmax(...) ...");
//   kernels.check("softmax", /*tolerance=*/1e-6);

#ifndef WEFT_TEST_UNIT_CODEGEN_GPUKERNELRUNNER_H
#define WEFT_TEST_UNIT_CODEGEN_GPUKERNELRUNNER_H

#include "KernelText.h"

#include "weft/Codegen/CompileGpuKernels.h"

#include "ptx/Grid.h"

namespace weft::test {

/// The bytes of a buffer.
using Memory = std::vector<std::byte>;

class GpuComparison {
public:
  /// The kernels are those of `text`; see KernelRunner. With room for several
  /// sets of arguments, the GPU computes one set less than that at once.
  explicit GpuComparison(const std::string &text,
                         KernelRunner::InPlace inPlace = {},
                         int64_t maxBatch = 1);

  /// Runs a kernel on both, and expects results of integers to be equal and
  /// others to differ by at most `tolerance` times the largest number of the
  /// result. Floats are random in [-3, 3], integers in [0, 8), and the position
  /// is 1. Runs it twice on the GPU, in other orders of its blocks, and expects
  /// the same bits.
  void check(const std::string &name, double tolerance = 0);

  const KernelGrid &grid(const std::string &name) const;
  /// What the last run moved to and from memory, whose buffers are aligned as
  /// on a GPU.
  const emulator::LaunchTraffic &traffic() const { return moved; }
  const std::string &ptx() const { return code.ptx; }

private:
  /// The buffers of each set of arguments.
  using Sets = std::vector<std::vector<Memory>>;

  Sets makeSets(const std::string &name);
  void runOnCpu(const std::string &name, Sets &sets);
  void runOnGpu(const std::string &name, Sets &sets, uint64_t seed);

  KernelRunner kernels;
  KernelRunner::InPlace inPlace;
  const int64_t maxBatch;
  std::vector<std::string> names;
  GpuCode code;
  emulator::LaunchTraffic moved;
  /// Of all kernels; they leave in it what they found.
  Memory workspace;
};

} // namespace weft::test

#endif // WEFT_TEST_UNIT_CODEGEN_GPUKERNELRUNNER_H
