//===- AttentionBaseline.cpp - Attention on any processor -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define WEFT_VECTOR_BYTES 16
#include "cpu/AttentionGradTiles.h"

namespace weft::runtime {

const AttentionKernels baselineAttentionKernels = attentionKernels;

} // namespace weft::runtime
