//===- CompilerIdentity.h - What makes machine code of a kernel -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_CODEGEN_COMPILERIDENTITY_H
#define WEFT_LIB_CODEGEN_COMPILERIDENTITY_H

#include <string>

namespace weft {

/// Stands for all that makes machine code of an emitted kernel: the sources of
/// this folder, and size and time of change of the libraries of LLVM and MLIR.
/// Compilers with the same identity make the same objects.
std::string compilerIdentity();

} // namespace weft

#endif // WEFT_LIB_CODEGEN_COMPILERIDENTITY_H
