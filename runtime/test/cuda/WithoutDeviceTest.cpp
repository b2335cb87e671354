//===- WithoutDeviceTest.cpp - Plans for GPUs where there is none -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine without libraries, and one with libraries but without a driver:
// one message each, that names what is missing and what helps.
//
//===----------------------------------------------------------------------===//

#include "CudaPlan.h"
#include "cuda/platform/Device.h"
#include "cuda/rank/MemoryNeeds.h"
#include "weft/runtime/Session.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// What a session of a plan for a GPU says with libraries from a folder.
Status creationStatus(const char *folder) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {16});
  entry.copy(entry.input("x", type), entry.output("y", type));
  makeCudaPlan(builder, ".version 9.0");
  setenv("WEFT_CUDA_LIBRARIES", folder, 1);
  const Status status = Session::create(builder.build()).status();
  unsetenv("WEFT_CUDA_LIBRARIES");
  return status;
}

TEST(WithoutDevice, NoLibraries) {
  const Status status = creationStatus("/no/such/folder");
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("cannot open libcudart.so.13"),
                    HasSubstr("install the runtime of CUDA 13")));
}

TEST(WithoutDevice, NoDriver) {
  const auto cudart = loadCudart({{WEFT_CUDA_LIBRARY_FOLDER}});
  if (!cudart.ok())
    GTEST_SKIP() << "the toolkit has headers only";
  int driver = 0;
  if (cudart->driverGetVersion(&driver) == cudaSuccess && driver != 0)
    GTEST_SKIP() << "this machine has a driver";
  const Status status = creationStatus(WEFT_CUDA_LIBRARY_FOLDER);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_EQ(status.message(),
            "the plan is for a GPU, but this machine has no NVIDIA driver; run "
            "it where there is one, or compile the plan with --target=cpu");
}

TEST(WithoutDevice, CallsThatFailAreNamed) {
  const auto cudart = loadCudart({{WEFT_CUDA_LIBRARY_FOLDER}});
  if (!cudart.ok())
    GTEST_SKIP() << "the toolkit has headers only";
  EXPECT_TRUE(cudaStatus(*cudart, cudaSuccess, "cudaMalloc").ok());
  const Status memory =
      cudaStatus(*cudart, cudaErrorMemoryAllocation, "cudaMalloc of 8 bytes");
  EXPECT_EQ(memory.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(memory.message(), "cudaMalloc of 8 bytes: out of memory "
                              "(cudaErrorMemoryAllocation)");
  EXPECT_EQ(cudaStatus(*cudart, cudaErrorIllegalAddress, "x").code(),
            StatusCode::Unavailable);
}

TEST(WithoutDevice, DriversThatDoNotStart) {
  static cudaError_t error;
  Cudart broken;
  broken.driverGetVersion = broken.runtimeGetVersion = [](int *version) {
    *version = 13000;
    return cudaSuccess;
  };
  broken.getErrorString = [](cudaError_t) { return "text"; };
  broken.getErrorName = [](cudaError_t) { return "name"; };
  broken.getDeviceCount = [](int *count) {
    *count = 1;
    return error == cudaErrorDevicesUnavailable ? cudaSuccess : error;
  };
  broken.setDevice = [](int) { return error; };
  const auto messageOf = [&](cudaError_t given) {
    error = given;
    return openDevice(broken, 0).status().message();
  };
  EXPECT_EQ(messageOf(cudaErrorSystemNotReady),
            "cudaGetDeviceCount: text (name); on machines with NVSwitch the "
            "fabric manager of the driver's version must run: systemctl start "
            "nvidia-fabricmanager");
  EXPECT_THAT(messageOf(cudaErrorSystemDriverMismatch),
              HasSubstr("the driver's kernel module and its libraries are of "
                        "different versions: restart the machine, or mount "
                        "the libraries of the host into the container"));
  EXPECT_EQ(messageOf(cudaErrorDevicesUnavailable),
            "cudaSetDevice: text (name); another process may hold the device "
            "alone: nvidia-smi shows its processes and its compute mode");
}

TEST(WithoutDevice, MemoryThatIsNotEnough) {
  const CudaDevice device{.number = 1, .name = "GPU"};
  const std::vector<MemoryNeed> needs = {
      {"arena", 10}, {"workspace of kernels", 0}, {"staging", 5}};
  EXPECT_TRUE(checkMemory(device, needs, 1, 15).ok());
  const Status status = checkMemory(device, needs, 1, 14);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(),
            "1 rank on device 1 (GPU) needs 15 bytes: arena 10, staging 5; 14 "
            "bytes are available; compile for a larger mesh, or shrink the "
            "batch");
  EXPECT_THAT(checkMemory(device, needs, 2, 29).message(),
              HasSubstr("2 ranks on device 1 (GPU) need 30 bytes, 15 each: "));
  // No overflow.
  EXPECT_FALSE(checkMemory(device, {{"arena", UINT64_MAX}, {"staging", 2}}, 4,
                           UINT64_MAX)
                   .ok());
}

