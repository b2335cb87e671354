//===- Passes.h - A graph cut into pipeline stages --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PIPELINING_PASSES_H
#define WEFT_PIPELINING_PASSES_H

#include "weft/IR/FormPass.h"

namespace weft {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "weft/Pipelining/Passes.h.inc"

} // namespace weft

#endif // WEFT_PIPELINING_PASSES_H
