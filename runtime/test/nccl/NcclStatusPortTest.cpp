//===- NcclStatusPortTest.cpp - What NCCL says of a job ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/nccl/NcclStatusPort.h"
#include "AnsweringPort.h"
#include "launch/Processes.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <chrono>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

TEST(NcclStatusPort, AddressIsThatOfNccl) {
  EXPECT_EQ(ncclStatusAddress(), "localhost:28028");
  ::setenv("NCCL_RAS_ADDR", "10.0.0.1:7", 1);
  EXPECT_EQ(ncclStatusAddress(), "10.0.0.1:7");
  ::unsetenv("NCCL_RAS_ADDR");
}

TEST(NcclStatusPort, ReportIsWhatComesBehindTheAnswerToTheTimeout) {
  const AnsweringPort port("OK\nJob summary\n");
  EXPECT_EQ(readNcclStatus(port.address(), 5s), "Job summary\n");
  EXPECT_EQ(port.heard(), "timeout 2\nverbose status\n");
}

TEST(NcclStatusPort, NobodyIsThere) {
  const std::string address = "127.0.0.1:" + std::to_string(freePort());
  EXPECT_EQ(readNcclStatus(address, 5s),
            "nobody answers at " + address + " (Connection refused)\n");
}

TEST(NcclStatusPort, WhoIsThereSaysNothing) {
  const AnsweringPort port("");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(readNcclStatus(port.address(), 200ms),
            port.address() + " did not answer within 200 ms\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST(NcclStatusPort, NoAddress) {
  EXPECT_EQ(readNcclStatus("somewhere", 1s),
            "somewhere is not an address (NCCL_RAS_ADDR)\n");
}

} // namespace
} // namespace weft::runtime