plan::PlanT planFor(std::string processor, bool hasPtx) {
  plan::PlanT table;
  table.producer = "test";
  table.target = std::make_unique<plan::TargetT>();
  table.target->kind = "cuda";
  table.target->processor = std::move(processor);
  if (hasPtx)
    table.ptx = ".version 9.0";
  return table;
}

std::string verdict(std::string processor, bool hasPtx, int device) {
  flatbuffers::FlatBufferBuilder builder;
  const plan::PlanT table = planFor(std::move(processor), hasPtx);
  builder.Finish(plan::Plan::Pack(builder, &table));
  return checkProcessor(
             *flatbuffers::GetRoot<plan::Plan>(builder.GetBufferPointer()),
             {.number = 2, .name = "GPU", .processor = device})
      .message();
}

TEST(WithoutDevice, ProcessorsThatFit) {
  EXPECT_EQ(verdict("sm_90", false, 90), "");
  // A cubin runs on later minor versions, PTX on all later processors.
  EXPECT_EQ(verdict("sm_80", false, 86), "");
  EXPECT_EQ(verdict("sm_80", true, 90), "");
  EXPECT_EQ(verdict("sm_100", true, 120), "");
  EXPECT_EQ(verdict("sm_90a", true, 90), "");
  EXPECT_EQ(verdict("sm_80", false, 90),
            "the plan is for sm_80, but device 2 (GPU) is sm_90; compile it "
            "with --target=cuda:sm_90");
  EXPECT_THAT(verdict("sm_90", true, 80), HasSubstr("is sm_80; compile it"));
  EXPECT_THAT(verdict("sm_90a", true, 100), HasSubstr("is sm_100; compile"));
}

/// For a plan whose kernels ask for these bytes, declared and of the launch.
std::string
sharedVerdict(std::string processor,
              const std::vector<std::pair<uint32_t, uint32_t>> &bytes,
              size_t available) {
  plan::PlanT table = planFor(std::move(processor), true);
  for (const auto &[declared, ofLaunch] : bytes) {
    auto &kernel =
        table.kernels.emplace_back(std::make_unique<plan::KernelT>());
    kernel->symbol = "kernel_" + std::to_string(table.kernels.size() - 1);
    kernel->grid = std::make_unique<plan::GridT>();
    kernel->grid->shared_bytes = declared;
    kernel->grid->launch_shared_bytes = ofLaunch;
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Plan::Pack(builder, &table));
  return checkSharedMemory(
             *flatbuffers::GetRoot<plan::Plan>(builder.GetBufferPointer()),
             {.number = 2,
              .name = "GPU",
              .processor = 120,
              .sharedBytes = available})
      .message();
}

TEST(WithoutDevice, SharedMemoryOfBlocks) {
  EXPECT_EQ(sharedVerdict("sm_90", {}, 0), "");
  EXPECT_EQ(sharedVerdict("sm_90", {{100, 900}, {1000, 0}}, 1000), "");
  // The kernel that wants most, and of equals the first.
  EXPECT_EQ(sharedVerdict("sm_90", {{999, 0}, {101, 900}, {1, 1000}}, 1000),
            "kernel @kernel_1 of the plan for sm_90 needs 1001 bytes of shared "
            "memory for a block, but device 2 (GPU, sm_120) has 1000; compile "
            "it with --target=cuda:sm_80, whose kernels need less");
  EXPECT_EQ(sharedVerdict("sm_80", {{0, 1001}}, 1000),
            "kernel @kernel_0 of the plan for sm_80 needs 1001 bytes of shared "
            "memory for a block, but device 2 (GPU, sm_120) has 1000");
}

} // namespace
} // namespace weft::runtime
