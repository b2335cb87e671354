//===- CheckProgram.h - Sharded against one device --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The property: a program compiled for its mesh and run on that many ranks
// gives what it gives compiled without shardings for one CPU.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_PROPERTY_CHECKPROGRAM_H
#define WEFT_TEST_PROPERTY_CHECKPROGRAM_H

#include "Program.h"

#include <cstdint>
#include <optional>
#include <string>

namespace weft::test {

struct Failure {
  enum Kind { Compile, Run, Difference };
  Kind kind = Compile;
  /// What went wrong; for a difference the result, the index and both values.
  std::string message;
};

/// What is drawn: inputs, from the seed and the number of the argument, and
/// what the ranks of the mesh run on: "cpu", or "cuda:<processor>".
struct Setting {
  uint64_t seed = 0;
  std::string target = "cpu";
  bool optimizeShardings = true;
};

std::optional<Failure> checkProgram(const Program &program,
                                    const Setting &setting);

/// A smaller program that fails in the same way: fewer results, annotations and
/// steps.
Program shrinkFailure(Program program, const Setting &setting,
                      Failure::Kind kind);

} // namespace weft::test

#endif // WEFT_TEST_PROPERTY_CHECKPROGRAM_H
