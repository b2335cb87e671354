//===- AttentionAvx2.cpp - Attention on AVX2 and FMA ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define WEFT_VECTOR_BYTES 32
#include "cpu/AttentionGradTiles.h"

namespace weft::runtime {

const AttentionKernels avx2AttentionKernels = attentionKernels;

} // namespace weft::runtime
