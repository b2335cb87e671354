//===- PtxInstructionTest.cpp - Instructions with known answers -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxKernel.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

using namespace weft::emulator;
using testing::ElementsAre;

namespace {

using F = std::vector<float>;
using U = std::vector<uint32_t>;
using I = std::vector<int32_t>;
using L = std::vector<uint64_t>;
using S = std::vector<uint16_t>;
constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::nanf("");
constexpr float tiny = 1e-40f;

F f32(const std::string &body, F a, F b = {}, F c = {}) {
  return map<float>("f32", "f32", body, a, b, c);
}
L u64(const std::string &body, L a, L b = {}, L c = {}) {
  return map<uint64_t>("b64", "b64", body, a, b, c);
}

TEST(Arithmetic, IntegersWrap) {
  EXPECT_THAT(u32("add.s32 %d, %a, %b;", {0x7fffffff, 5}, {1, ~0u}),
              ElementsAre(0x80000000, 4));
  EXPECT_THAT(u32("sub.u32 %d, %a, %b;", {0, 7}, {1, 3}), ElementsAre(~0u, 4));
  EXPECT_THAT(u32("mul.lo.s32 %d, %a, %b;", {0x10001, ~0u}, {0x10001, 5}),
              ElementsAre(0x20001, ~0u - 4));
  EXPECT_THAT(u32("mul.hi.u32 %d, %a, %b;", {~0u, 1u << 16}, {~0u, 1u << 17}),
              ElementsAre(~0u - 1, 2));
  EXPECT_THAT(u32("mul.hi.s32 %d, %a, %b;", {~0u, 1u << 30}, {1, 8}),
              ElementsAre(~0u, 2));
  EXPECT_THAT(u32("mad.lo.s32 %d, %a, %b, %c;", {3, 4}, {5, 6}, {7, ~0u}),
              ElementsAre(22, 23));
  EXPECT_THAT(u64("mul.hi.u64 %d, %a, %b;", {~0ull}, {16}), ElementsAre(15));
  EXPECT_THAT(u32("neg.s32 %d, %a;", {1, 0x80000000}),
              ElementsAre(~0u, 0x80000000));
  EXPECT_THAT(u32("abs.s32 %d, %a;", {~0u, 5}), ElementsAre(1, 5));
}

TEST(Arithmetic, PairsOf16Bits) {
  EXPECT_THAT(u32("add.s16x2 %d, %a, %b;", {0x7fffffff, 0x00010002}, {1, 3}),
              ElementsAre(0x7fff0000, 0x00010005));
  EXPECT_THAT(u32("add.u16x2 %d, %a, %b;", {0xfffffffe}, {0x00020003}),
              ElementsAre(0x00010001));
  EXPECT_THAT(u32("max.s16x2 %d, %a, %b;", {0xffff0001}, {0x0001fffe}),
              ElementsAre(0x00010001));
  EXPECT_THAT(u32("max.u16x2 %d, %a, %b;", {0xffff0001}, {0x0001fffe}),
              ElementsAre(0xfffffffe));
  EXPECT_THAT(u32("min.s16x2 %d, %a, %b;", {0xffff0001}, {0x0001fffe}),
              ElementsAre(0xfffffffe));
  EXPECT_THAT(u32("min.u16x2 %d, %a, %b;", {0xffff0001}, {0x0001fffe}),
              ElementsAre(0x00010001));
}

TEST(Arithmetic, WideProductsTakeTheSignOfTheType) {
  EXPECT_THAT(map<uint64_t>("b32", "b64", "mul.wide.s32 %d, %a, 4;", U{~0u, 3}),
              ElementsAre(~0ull - 3, 12));
  EXPECT_THAT(map<uint64_t>("b32", "b64", "mul.wide.u32 %d, %a, 4;", U{~0u, 3}),
              ElementsAre(0x3fffffffcull, 12));
  EXPECT_THAT(map<uint64_t>("b32", "b64",
                            "mov.u64 %l1, 100; mad.wide.u32 %d, %a, %b, %l1;",
                            U{7}, U{3}),
              ElementsAre(121));
}

TEST(Arithmetic, QuotientsOfIntegers) {
  EXPECT_THAT(u32("div.s32 %d, %a, %b;", {~0u - 6, 0x80000000, 9}, {2, ~0u, 0}),
              ElementsAre(~0u - 2, 0x80000000, ~0u));
  EXPECT_THAT(u32("rem.s32 %d, %a, %b;", {~0u - 6, 0x80000000, 9}, {4, ~0u, 0}),
              ElementsAre(~0u - 2, 0, 9));
  EXPECT_THAT(u64("div.u64 %d, %a, %b;", {1000}, {7}), ElementsAre(142));
}

TEST(Arithmetic, FmaRoundsOnce) {
  float a = 1 + 0x1p-12f, c = -(1 + 0x1p-11f);
  EXPECT_THAT(f32("fma.rn.f32 %d, %a, %b, %c;", {a}, {a}, {c}),
              ElementsAre(0x1p-24f));
  EXPECT_THAT(f32("mul.f32 %d, %a, %b; add.f32 %d, %d, %c;", {a}, {a}, {c}),
              ElementsAre(0));
}

TEST(Arithmetic, RoundsInADirection) {
  F a = {1, -1}, b = {0x1p-30f, -0x1p-30f};
  float up = std::nextafter(1.0f, 2.0f);
  EXPECT_THAT(f32("add.rn.f32 %d, %a, %b;", a, b), ElementsAre(1, -1));
  EXPECT_THAT(f32("add.rp.f32 %d, %a, %b;", a, b), ElementsAre(up, -1));
  EXPECT_THAT(f32("add.rm.f32 %d, %a, %b;", a, b), ElementsAre(1, -up));
  EXPECT_THAT(f32("add.rz.f32 %d, %a, %b;", a, b), ElementsAre(1, -1));
  // The nearest float to 1/3 is above it.
  EXPECT_THAT(f32("div.rm.f32 %d, %a, 0f40400000;", {1}),
              ElementsAre(std::nextafter(1.0f / 3, 0.0f)));
}

TEST(Arithmetic, FlushesAndSaturates) {
  EXPECT_THAT(f32("add.f32 %d, %a, %b;", {tiny}, {0}), ElementsAre(tiny));
  EXPECT_THAT(f32("add.ftz.f32 %d, %a, %b;", {tiny}, {0}), ElementsAre(0));
  EXPECT_THAT(f32("mul.ftz.f32 %d, %a, %b;", {1e-20f}, {1e-20f}),
              ElementsAre(0));
  EXPECT_THAT(f32("add.sat.f32 %d, %a, %b;", {1, -2, 0.25f, nan}, {1, 1, 0, 0}),
              ElementsAre(1, 0, 0.25f, 0));
}

TEST(Arithmetic, ExtremaPreferNumbers) {
  EXPECT_THAT(f32("max.f32 %d, %a, %b;", {nan, 1, -0.0f}, {2, nan, 0}),
              ElementsAre(2, 1, 0));
  EXPECT_THAT(f32("min.f32 %d, %a, %b;", {nan, 1, 3}, {2, nan, -inf}),
              ElementsAre(2, 1, -inf));
  EXPECT_THAT(f32("max.NaN.f32 %d, %a, %b;", {nan, 1}, {2, 3}),
              ElementsAre(testing::NanSensitiveFloatEq(nan), 3));
  EXPECT_THAT(u32("min.s32 %d, %a, %b;", {~0u}, {1}), ElementsAre(~0u));
  EXPECT_THAT(u32("min.u32 %d, %a, %b;", {~0u}, {1}), ElementsAre(1));
  EXPECT_THAT(f32("copysign.f32 %d, %a, %b;", {-1, 2}, {3, -4}),
              ElementsAre(-3, 4));
}

TEST(Arithmetic, Approximations) {
  using testing::FloatNear;
  EXPECT_THAT(f32("ex2.approx.ftz.f32 %d, %a;", {3, -inf}), ElementsAre(8, 0));
  EXPECT_THAT(f32("lg2.approx.f32 %d, %a;", {8}), ElementsAre(3));
  EXPECT_THAT(f32("rcp.approx.f32 %d, %a;", {4}), ElementsAre(0.25f));
  EXPECT_THAT(f32("rsqrt.approx.f32 %d, %a;", {16}), ElementsAre(0.25f));
  EXPECT_THAT(f32("sqrt.rn.f32 %d, %a;", {2}), ElementsAre(std::sqrt(2.0f)));
  EXPECT_THAT(f32("tanh.approx.f32 %d, %a;", {1}),
              ElementsAre(FloatNear(0.7615942f, 1e-6)));
  EXPECT_THAT(f32("sin.approx.f32 %d, %a;", {1}),
              ElementsAre(FloatNear(0.841471f, 1e-6)));
}

TEST(Bits, Shifts) {
  EXPECT_THAT(u32("shl.b32 %d, %a, %b;", {1, 1, 1}, {31, 32, 4}),
              ElementsAre(1u << 31, 0, 16));
  EXPECT_THAT(u32("shr.u32 %d, %a, %b;", {~0u, ~0u}, {31, 40}),
              ElementsAre(1, 0));
  EXPECT_THAT(u32("shr.s32 %d, %a, %b;", {~0u << 4, 64}, {40, 40}),
              ElementsAre(~0u, 0));
  EXPECT_THAT(u32("shf.l.wrap.b32 %d, %a, %b, 8;", {0xaa000000}, {1}),
              ElementsAre(0x1aa));
  EXPECT_THAT(u32("shf.r.clamp.b32 %d, %a, %b, 40;", {1}, {7}), ElementsAre(7));
}

TEST(Bits, Fields) {
  EXPECT_THAT(u32("bfe.u32 %d, %a, 8, 8;", {0x12345678}), ElementsAre(0x56));
  EXPECT_THAT(u32("bfe.s32 %d, %a, 0, 8;", {0xf0}), ElementsAre(~0u - 15));
  EXPECT_THAT(u32("bfi.b32 %d, %a, %b, 8, 8;", {0xab}, {0x11111111}),
              ElementsAre(0x1111ab11));
  EXPECT_THAT(u32("prmt.b32 %d, %a, %b, 0x5410;", {0x1234}, {0xabcd}),
              ElementsAre(0xabcd1234));
  EXPECT_THAT(u32("popc.b32 %d, %a;", {0xff}), ElementsAre(8));
  EXPECT_THAT(u32("clz.b32 %d, %a;", {1, 0}), ElementsAre(31, 32));
  EXPECT_THAT(u32("brev.b32 %d, %a;", {1}), ElementsAre(1u << 31));
  EXPECT_THAT(u32("bfind.u32 %d, %a;", {256, 0}), ElementsAre(8, ~0u));
  EXPECT_THAT(u32("lop3.b32 %d, %a, %b, %c, 0xe8;", {12}, {10}, {6}),
              ElementsAre(14));
}

TEST(Comparison, NaNIsUnordered) {
  F a = {1, nan, 2}, b = {1, 1, 1};
  auto holds = [&](const std::string &relation) {
    return map<uint32_t>(
        "f32", "b32",
        "setp." + relation + ".f32 %p1, %a, %b; selp.u32 %d, 1, 0, %p1;", a, b);
  };
  EXPECT_THAT(holds("eq"), ElementsAre(1, 0, 0));
  EXPECT_THAT(holds("equ"), ElementsAre(1, 1, 0));
  EXPECT_THAT(holds("gt"), ElementsAre(0, 0, 1));
  EXPECT_THAT(holds("ltu"), ElementsAre(0, 1, 0));
  EXPECT_THAT(holds("neu"), ElementsAre(0, 1, 1));
  EXPECT_THAT(holds("ne"), ElementsAre(0, 0, 1));
  EXPECT_THAT(holds("num"), ElementsAre(1, 0, 1));
  EXPECT_THAT(holds("nan"), ElementsAre(0, 1, 0));
}

TEST(Comparison, CombinesAndComplements) {
  // p1 = (a < b) and c, p2 = not (a < b) and c.
  EXPECT_THAT(u32("setp.ne.u32 %p3, %c, 0;\n"
                  "setp.lt.and.s32 %p1|%p2, %a, %b, %p3;\n"
                  "selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2;\n"
                  "or.b32 %d, %r1, %r2;",
                  {~0u, 5, 5}, {0, 0, 9}, {1, 1, 0}),
              ElementsAre(1, 2, 0));
  EXPECT_THAT(u32("set.lt.u32.u32 %d, %a, %b;", {1, 2}, {2, 1}),
              ElementsAre(~0u, 0));
  EXPECT_THAT(u32("slct.b32.s32 %d, %a, %b, %c;", {1, 1}, {2, 2}, {0, ~0u}),
              ElementsAre(1, 2));
  EXPECT_THAT(map<uint32_t>("f32", "b32",
                            "testp.infinite.f32 %p1, %a;\n"
                            "selp.u32 %d, 1, 0, %p1;",
                            F{inf, 1}),
              ElementsAre(1, 0));
}

TEST(Moves, PacksAndUnpacks) {
  EXPECT_THAT(
      u32("mov.b32 {%s1, %s2}, %a; mov.b32 %d, {%s2, %s1};", {0x12345678}),
      ElementsAre(0x56781234));
  EXPECT_THAT(u64("mov.b64 {%r1, _}, %a; mov.b64 %d, {%r1, %r1};",
                  {0xaaaabbbb12345678}),
              ElementsAre(0x1234567812345678));
}

TEST(Conversion, FloatToInteger) {
  auto convert = [](const std::string &modifiers, F a) {
    return map<int32_t>("f32", "b32", "cvt." + modifiers + " %d, %a;", a);
  };
  EXPECT_THAT(convert("rzi.s32.f32", {1.9f, -1.9f, 1e20f, nan}),
              ElementsAre(1, -1, INT32_MAX, 0));
  EXPECT_THAT(convert("rni.s32.f32", {0.5f, 1.5f, -2.5f}),
              ElementsAre(0, 2, -2));
  EXPECT_THAT(convert("rmi.s32.f32", {-0.5f}), ElementsAre(-1));
  EXPECT_THAT(convert("rpi.s32.f32", {0.5f}), ElementsAre(1));
  EXPECT_THAT(convert("rzi.u32.f32", {-5, 4e9f}),
              ElementsAre(0, static_cast<int32_t>(4000000000u)));
}

TEST(Conversion, IntegerToFloat) {
  EXPECT_THAT(map<float>("b64", "f32", "cvt.rn.f32.s64 %d, %a;",
                         L{~0ull, (1ull << 60) + 1, 0x1000001000000001}),
              ElementsAre(-1, 0x1p60f, 0x1.000002p60f));
  EXPECT_THAT(map<float>("b32", "f32", "cvt.rz.f32.u32 %d, %a;", U{~0u}),
              ElementsAre(4294967040.0f));
}

TEST(Conversion, NarrowIntegersInWideRegisters) {
  EXPECT_THAT(u32("cvt.s32.s8 %d, %a;", {0x1ff, 0x7f}), ElementsAre(~0u, 0x7f));
  EXPECT_THAT(u32("cvt.u32.u16 %d, %a;", {0x12345678}), ElementsAre(0x5678));
  EXPECT_THAT(u32("cvt.sat.s8.s32 %d, %a;", {1000, ~0u - 999}),
              ElementsAre(127, ~0u - 127));
  EXPECT_THAT(map<uint64_t>("b32", "b64", "cvt.s64.s32 %d, %a;", U{~0u}),
              ElementsAre(~0ull));
}

TEST(Conversion, HalfPrecision) {
  auto toHalf = [](const std::string &type, F a) {
    return map<uint16_t>("f32", "b16", "cvt.rn." + type + ".f32 %d, %a;", a);
  };
  EXPECT_THAT(toHalf("f16", {1, -2, 65504, 65536, 0x1p-24f, 0x1p-26f}),
              ElementsAre(0x3c00, 0xc000, 0x7bff, 0x7c00, 1, 0));
  // Ties go to even: between 1 and 1 + 2^-7 lies 1 + 2^-8.
  EXPECT_THAT(toHalf("bf16", {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, inf, 3e38f}),
              ElementsAre(0x3f80, 0x3f82, 0x7f80, 0x7f62));
  EXPECT_THAT(
      map<float>("b16", "f32", "cvt.f32.bf16 %d, %a;", S{0x3f80, 0xc040, 1}),
      ElementsAre(1, -3, 0x1p-133f));
  EXPECT_THAT(
      map<float>("b16", "f32", "cvt.f32.f16 %d, %a;", S{0x3c00, 0x7c00, 1}),
      ElementsAre(1, inf, 0x1p-24f));
  EXPECT_THAT(
      map<uint32_t>("f32", "b32", "cvt.rn.bf16x2.f32 %d, %a, %b;", F{1}, F{2}),
      ElementsAre(0x3f804000));
  EXPECT_THAT(map<uint16_t>("b16", "b16", "fma.rn.f16 %d, %a, %b, %c;",
                            S{0x4000}, S{0x4200}, S{0x3c00}),
              ElementsAre(0x4700));
  EXPECT_THAT(u32("add.rn.bf16x2 %d, %a, %b;", {0x3f804000}, {0x3f803f80}),
              ElementsAre(0x40004040));
}

TEST(Conversion, SingleAndDouble) {
  EXPECT_THAT(map<float>("f64", "f32", "cvt.rp.f32.f64 %d, %a;",
                         std::vector<double>{1 + 0x1p-40}),
              ElementsAre(std::nextafter(1.0f, 2.0f)));
  EXPECT_THAT(f32("cvt.rmi.f32.f32 %d, %a;", {1.5f, -1.5f}),
              ElementsAre(1, -2));
  EXPECT_THAT(f32("cvt.sat.f32.f32 %d, %a;", {1.5f, -1.5f, 0.5f}),
              ElementsAre(1, 0, 0.5f));
  EXPECT_THAT(u32("cvt.rna.tf32.f32 %d, %a;", {0x3f801000, 0x3f800fff}),
              ElementsAre(0x3f802000, 0x3f800000));
}

} // namespace
