//===- Passes.h - From other programs to graphs -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IMPORT_PASSES_H
#define WEFT_IMPORT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace weft {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "weft/Import/Passes.h.inc"

} // namespace weft

#endif // WEFT_IMPORT_PASSES_H
