//===- InPlaceResults.h - Results in buffers of operands --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_CODEGEN_INPLACERESULTS_H
#define WEFT_LIB_CODEGEN_INPLACERESULTS_H

#include "weft/Codegen/CompileKernels.h"

namespace weft {

/// For each result of a kernel the operand whose buffer it takes, or -1:
/// completes what a request says and checks it, with diagnostics.
mlir::FailureOr<std::vector<int64_t>> checkInPlace(const KernelRequest &request,
                                                   NestOrder order);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_INPLACERESULTS_H
