//===- DeviceTest.cpp - Devices, memory, kernels, and what goes wrong with them
//===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"
#include "cudart/Emulator.h"

#include <cstdlib>

using namespace weft::emulator;
using testing::HasSubstr;

namespace {

TEST(Device, IsAnH200) {
  int count = 0, processors = 0;
  EXPECT_CUDA(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 1);
  EXPECT_CUDA(
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(processors, 132);
  cudaDeviceProp properties;
  EXPECT_CUDA(cudaGetDeviceProperties(&properties, 0));
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidDevice),
               "cudaErrorInvalidDevice");
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Device, CountsItsMemory) {
  size_t free = 0, after = 0, total = 0;
  EXPECT_CUDA(cudaMemGetInfo(&free, &total));
  void *memory = nullptr;
  EXPECT_CUDA(cudaMalloc(&memory, 1 << 20));
  EXPECT_CUDA(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(free - after, 1u << 20);
  EXPECT_CUDA(cudaFree(memory));
  EXPECT_EQ(cudaMalloc(&memory, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(&total), cudaErrorInvalidValue);
}

TEST(Device, MemoryStartsAsNaN) {
  EXPECT_THAT(DeviceFloats(Unset{2}).read(),
              testing::Each(testing::NanSensitiveFloatEq(NAN)));
}

TEST(Device, CopiesStayInTheirAllocations) {
  DeviceFloats x(Unset{4});
  float values[8] = {};
  EXPECT_EQ(cudaMemcpy(x.data, values, 20, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_THAT(lastReport(), HasSubstr("the copy leaves the allocation"));
  EXPECT_EQ(cudaMemcpy(values, x.data, 16, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_THAT(lastReport(), HasSubstr("says device memory"));
  EXPECT_EQ(cudaMemset(x.data, 0, 17), cudaErrorInvalidValue);
}

TEST(Device, CopiesRows) {
  DeviceFloats x({1, 2, 3, 4, 5, 6}), y({0, 0, 0, 0});
  EXPECT_CUDA(cudaMemcpy2DAsync(y.data, 8, x.data + 1, 12, 8, 2,
                                cudaMemcpyDeviceToDevice, nullptr));
  EXPECT_THAT(y.read(), testing::ElementsAre(2, 3, 5, 6));
}

TEST(Device, RefusesKernelsThatItCannotLoad) {
  auto load = [](const char *code) {
    cudaLibrary_t library = nullptr;
    return cudaLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr,
                               nullptr, 0);
  };
  alignas(8) const char machineCode[] = "\x7f"
                                        "ELF...";
  EXPECT_EQ(load(machineCode), cudaErrorNoKernelImageForDevice);
  alignas(8) const char besideAWord[] = " \x7f"
                                        "ELF...";
  EXPECT_EQ(load(besideAWord + 1), cudaErrorInvalidValue);
  EXPECT_THAT(lastReport(), HasSubstr("not aligned to 8 bytes"));
  EXPECT_EQ(load(".version 8.0\n.target sm_100\n.address_size 64\n"),
            cudaErrorNoKernelImageForDevice);
  EXPECT_EQ(load(".version 8.0\n.target sm_90\n.entry f() { nonsense; }"),
            cudaErrorInvalidPtx);
  EXPECT_THAT(lastReport(),
              HasSubstr("PTX line 3: unknown instruction 'nonsense'"));
}

TEST(Device, RefusesLaunchesThatADeviceCannotDo) {
  Kernels kernels;
  DeviceFloats x(Unset{1});
  EXPECT_EQ(kernels.launch("add_one", dim3(1), dim3(1025), nullptr, x.data, 1),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(kernels.launch("add_one", dim3(0), dim3(1), nullptr, x.data, 1),
            cudaErrorInvalidConfiguration);
  int one = 1;
  void *arguments[] = {&x.data, &one};
  cudaKernel_t kernel = kernels.get("add_one");
  auto launch = [&](size_t shared) {
    return cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, shared,
                            nullptr);
  };
  EXPECT_EQ(launch(50000), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
  EXPECT_CUDA(launch(50000));
  EXPECT_EQ(launch(60001), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchKernel(&one, dim3(1), dim3(1), arguments, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  // Which the launches of libraries would take for theirs.
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

// A fault stays until the process ends: these tests are processes of their own.

TEST(DeviceDeathTest, FaultsStay) {
  auto test = [] {
    Kernels kernels;
    DeviceFloats x(Unset{4});
    bool good = kernels.launch("add_one", dim3(1), dim3(32), nullptr, x.data,
                               5) == cudaSuccess &&
                cudaDeviceSynchronize() == cudaErrorIllegalAddress &&
                cudaDeviceSynchronize() == cudaErrorIllegalAddress &&
                cudaGetLastError() == cudaErrorIllegalAddress &&
                cudaGetLastError() == cudaErrorIllegalAddress;
    std::exit(good ? 0 : 1);
  };
  EXPECT_EXIT(test(), testing::ExitedWithCode(0),
              "kernel 'add_one', block \\(0, 0, 0\\), thread \\(4, 0, 0\\), "
              "PTX line [0-9]+: reads 4 bytes at 0x[0-9a-f]+, 0 bytes behind "
              "the end of an allocation of 16 bytes");
}

TEST(DeviceDeathTest, SharedMemoryIsThatOfTheCapability) {
  auto test = [](const char *capability, int bytes) {
    setenv("WEFT_EMULATOR_CAPABILITY", capability, 1);
    int told = 0;
    cudaDeviceProp properties;
    EXPECT_CUDA(cudaDeviceGetAttribute(
        &told, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    EXPECT_CUDA(cudaGetDeviceProperties(&properties, 0));
    Kernels kernels;
    auto allow = [kernel = kernels.get("add_one")](int shared) {
      return cudaFuncSetAttribute(
          kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    };
    bool good = told == bytes &&
                properties.sharedMemPerBlockOptin == size_t(bytes) &&
                allow(bytes) == cudaSuccess &&
                allow(bytes + 1) == cudaErrorInvalidValue;
    std::exit(good ? 0 : 1);
  };
  for (auto [capability, bytes] :
       {std::pair("80", 163 << 10), std::pair("86", 99 << 10),
        std::pair("89", 99 << 10), std::pair("90", 227 << 10),
        std::pair("100", 227 << 10), std::pair("120", 99 << 10)})
    EXPECT_EXIT(test(capability, bytes), testing::ExitedWithCode(0), "");
}

TEST(DeviceDeathTest, RefusesFaultsThatAreNone) {
  auto test = [](const char *fault) {
    setenv("WEFT_EMULATOR_FAULT", fault, 1);
    int count = 0;
    bool good = cudaGetDeviceCount(&count) == cudaErrorUnknown &&
                cudaSetDevice(0) == cudaErrorUnknown;
    std::exit(good ? 0 : 1);
  };
  for (std::string fault :
       {"hagn@add", "hang", "lose@", "lose@:2", "hang@add:", "hang@add:0",
        "hang@add:-1", "hang@add:2x", "hang:2@add"})
    EXPECT_EXIT(test(fault.c_str()), testing::ExitedWithCode(0),
                "CUDA emulator: WEFT_EMULATOR_FAULT is \"" + fault +
                    "\", must be hang@NAME:N or lose@NAME:N, N from 1");
}

TEST(DeviceDeathTest, RedZonesAreLookedAt) {
  auto test = [] {
    char *memory = nullptr;
    if (cudaMalloc(reinterpret_cast<void **>(&memory), 10))
      std::exit(1);
    // As a library might do that is no kernel.
    memory[10] = 0;
    (void)cudaFree(memory);
    std::exit(cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 1);
  };
  EXPECT_EXIT(test(), testing::ExitedWithCode(0),
              "byte 10 of an allocation of 10 bytes was written to");
}

TEST(DeviceDeathTest, RacesAreReportedWhenAskedFor) {
  auto test = [](const char *checks) {
    setenv("WEFT_EMULATOR_CHECKS", checks, 1);
    Kernels kernels;
    DeviceFloats x(Unset{64});
    // Two blocks write the same numbers.
    (void)kernels.launch("diverge", dim3(2), dim3(32), nullptr, x.data);
    std::exit(cudaDeviceSynchronize() == cudaSuccess ? 0 : 2);
  };
  EXPECT_EXIT(test(""), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(test("races"), testing::ExitedWithCode(2),
              "writes what thread [0-9]+ of block [01] writes in line [0-9]+, "
              "and nothing orders the two");
}

} // namespace
