//===- PtxFlowTest.cpp - Branches, calls, warps and blocks ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxKernel.h"

#include <gmock/gmock.h>

#include <numeric>

using namespace weft::emulator;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using U = std::vector<uint32_t>;

U counting(size_t count) {
  U result(count);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

TEST(Branches, LanesGoTheirWaysAndMeetAgain) {
  // Even lanes double, odd ones add 100; all of them are counted afterwards.
  U result = u32(R"(
    and.b32 %r1, %a, 1;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra odd;
    add.u32 %r2, %a, %a;
    bra join;
  odd:
    add.u32 %r2, %a, 100;
  join:
    activemask.b32 %r3;
    popc.b32 %r3, %r3;
    mad.lo.u32 %d, %r3, 1000, %r2;)",
                 counting(32));
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result[i], 32000 + (i % 2 ? i + 100 : 2 * i));
}

TEST(Branches, LoopsEndWhereEachLaneEnds) {
  U result = u32(R"(
    mov.u32 %d, 0; mov.u32 %r1, 0;
  loop:
    add.u32 %d, %d, %r1;
    add.u32 %r1, %r1, 1;
    setp.le.u32 %p1, %r1, %a;
    @%p1 bra loop;)",
                 counting(20));
  for (uint32_t i = 0; i < 20; ++i)
    EXPECT_EQ(result[i], i * (i + 1) / 2);
}

TEST(Branches, GuardsLeaveOtherLanesAlone) {
  EXPECT_THAT(u32("setp.gt.u32 %p1, %a, 1; mov.u32 %d, 7;\n"
                  "@%p1 mov.u32 %d, 8; @!%p1 add.u32 %d, %d, 2;",
                  {0, 1, 2, 3}),
              ElementsAre(9, 9, 8, 8));
}

TEST(Branches, Tables) {
  EXPECT_THAT(u32(R"(
    targets: .branchtargets zero, one, two;
    brx.idx %a, targets;
  zero: mov.u32 %d, 10; bra end;
  one: mov.u32 %d, 11; bra end;
  two: mov.u32 %d, 12;
  end:)",
                  {2, 0, 1, 2}),
              ElementsAre(12, 10, 11, 12));
}

TEST(Branches, ALaneThatSpinsDoesNotKeepOthersBack) {
  // Lane 0 waits for lane 1, which comes behind it in the text.
  PtxKernel kernel(R"(
    .visible .entry f(.param .u64 x) {
      .reg .u64 %rd; .reg .u32 %r<3>; .reg .pred %p<2>;
      ld.param.u64 %rd, [x];
      mov.u32 %r1, %tid.x;
      setp.ne.u32 %p1, %r1, 0;
      @%p1 bra signal;
    spin:
      ld.volatile.global.u32 %r2, [%rd];
      setp.eq.u32 %p0, %r2, 0;
      @%p0 bra spin;
      ret;
    signal:
      st.volatile.global.u32 [%rd], 1;
      ret;
    })",
                   "f");
  U x(1);
  kernel.run({{1}, {2}}, x);
  EXPECT_THAT(x, ElementsAre(1));
}

TEST(Calls, FunctionsAreCopiedIn) {
  PtxKernel kernel(R"(
    .func (.param .b32 out) twice(.param .b32 in) {
      .reg .b32 %r<2>; .reg .pred %p;
      ld.param.b32 %r1, [in];
      setp.eq.s32 %p, %r1, 3;
      st.param.b32 [out], 1000;
      @%p bra done;
      add.s32 %r1, %r1, %r1;
      st.param.b32 [out+0], %r1;
      ret;
    done:
      ret;
    }
    .visible .entry f(.param .u64 x) {
      .reg .b64 %rd<3>; .reg .b32 %r<4>;
      ld.param.u64 %rd1, [x];
      mov.u32 %r1, %tid.x;
      mad.wide.u32 %rd2, %r1, 4, %rd1;
      { .param .b32 p0; st.param.b32 [p0+0], %r1;
        .param .b32 r0; call.uni (r0), twice, (p0); ld.param.b32 %r2, [r0+0]; }
      { .param .b32 p0; st.param.b32 [p0+0], %r2;
        .param .b32 r0; call.uni (r0), twice, (p0); ld.param.b32 %r3, [r0+0]; }
      st.global.u32 [%rd2], %r3;
      ret;
    })",
                   "f");
  U x(6);
  kernel.run({{1}, {6}}, x);
  EXPECT_THAT(x, ElementsAre(0, 4, 8, 2000, 16, 20));
}

