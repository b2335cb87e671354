//===- PtxParserTest.cpp - What the emulator says of PTX that it does not know
//===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxKernel.h"

#include <gmock/gmock.h>

using namespace weft::emulator;

namespace {

std::string errorOf(const std::string &text) {
  try {
    PtxKernel(".version 8.0\n.target sm_80\n.address_size 64\n" + text, "f");
  } catch (const PtxError &error) {
    return error.what();
  }
  return "no error";
}

/// The error of a kernel whose third line is `body`.
std::string bodyError(const std::string &body) {
  return errorOf(".entry f(.param .u64 x) { .reg .b32 %r<9>; .reg .b64 %rd<9>; "
                 ".reg .pred %p<9>; .reg .f32 %f<9>;\n" +
                 body + "\n}");
}

TEST(Parser, NamesTheLine) {
  EXPECT_EQ(bodyError("wgmma.fence;"),
            "PTX line 5: unknown instruction 'wgmma'");
  EXPECT_EQ(bodyError("add.huge.s32 %r1, %r2, %r3;"),
            "PTX line 5: 'add' with the unknown modifier '.huge'");
  EXPECT_EQ(bodyError("add.s32 %r1, %r2, %q;"),
            "PTX line 5: unknown register '%q'");
  EXPECT_EQ(bodyError("mov.u32 %r1, %clock;"),
            "PTX line 5: unknown register '%clock'");
  EXPECT_EQ(bodyError("add.s64 %rd1, %r2, %rd3;"),
            "PTX line 5: 'add': '%r2' has 32 bits, the operand 64");
  EXPECT_EQ(bodyError("add.s32 %rd1, %r2, %r3;"),
            "PTX line 5: 'add': '%rd1' has 64 bits, the result 32");
  EXPECT_EQ(bodyError("add.s32 %r1, %r2;"),
            "PTX line 5: 'add': expected 3 operands, found 2");
  EXPECT_EQ(bodyError("bra nowhere;"), "PTX line 5: unknown label 'nowhere'");
  EXPECT_EQ(bodyError("ld.global.f32 %f1, [missing];"),
            "PTX line 5: unknown name 'missing'");
  EXPECT_EQ(bodyError("@%r1 ret;"), "PTX line 5: '%r1' is no predicate");
  EXPECT_EQ(bodyError("call missing, ();"),
            "PTX line 5: 'call' of 'missing', which this module does not "
            "define");
  EXPECT_EQ(bodyError("ld.v2.f32 {%f1, %f2, %f3}, [%rd1];"),
            "PTX line 5: 'ld': the vector has another size than the modifier "
            "says");
}

TEST(Parser, RefusesWhatIsNoPtx) {
  EXPECT_EQ(errorOf("hello"), "PTX line 4: unknown directive 'hello'");
  EXPECT_EQ(errorOf(".entry f() { ret }"),
            "PTX line 4: expected an operand, found '}'");
  EXPECT_EQ(errorOf(".entry f() { ret;"),
            "PTX line 4: a function does not end, found the end");
  EXPECT_EQ(errorOf("/* endless"), "PTX line 4: a comment does not end");
  EXPECT_EQ(errorOf(".entry f() { a: a: ret; }"),
            "PTX line 4: the label 'a' is there twice");
  EXPECT_EQ(errorOf(".func g() { call g, (); } .entry f() { call g, (); }"),
            "PTX line 4: 'g' calls itself");
}

TEST(Parser, PassesOverWhatMeansNothingHere) {
  EXPECT_EQ(errorOf(R"(
    .file 1 "a.cu"
    .global .align 4 .b8 names[3] = {97, 98, 0};
    .visible .entry f(.param .u64 .ptr .global .align 16 x, .param .align 8
                      .b8 y[24])
    .maxntid 256, 1, 1
    .minnctapersm 2
    {
      .loc 1 2 3
      .pragma "nounroll";
      .reg .pred %p; // a comment
      ret;
    }
    .section .debug_info { .b8 1 .b8 2 })"),
            "no error");
}

} // namespace
