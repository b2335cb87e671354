//===- ConvolutionDims.h - Layouts of convolutions --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_CONVOLUTIONDIMS_H
#define WEFT_LIB_IMPORT_CONVOLUTIONDIMS_H

#include "Attributes.h"

namespace weft::stablehlo {

/// `#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`: for each operand
/// and the result the dimensions that are b, 0, 1 and f, or 0, 1, i and o.
struct ConvolutionDims {
  Dims lhs, kernel, result;
};
std::optional<ConvolutionDims> readConvolutionDims(mlir::Attribute attr);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_CONVOLUTIONDIMS_H
