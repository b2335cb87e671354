//===- Passes.h - What every form promises ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of forms 1 to 4. It stands above the phases, because the rules
// of a form are those of the phase that makes it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_FORMS_PASSES_H
#define WEFT_FORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace weft {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "weft/Forms/Passes.h.inc"

} // namespace weft

#endif // WEFT_FORMS_PASSES_H
