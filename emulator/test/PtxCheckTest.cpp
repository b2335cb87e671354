//===- PtxCheckTest.cpp - What the emulator reports of a kernel -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxKernel.h"

#include <gmock/gmock.h>

using namespace weft::emulator;
using testing::HasSubstr;

namespace {

using U = std::vector<uint32_t>;

/// A kernel with the address of `x` in %rd1, the thread in %r1 and the address
/// of its element in %rd2.
std::string kernelWith(const std::string &body) {
  return R"(.visible .entry f(.param .u64 x) {
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
    .shared .align 16 .b8 buffer[256];
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
)" + body +
         "\nret;\n}";
}

/// The fault of a kernel.
Fault faultOf(const std::string &body, PtxKernel::Shape shape,
              RunOptions options = {}, size_t elements = 64) {
  PtxKernel kernel(kernelWith(body), "f");
  kernel.options = options;
  U x(elements);
  try {
    kernel.run(shape, x);
  } catch (const Fault &fault) {
    return fault;
  }
  return Fault(FaultKind::Trap, "no fault");
}

TEST(Checks, AccessesOutsideAllocations) {
  Fault fault = faultOf("st.global.u32 [%rd2+8], 1;", {{2}, {64}});
  EXPECT_EQ(fault.kind, FaultKind::IllegalAddress);
  EXPECT_THAT(fault.what(), HasSubstr("kernel 'f', block ("));
  EXPECT_THAT(fault.what(), HasSubstr("thread (62, 0, 0), PTX line 10: writes "
                                      "4 bytes at 0x"));
  EXPECT_THAT(fault.what(),
              HasSubstr("0 bytes behind the end of an allocation of 256"));
  EXPECT_THAT(faultOf("ld.global.u32 %r2, [%rd1+-4];", {{1}, {1}}).what(),
              HasSubstr("reads 4 bytes at"));
  EXPECT_THAT(faultOf("ld.shared.u32 %r2, [buffer+256];", {{1}, {1}}).what(),
              HasSubstr("reads 4 bytes at 0x100 of shared memory, which has "
                        "256"));
  EXPECT_THAT(
      faultOf(".local .b32 v; st.local.u32 [v+4], 0;", {{1}, {1}}).what(),
      HasSubstr("of local memory, which has 4"));
}

TEST(Checks, MisalignedVectors) {
  Fault fault =
      faultOf("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2];", {{1}, {2}});
  EXPECT_EQ(fault.kind, FaultKind::MisalignedAddress);
  EXPECT_THAT(fault.what(), HasSubstr("which is not a multiple of 16"));
}

TEST(Checks, BarriersThatSomeDoNotReach) {
  Fault fault =
      faultOf("setp.gt.u32 %p1, %r1, 39; @%p1 ret; bar.sync 0;", {{1}, {64}});
  EXPECT_EQ(fault.kind, FaultKind::Synchronization);
  EXPECT_THAT(fault.what(), HasSubstr("the barrier is reached by 40 of 64 "
                                      "threads; 24 have exited"));
  EXPECT_THAT(faultOf("setp.gt.u32 %p1, %r1, 3; @%p1 bra other; bar.sync 0;\n"
                      "bra end; other: bar.sync 0; end:",
                      {{1}, {32}})
                  .what(),
              HasSubstr("threads of the warp are at the barriers of lines"));
  EXPECT_THAT(faultOf("bar.sync 16;", {{1}, {32}}).what(),
              HasSubstr("there is no barrier 16"));
}

TEST(Checks, ShufflesThatSomeDoNotReach) {
  EXPECT_THAT(faultOf("setp.eq.u32 %p1, %r1, 3; @%p1 bra over;\n"
                      "shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\n"
                      "over: bar.sync 0;",
                      {{1}, {32}})
                  .what(),
              HasSubstr("the barrier is reached by 1 of 32 threads"));
  EXPECT_THAT(
      faultOf("shfl.sync.idx.b32 %r2, %r1, 0, 31, 2;", {{1}, {1}}).what(),
      HasSubstr("the thread is not in the mask that it waits for"));
  EXPECT_THAT(faultOf("setp.eq.u32 %p1, %r1, 0; @%p1 bar.warp.sync -1;\n"
                      "@!%p1 bar.warp.sync 0xfffffffe; bar.warp.sync 3;",
                      {{1}, {32}})
                  .what(),
              HasSubstr("the thread is not in the mask that it waits for"));
}

TEST(Checks, TrapsAndEndlessLoops) {
  EXPECT_EQ(faultOf("trap;", {{1}, {1}}).kind, FaultKind::Trap);
  Fault fault = faultOf("loop: bra loop;", {{1}, {1}, 0, 100000});
  EXPECT_EQ(fault.kind, FaultKind::Timeout);
  EXPECT_THAT(fault.what(), HasSubstr("a loop without end?"));
}

