//===- Prices.h - What the instructions of a plan take ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instructions of an entry as questions to the cost model.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SIMULATE_PRICES_H
#define WEFT_LIB_SIMULATE_PRICES_H

#include "Groups.h"

#include "weft/Simulate/Streams.h"

namespace weft::simulate {

/// Of one execution.
struct InstructionPrice {
  /// Of a kernel.
  KernelTime kernel;
  int64_t flops = 0;
  /// Those of matmuls and attention at the peak of their format.
  Picoseconds atPeak = 0;
  /// Of the start of a collective.
  CollectiveTiming collective;
};

class Prices {
public:
  Prices(const plan::Plan &plan, const cost::CostModel &cost,
         const Groups &groups);

  /// One for each instruction.
  std::vector<InstructionPrice> of(const plan::Entry &entry) const;
  /// Before the first kernel of a call.
  Picoseconds callLaunch() const;
  Picoseconds message(const plan::Message &message) const;
  int64_t bytesOf(const plan::Message &message) const;

private:
  InstructionPrice of(const plan::Entry &entry,
                      const plan::Instruction &instruction) const;
  KernelTime kernelTime(KernelClass kind, double seconds,
                        const plan::Instruction &instruction) const;
  cost::MemoryTraffic traffic(const plan::Entry &entry,
                              const plan::Instruction &instruction,
                              const plan::Launch &launch) const;
  cost::ElementWork work(const plan::Instruction &instruction,
                         const plan::Launch &launch) const;
  CollectiveTiming collective(const plan::Entry &entry,
                              const plan::CollectiveStart &start) const;
  bool isCpu() const {
    return cost.cluster().device.generation == cost::Generation::Cpu;
  }

  const plan::Plan &plan;
  const cost::CostModel &cost;
  const Groups &groups;
};

} // namespace weft::simulate

#endif // WEFT_LIB_SIMULATE_PRICES_H
