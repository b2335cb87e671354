//===- Stablehlo.h - Read StableHLO programs --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the pass weft-import-stablehlo does, for those who hold a module or a
// text. The context must allow unregistered dialects.
//
// Example:
//
//   if (isStablehlo(module) && failed(importStablehlo(module)))
//     ...
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IMPORT_STABLEHLO_H
#define WEFT_IMPORT_STABLEHLO_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace weft {

/// Whether the module holds ops of stablehlo, chlo or sdy.
bool isStablehlo(mlir::ModuleOp module);

/// Makes a graph of the module, in place. Problems are diagnostics; after one,
/// the module is in no particular state. `opsRead`, if given, is set to the
/// number of ops read.
mlir::LogicalResult importStablehlo(mlir::ModuleOp module,
                                    int64_t *opsRead = nullptr);

/// Replaces calls in the regions of reductions, scatters and the like by what
/// they call: MLIR takes an unknown op with one region for a table of symbols
/// of its own, and would not find the function. For a module that was parsed
/// without verification, as that would fail.
void inlineRegionCalls(mlir::ModuleOp module);

/// What to do about a text that the parser refuses because it is StableHLO in
/// another form than the generic one; none if it does not look like that.
std::optional<std::string> explainStablehloText(llvm::StringRef text);

/// The text with boolean constants as this version of MLIR reads them: a bit
/// for an element. Newer ones, as of JAX, write a byte. None if nothing
/// changes; what does, has the same length.
std::optional<std::string> packBooleans(llvm::StringRef text);

} // namespace weft

#endif // WEFT_IMPORT_STABLEHLO_H