TEST(Memory, LocalVariablesByTheirGenericAddress) {
  EXPECT_THAT(u32(R"(
    .local .align 8 .b8 depot[16];
    mov.u64 %l1, depot;
    cvta.local.u64 %l2, %l1;
    st.u32 [%l2+4], %a;
    ld.local.u32 %d, [depot+4];)",
                  {1, 2, 3}),
              ElementsAre(1, 2, 3));
}

TEST(Memory, ConstantsAndVectors) {
  PtxKernel kernel(R"(
    .const .align 16 .f32 table[4] = {0f3F800000, 0f40000000, 0f40400000,
                                      0f40800000};
    .visible .entry f(.param .u64 x) {
      .reg .b64 %rd; .reg .f32 %f<5>;
      ld.param.u64 %rd, [x];
      ld.const.v4.f32 {%f1, %f2, %f3, %f4}, [table];
      st.global.v2.f32 [%rd], {%f4, %f1};
      st.global.v2.f32 [%rd+8], {%f3, 0f00000000};
      ret;
    })",
                   "f");
  std::vector<float> x(4);
  kernel.run({{1}, {1}}, x);
  EXPECT_THAT(x, ElementsAre(4, 1, 3, 0));
}

TEST(Memory, NarrowAccesses) {
  EXPECT_THAT(map<uint32_t>("u8", "b32", "cvt.u32.u16 %d, %a;",
                            std::vector<uint8_t>{1, 255}),
              ElementsAre(1, 255));
  PtxKernel kernel(R"(
    .visible .entry f(.param .u64 x) {
      .reg .b64 %rd; .reg .b32 %r1; .reg .b16 %rs1;
      ld.param.u64 %rd, [x];
      ld.global.s8 %r1, [%rd];
      ld.global.u8 %rs1, [%rd+1];
      st.global.u32 [%rd+4], %r1;
      st.global.u16 [%rd+8], %rs1;
      st.global.u8 [%rd+10], %r1;
      ret;
    })",
                   "f");
  std::vector<uint8_t> x = {0xfe, 0xfd, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
  kernel.run({{1}, {1}}, x);
  EXPECT_THAT(x, ElementsAre(0xfe, 0xfd, 9, 9, 0xfe, 0xff, 0xff, 0xff, 0xfd, 0,
                             0xfe, 9));
}

TEST(Memory, DynamicSharedMemoryFollowsTheStatic) {
  PtxKernel kernel(R"(
    .extern .shared .align 16 .b8 dynamic[];
    .visible .entry f(.param .u64 x) {
      .reg .b64 %rd<3>; .reg .b32 %r<4>;
      .shared .align 4 .b8 fixed[128];
      ld.param.u64 %rd1, [x];
      mov.u32 %r1, %tid.x;
      shl.b32 %r2, %r1, 2;
      mov.u32 %r3, fixed;
      add.u32 %r3, %r3, %r2;
      st.shared.u32 [%r3], 5;
      mov.u32 %r3, dynamic;
      add.u32 %r3, %r3, %r2;
      st.shared.u32 [%r3], %r1;
      ld.shared.u32 %r0, [%r3];
      mad.wide.u32 %rd2, %r1, 4, %rd1;
      st.global.u32 [%rd2], %r0;
      ret;
    })",
                   "f");
  U x(32);
  kernel.run({{1}, {32}, 128}, x);
  EXPECT_EQ(x, counting(32));
  EXPECT_THROW(kernel.run({{1}, {32}, 64}, x), Fault);
}

