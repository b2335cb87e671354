//===- WeftDialect.h - The weft dialect -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect class alone, for files that load or name the dialect and need
// none of its ops. Ops are in WeftOps.h, attributes in WeftAttrs.h.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WEFTDIALECT_H
#define WEFT_IR_WEFTDIALECT_H

#include "mlir/IR/Dialect.h"

#include "weft/IR/WeftDialect.h.inc"

#endif // WEFT_IR_WEFTDIALECT_H
