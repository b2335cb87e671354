//===- CompileProgram.h - From text to a plan, in process -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_PROPERTY_COMPILEPROGRAM_H
#define WEFT_TEST_PROPERTY_COMPILEPROGRAM_H

#include <string>

namespace weft::test {

/// Compiles a module to the bytes of a plan for "cpu", this machine, or
/// "cuda:<processor>", without machine code of ptxas; on failure the
/// diagnostics are in `diagnostics`.
bool compileProgram(const std::string &source, const std::string &target,
                    bool optimizeShardings, std::string &plan,
                    std::string &diagnostics);

} // namespace weft::test

#endif // WEFT_TEST_PROPERTY_COMPILEPROGRAM_H