/// Each row of blocks has a line of the table.
TEST(Parameters, ATableIsReadAtComputedPlaces) {
  PtxKernel kernel(R"(
    .visible .entry f(.param .align 8 .b8 table[48], .param .u64 x) {
      .reg .b64 %rd<8>; .reg .b32 %r<3>;
      mov.b64 %rd1, table;
      mov.u32 %r1, %ctaid.y;
      mul.wide.u32 %rd2, %r1, 16;
      add.s64 %rd3, %rd1, %rd2;
      ld.param.b64 %rd4, [%rd3];
      ld.param.b64 %rd5, [%rd3+8];
      ld.param.u64 %rd6, [x];
      add.s64 %rd7, %rd6, %rd4;
      cvt.u32.u64 %r2, %rd5;
      st.global.u32 [%rd7], %r2;
      ret;
    })",
                   "f");
  const struct {
    uint64_t words[6];
  } table = {{8, 100, 0, 200, 4, 300}};
  U x(4);
  kernel.run({{1, 3}, {1}}, table, x);
  EXPECT_THAT(x, ElementsAre(200, 300, 100, 0));
  try {
    kernel.run({{1, 4}, {1}}, table, x);
    FAIL() << "reads behind the parameters";
  } catch (const Fault &fault) {
    EXPECT_EQ(fault.kind, FaultKind::IllegalAddress);
    EXPECT_THAT(fault.what(), HasSubstr("of the parameters, which has 56"));
  }
}

TEST(Atomics, AddInOrderOfNobody) {
  PtxKernel kernel(R"(
    .visible .entry f(.param .u64 x, .param .u64 y) {
      .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .f32 %f1;
      ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
      atom.global.add.u32 %r1, [%rd1], 2;
      red.global.max.u32 [%rd1+4], %r1;
      atom.global.inc.u32 %r2, [%rd1+8], 9;
      atom.global.cas.b32 %r3, [%rd1+12], 0, 77;
      red.global.add.f32 [%rd2], 0f3F000000;
      ret;
    })",
                   "f");
  U x(4);
  std::vector<float> y(1);
  kernel.options.hostThreads = 4;
  kernel.run({{64}, {64}}, x, y);
  EXPECT_THAT(x, ElementsAre(8192, 8190, 4096 % 10, 77));
  EXPECT_THAT(y, ElementsAre(2048));
}

/// Sums the elements of a block of `threads` with shuffles and one barrier.
const char *reduction = R"(
  .visible .entry f(.param .u64 x, .param .u64 y) {
    .reg .b64 %rd<4>; .reg .b32 %r<12>; .reg .pred %p<4>; .reg .f32 %f<4>;
    .shared .align 4 .f32 partial[32];
    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r4, %r3, %r2, %r1;
    mad.wide.u32 %rd3, %r4, 4, %rd1;
    ld.global.f32 %f1, [%rd3];
    mov.u32 %r5, 16;
  warp:
    shfl.sync.down.b32 %f2, %f1, %r5, 31, -1;
    add.f32 %f1, %f1, %f2;
    shr.u32 %r5, %r5, 1;
    setp.ne.u32 %p1, %r5, 0;
    @%p1 bra warp;
    mov.u32 %r6, %laneid; mov.u32 %r7, %warpid;
    setp.ne.u32 %p2, %r6, 0;
    @%p2 bra wait;
    mov.u32 %r8, partial; mad.lo.u32 %r8, %r7, 4, %r8;
    st.shared.f32 [%r8], %f1;
  wait:
    bar.sync 0;
    setp.ne.u32 %p3, %r1, 0;
    @%p3 ret;
    mov.f32 %f3, 0f00000000; mov.u32 %r9, 0; shr.u32 %r10, %r2, 5;
  sum:
    mov.u32 %r8, partial; mad.lo.u32 %r8, %r9, 4, %r8;
    ld.shared.f32 %f2, [%r8];
    add.f32 %f3, %f3, %f2;
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p1, %r9, %r10;
    @%p1 bra sum;
    mad.wide.u32 %rd3, %r3, 4, %rd2;
    st.global.f32 [%rd3], %f3;
    ret;
  })";

TEST(Blocks, ReduceWithShufflesInEveryOrder) {
  PtxKernel kernel(reduction, "f");
  std::vector<float> x(8 * 256), y(8);
  std::iota(x.begin(), x.end(), 0);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    kernel.options.seed = seed;
    kernel.options.findRaces = kernel.options.findUninitialized = seed % 2;
    kernel.run({{8}, {256}}, x, y);
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(y[i], 256 * 256 * i + 255 * 128);
  }
}

