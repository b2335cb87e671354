//===- Passes.h - From graph to sharded graph -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PROPAGATE_PASSES_H
#define WEFT_PROPAGATE_PASSES_H

#include "weft/IR/FormPass.h"
#include "weft/Propagate/Propagation.h"

namespace weft {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "weft/Propagate/Passes.h.inc"

} // namespace weft

#endif // WEFT_PROPAGATE_PASSES_H
