//===- AttentionCode.h - PTX of the attention kernels -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The files of kernels/ are compiled once for each element type and size of
// heads (CMakeLists.txt), so that a driver compiles only what a plan needs.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONCODE_H
#define WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONCODE_H

#include "cpu/AttentionKernels.h"

#include <string_view>

namespace weft::runtime {

/// The size of kernels for heads of `headSize`; 0 if they are too large.
int attentionHeadSizeFor(int64_t headSize);

/// Text that ends with a zero. `headSize` is one of attentionHeadSizes.
std::string_view attentionPtx(AttentionElement element, int headSize);
std::string_view attentionGradPtx(AttentionElement element, int headSize);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_ATTENTION_ATTENTIONCODE_H