TEST(Blocks, RegistersArePlacedWhereOthersHaveEnded) {
  std::string body = ".reg .b32 %x<101>; mov.u32 %x0, %a;\n";
  for (int i = 1; i <= 100; ++i)
    body += "add.u32 %x" + std::to_string(i) + ", %x" + std::to_string(i - 1) +
            ", 1;\n";
  body += "mov.u32 %d, %x100;";
  PtxKernel kernel(mapKernel("b32", "b32", body, 1), "f");
  EXPECT_LT(kernel.code().registerBytes, 20u * 256u);
  EXPECT_THAT(u32(body, {5}), ElementsAre(105));
}

TEST(Blocks, VotesAndReductions) {
  U result = u32(R"(
    setp.lt.u32 %p1, %a, 5;
    vote.sync.ballot.b32 %r1, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1;
    vote.sync.all.pred %p3, !%p1, -1;
    redux.sync.add.s32 %r2, %a, -1;
    selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3;
    add.u32 %d, %r1, %r2; add.u32 %d, %d, %r3; add.u32 %d, %d, %r4;)",
                 counting(32));
  EXPECT_THAT(result, Each(31 + 31 * 16 + 1));
}

TEST(Blocks, ShuffleModes) {
  auto shuffle = [](const std::string &mode) {
    return u32("shfl.sync." + mode + ", -1; @!%p1 mov.u32 %d, 99;",
               counting(32));
  };
  U up = shuffle("up.b32 %d|%p1, %a, 3, 0");
  U butterfly = shuffle("bfly.b32 %d|%p1, %a, 5, 31");
  // Segments of eight lanes.
  U down = shuffle("down.b32 %d|%p1, %a, 2, 0x181f");
  U index = shuffle("idx.b32 %d|%p1, %a, 3, 0x181f");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i < 3 ? 99 : i - 3);
    EXPECT_EQ(butterfly[i], i ^ 5);
    EXPECT_EQ(down[i], i % 8 < 6 ? i + 2 : 99);
    EXPECT_EQ(index[i], i / 8 * 8 + 3);
  }
}

TEST(Blocks, HalvesOfAWarpShuffleOnTheirOwn) {
  U result = u32(R"(
    setp.lt.u32 %p1, %a, 16;
    @%p1 bra low;
    shfl.sync.bfly.b32 %d, %a, 1, 31, 0xffff0000;
    bra end;
  low:
    shfl.sync.bfly.b32 %d, %a, 2, 31, 0xffff;
  end:
    bar.warp.sync -1;)",
                 counting(32));
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result[i], i < 16 ? i ^ 2 : i ^ 1);
}

TEST(Blocks, BarriersThatVote) {
  PtxKernel kernel(R"(
    .visible .entry f(.param .u64 x) {
      .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<3>;
      ld.param.u64 %rd1, [x];
      mov.u32 %r1, %tid.x;
      setp.lt.u32 %p1, %r1, 40;
      bar.red.popc.u32 %r2, 0, %p1;
      bar.red.or.pred %p2, 0, %p1;
      @%p2 add.u32 %r2, %r2, 1000;
      mad.wide.u32 %rd2, %r1, 4, %rd1;
      st.global.u32 [%rd2], %r2;
      ret;
    })",
                   "f");
  U x(96);
  kernel.run({{1}, {96}}, x);
  EXPECT_THAT(x, Each(1040));
}

TEST(Blocks, GridsOfThreeDimensions) {
  PtxKernel kernel(R"(
    .visible .entry f(.param .u64 x) {
      .reg .b64 %rd<3>; .reg .b32 %r<9>;
      ld.param.u64 %rd1, [x];
      mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %ctaid.y;
      mad.lo.u32 %r1, %r1, %r2, %r3;
      mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x;
      mad.lo.u32 %r1, %r1, %r2, %r3;
      mov.u32 %r2, %ntid.y; mov.u32 %r3, %tid.y;
      mad.lo.u32 %r1, %r1, %r2, %r3;
      mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
      mad.lo.u32 %r1, %r1, %r2, %r3;
      mad.wide.u32 %rd2, %r1, 4, %rd1;
      st.global.u32 [%rd2], %r1;
      ret;
    })",
                   "f");
  U x(2 * 3 * 4 * 5 * 6);
  kernel.run({{2, 3, 4}, {5, 6}}, x);
  EXPECT_EQ(x, counting(x.size()));
}

} // namespace
