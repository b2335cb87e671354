//===- JobDevicesTest.cpp - Devices of the ranks of a job -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/rank/JobDevices.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

JobDevice device(std::string host, std::string uuid,
                 std::string kind = "H200") {
  return {std::move(host), std::move(uuid), std::move(kind), "0"};
}

TEST(JobDevices, OneDeviceEach) {
  EXPECT_TRUE(checkOneDeviceEach({device("a", "1"), device("a", "2"),
                                  device("b", "1"), device("b", "2")})
                  .ok());
  const std::vector<JobDevice> shared = {device("a", "1"), device("b", "1"),
                                         device("a", "1"), device("b", "2"),
                                         device("b", "1")};
  const Status status = checkOneDeviceEach(shared);
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(status.message(),
            "NCCL wants a device for each rank, and ranks 0, 2 have 1 (H200) "
            "of one host, ranks 1, 4 have 1 (H200) of one host; start at most "
            "one process a device, or show each process another one with "
            "CUDA_VISIBLE_DEVICES; to try several ranks on one device, slowly, "
            "set NCCL_HOSTID to something else in each process");
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  EXPECT_TRUE(checkOneDeviceEach(shared).ok());
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
}

TEST(JobDevices, HostsByTheVariableOfNccl) {
  const CudaDevice h200{.name = "NVIDIA H200", .uuid = "GPU-1"};
  setenv("NCCL_HOSTID", "mine\n", 1);
  const JobDevice named = jobDevice(h200, 130100);
  unsetenv("NCCL_HOSTID");
  EXPECT_EQ(named.host, "mine\\n");
  EXPECT_EQ(named.kind, "NVIDIA H200, cuBLASLt 130100");
  const JobDevice other = jobDevice(h200, 130100);
  EXPECT_NE(other.host, named.host);
  EXPECT_NE(other.session, named.session);
}

TEST(JobDevices, AreExchanged) {
  Launch one;
  auto bootstrap = Bootstrap::connect(one, std::chrono::seconds(1));
  ASSERT_TRUE(bootstrap.ok());
  const auto all = exchangeDevices(
      **bootstrap, {"host 1", "GPU-1", "NVIDIA H200, cuBLASLt 1", "7"},
      std::chrono::seconds(1));
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ((*all)[0].host, "host 1");
  EXPECT_EQ((*all)[0].uuid, "GPU-1");
  EXPECT_EQ((*all)[0].kind, "NVIDIA H200, cuBLASLt 1");
  EXPECT_EQ((*all)[0].session, "7");
}

TEST(JobDevices, TheFirstOfAKindChooses) {
  const std::vector<JobDevice> devices = {
      device("a", "1", "H100"), device("a", "2", "H200"),
      device("b", "1", "H100"), device("b", "2", "H200")};
  EXPECT_EQ(firstOfKind(devices, 0), 0);
  EXPECT_EQ(firstOfKind(devices, 1), 1);
  EXPECT_EQ(firstOfKind(devices, 2), 0);
  EXPECT_EQ(firstOfKind(devices, 3), 1);
}

} // namespace
} // namespace weft::runtime
