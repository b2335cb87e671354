//===- Passes.h - Kernels, and questions about them -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_CODEGEN_PASSES_H
#define WEFT_CODEGEN_PASSES_H

#include "weft/IR/FormPass.h"

namespace weft {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "weft/Codegen/Passes.h.inc"

} // namespace weft

#endif // WEFT_CODEGEN_PASSES_H
