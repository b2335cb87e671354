//===- EntryMemory.h - The buffers of an entry in an arena ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What programs are bound with, for every kind of memory: addresses of buffers,
// and the problems of GEMMs and attention in them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_ENTRYMEMORY_H
#define WEFT_RUNTIME_SRC_EXECUTOR_ENTRYMEMORY_H

#include "cpu/AttentionKernels.h"
#include "cpu/Convolution.h"
#include "cpu/Gemm.h"
#include "plan/Roles.h"
#include "weft/runtime/DType.h"
#include "weft/runtime/plan_generated.h"

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

/// An entry of a verified plan, whose arena is at some address. A segment is
/// bound for a micro-batch.
class EntryMemory {
public:
  EntryMemory(const plan::Entry &entry, std::byte *arena,
              uint32_t microbatch = 0)
      : entry(entry), arena(arena), microbatch(microbatch) {}

  const plan::Buffer &buffer(uint32_t index) const {
    return *entry.buffers()->Get(index);
  }
  std::byte *address(uint32_t index) const {
    return arena + offsetOf(buffer(index), microbatch);
  }
  DType dtype(uint32_t index) const {
    return static_cast<DType>(buffer(index).dtype());
  }
  /// Bytes of the elements; a buffer may have more.
  size_t usedBytes(uint32_t index) const;

  GemmProblem problem(const plan::Gemm &gemm) const;
  ConvolutionProblem problem(const plan::Convolution &convolution) const;
  AttentionArguments arguments(const plan::Attention &attention) const;
  AttentionArguments arguments(const plan::AttentionGrad &grad) const;

private:
  template <typename Operation>
  AttentionArguments shared(const Operation &operation) const;
  AttentionResult result(uint32_t index) const {
    const DType type = dtype(index);
    return {address(index), type != DType::BF16 && type != DType::F16};
  }

  const plan::Entry &entry;
  std::byte *const arena;
  const uint32_t microbatch;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_ENTRYMEMORY_H
