//===- Generator.h - Random graphs with random shardings --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws a mesh of up to 8 devices, a graph of 3 to 12 ops and shardings of
// arguments, results and values in between: open and closed dimensions,
// sub-axes, replicated and unreduced axes. Every size that an axis may split is
// a multiple of it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_PROPERTY_GENERATOR_H
#define WEFT_TEST_PROPERTY_GENERATOR_H

#include "Program.h"
#include "Random.h"

namespace weft::test {

/// The same program for the same state of `random`. `hasWindows`: convolutions
/// and pooling are likely in it.
Program generateProgram(Random &random, bool hasWindows = false);
/// Whether the program of a seed is one with windows.
inline bool hasWindows(uint64_t seed) { return seed % 4 == 0; }

} // namespace weft::test

#endif // WEFT_TEST_PROPERTY_GENERATOR_H
