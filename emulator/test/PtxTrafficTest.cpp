//===- PtxTrafficTest.cpp - What the emulator counts of accesses ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxKernel.h"

#include <gmock/gmock.h>

using namespace weft::emulator;

namespace {

/// What threads move by `body`, where %rd1 is the first sector of a vector of
/// 8192 numbers, %rd2 the offset of the thread if each has `stride` bytes, and
/// %r1 the thread.
LaunchTraffic trafficOf(const std::string &body, int stride,
                        PtxKernel::Shape shape = {{1}, {32}}) {
  PtxKernel kernel(R"(.visible .entry f(.param .u64 x) {
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
    .shared .align 16 .b8 buffer[256];
    ld.param.u64 %rd1, [x];
    add.u64 %rd1, %rd1, 31;
    and.b64 %rd1, %rd1, -32;
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, )" +
                       std::to_string(stride) + ", %rd1;\n" + body +
                       "\nret;\n}",
                   "f");
  LaunchTraffic traffic;
  kernel.options.traffic = &traffic;
  std::vector<uint32_t> x(8192);
  kernel.run(shape, x);
  return traffic;
}

TEST(Traffic, NeighboursShareSectors) {
  Traffic reads = trafficOf("ld.global.u32 %r2, [%rd2];", 4).reads;
  EXPECT_EQ(reads.accesses, 1u);
  EXPECT_EQ(reads.bytes, 128u);
  EXPECT_EQ(reads.sectors, 4u);
  EXPECT_EQ(reads.usedShare(), 1);
  reads = trafficOf("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2];", 16).reads;
  EXPECT_EQ(reads.accesses, 1u);
  EXPECT_EQ(reads.bytes, 512u);
  EXPECT_EQ(reads.sectors, 16u);
}

TEST(Traffic, DistantLanesHaveSectorsOfTheirOwn) {
  Traffic reads = trafficOf("ld.global.u32 %r2, [%rd2];", 128).reads;
  EXPECT_EQ(reads.sectors, 32u);
  EXPECT_EQ(reads.usedShare(), 0.125);
  // Beside the start of a sector: one more.
  EXPECT_EQ(trafficOf("ld.global.u32 %r2, [%rd2+4];", 4).reads.sectors, 5u);
}

TEST(Traffic, LanesMayTouchTheSameBytes) {
  Traffic reads = trafficOf("ld.global.u32 %r2, [%rd1];", 4).reads;
  EXPECT_EQ(reads.bytes, 4u);
  EXPECT_EQ(reads.sectors, 1u);
}

TEST(Traffic, OnlyLanesThatAreOn) {
  Traffic reads = trafficOf("setp.lt.u32 %p1, %r1, 8;\n"
                            "@%p1 ld.global.u32 %r2, [%rd2];\n"
                            "setp.lt.u32 %p1, %r1, 0;\n"
                            "@%p1 ld.global.u32 %r2, [%rd2];",
                            4)
                      .reads;
  EXPECT_EQ(reads.accesses, 1u);
  EXPECT_EQ(reads.bytes, 32u);
}

TEST(Traffic, ReadsAndWritesAndAtomics) {
  LaunchTraffic traffic = trafficOf("st.global.u32 [%rd2], 1;\n"
                                    "atom.global.add.u32 %r2, [%rd1], 1;",
                                    4);
  EXPECT_EQ(traffic.writes.accesses, 2u);
  EXPECT_EQ(traffic.writes.sectors, 5u);
  EXPECT_EQ(traffic.writes.distinct, 4u);
  EXPECT_EQ(traffic.reads.sectors, 1u);
}

TEST(Traffic, NotSharedMemory) {
  LaunchTraffic traffic = trafficOf("st.shared.u32 [buffer], 1;\n"
                                    "ld.shared.u32 %r2, [buffer];",
                                    4);
  EXPECT_EQ(traffic.reads.accesses + traffic.writes.accesses, 0u);
}

TEST(Traffic, OfAllWarpsAndBlocks) {
  // On several threads of the host. All blocks read the same.
  PtxKernel::Shape shape{{16}, {64}};
  Traffic reads = trafficOf("ld.global.u32 %r2, [%rd2];", 4, shape).reads;
  EXPECT_EQ(reads.accesses, 32u);
  EXPECT_EQ(reads.sectors, 128u);
  EXPECT_EQ(reads.distinct, 8u);
  EXPECT_EQ(describe(reads),
            "32 accesses, 4096 bytes in 128 sectors (100 %), 8 of them "
            "distinct");
}

} // namespace
