//===- Alignment.h - Vectors lie where scalars may be loaded ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FlatBuffers' verifier checks the alignment of fields, but not of the elements
// of vectors. A writer always aligns them; damage need not.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_ALIGNMENT_H
#define WEFT_RUNTIME_SRC_PLAN_ALIGNMENT_H

#include "weft/runtime/plan_generated.h"

namespace weft::runtime {

/// Whether the elements of all shapes and lists of axes are aligned.
bool hasAlignedVectors(const plan::Plan &plan);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_ALIGNMENT_H