RunOptions withRaces(uint64_t seed = 0) {
  RunOptions options;
  options.findRaces = true;
  options.seed = seed;
  return options;
}

TEST(Checks, RacesWithinABlock) {
  // Every thread reads what its neighbour wrote, without a barrier.
  std::string body = R"(
    shl.b32 %r2, %r1, 2; mov.u32 %r3, buffer; add.u32 %r2, %r2, %r3;
    st.shared.u32 [%r2], %r1;
    BARRIER
    xor.b32 %r2, %r2, 128;
    ld.shared.u32 %r4, [%r2];)";
  std::string with = body, without = body;
  with.replace(with.find("BARRIER"), 7, "bar.sync 0;");
  without.replace(without.find("BARRIER"), 7, "");
  EXPECT_STREQ(faultOf(with, {{1}, {64}}, withRaces()).what(), "no fault");
  Fault fault = faultOf(without, {{1}, {64}}, withRaces());
  EXPECT_EQ(fault.kind, FaultKind::Race);
  EXPECT_THAT(fault.what(), HasSubstr("and nothing orders the two"));
}

TEST(Checks, RacesWithinAWarp) {
  std::string body = "shl.b32 %r2, %r1, 2; st.shared.u32 [%r2], %r1;\n"
                     "SYNC xor.b32 %r2, %r2, 4; ld.shared.u32 %r4, [%r2];";
  std::string with = body, without = body;
  with.replace(with.find("SYNC"), 4, "bar.warp.sync -1;");
  without.replace(without.find("SYNC"), 4, "");
  EXPECT_STREQ(faultOf(with, {{1}, {32}}, withRaces()).what(), "no fault");
  EXPECT_EQ(faultOf(without, {{1}, {32}}, withRaces()).kind, FaultKind::Race);
}

TEST(Checks, RacesBetweenBlocks) {
  EXPECT_EQ(
      faultOf("st.global.u32 [%rd2], %r1;", {{2}, {32}}, withRaces()).kind,
      FaultKind::Race);
  EXPECT_STREQ(
      faultOf("red.global.add.u32 [%rd2], %r1;", {{2}, {32}}, withRaces())
          .what(),
      "no fault");
}

/// The block that comes last sums what the others left.
std::string lastBlock(const std::string &fence) {
  return R"(
    mov.u32 %r2, %ctaid.x; mad.wide.u32 %rd3, %r2, 4, %rd1;
    st.global.u32 [%rd3+8], 1;
)" + fence +
         R"(
    mov.u32 %r3, %nctaid.x; sub.u32 %r3, %r3, 1;
    atom.global.inc.u32 %r4, [%rd1], %r3;
    setp.ne.u32 %p1, %r4, %r3;
    @%p1 ret;
    mov.u32 %r5, 0; mov.u32 %r6, 0;
  next:
    mad.wide.u32 %rd4, %r6, 4, %rd1;
    ld.global.u32 %r7, [%rd4+8];
    add.u32 %r5, %r5, %r7; add.u32 %r6, %r6, 1;
    setp.le.u32 %p1, %r6, %r3;
    @%p1 bra next;
    st.global.u32 [%rd1+4], %r5;)";
}

TEST(Checks, AtomicsWithAFenceOrderBlocks) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_STREQ(
        faultOf(lastBlock("membar.gl;"), {{4}, {1}}, withRaces(seed)).what(),
        "no fault");
    EXPECT_EQ(faultOf(lastBlock(""), {{4}, {1}}, withRaces(seed)).kind,
              FaultKind::Race);
  }
}

// With several threads of the host, a record of an atomic could be made before
// that of another one, and the atomic behind it.
TEST(Checks, AtomicsAreRecordedInTheOrderThatTheyHappenIn) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RunOptions options = withRaces(seed);
    options.hostThreads = 4;
    EXPECT_STREQ(faultOf(lastBlock("membar.gl;"), {{32}, {1}}, options).what(),
                 "no fault");
  }
}

TEST(Checks, ReadsOfSharedMemoryThatNobodyWrote) {
  RunOptions options;
  options.findUninitialized = true;
  Fault fault = faultOf("ld.shared.u32 %r2, [buffer+8];", {{1}, {1}}, options);
  EXPECT_EQ(fault.kind, FaultKind::Uninitialized);
  EXPECT_THAT(fault.what(), HasSubstr("reads byte 8 of shared memory, which "
                                      "nobody has written"));
}

} // namespace
