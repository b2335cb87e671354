//===- LibrariesTest.cpp - CUDA's libraries have what is used ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens the libraries of the toolkit that the runtime was built with. They can
// be opened, and asked for their symbols, without a driver.
//
//===----------------------------------------------------------------------===//

#include "cuda/platform/Libraries.h"
#include "PlanBuilder.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const CudaLibrarySearch toolkit{{WEFT_CUDA_LIBRARY_FOLDER}};

bool hasLibrary(const std::string &name) {
  return std::filesystem::exists(WEFT_CUDA_LIBRARY_FOLDER "/" + name);
}

TEST(CudaLibraries, EverySymbolOfCudartIsThere) {
  if (!hasLibrary("libcudart.so.13"))
    GTEST_SKIP() << "the toolkit has headers only: no libcudart.so.13";
  const auto cudart = loadCudart(toolkit);
  ASSERT_TRUE(cudart.ok()) << cudart.status().message();
  int version = 0;
  EXPECT_EQ(cudart->runtimeGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version / 1000, 13);
  EXPECT_STREQ(std::getenv("CUDA_MODULE_LOADING"), "EAGER");
}

TEST(CudaLibraries, EverySymbolOfCublasLtIsThere) {
  if (!hasLibrary("libcublasLt.so.13"))
    GTEST_SKIP() << "the toolkit has no libcublasLt.so.13";
  const auto cublasLt = loadCublasLt(toolkit);
  ASSERT_TRUE(cublasLt.ok()) << cublasLt.status().message();
  EXPECT_EQ(cublasLt->getVersion() / 10000, 13u);
}

TEST(CudaLibraries, EverySymbolOfCudnnIsThere) {
  if (!WEFT_HAS_CUDNN || !hasLibrary("libcudnn.so.9"))
    GTEST_SKIP() << "the toolkit has no cuDNN 9";
  const auto cudnn = loadCudnn(toolkit);
  ASSERT_TRUE(cudnn.ok()) << cudnn.status().message();
#if WEFT_HAS_CUDNN
  EXPECT_EQ(cudnn->getVersion() / 10000, 9u);
#endif
}

TEST(CudaLibraries, EverySymbolOfNcclIsThere) {
  if (!WEFT_HAS_NCCL || !hasLibrary("libnccl.so.2"))
    GTEST_SKIP() << "the toolkit has no NCCL 2";
  const auto nccl = loadNccl(toolkit);
  ASSERT_TRUE(nccl.ok()) << nccl.status().message();
#if WEFT_HAS_NCCL
  int version = 0;
  EXPECT_EQ(nccl->getVersion(&version), ncclSuccess);
  EXPECT_EQ(version / 10000, 2);
#endif
}

TEST(CudaLibraries, AMissingLibraryIsNamedWithTheRemedy) {
  const auto cudart = loadCudart({{"/no/such/folder"}});
  EXPECT_EQ(cudart.status().code(), StatusCode::Unavailable);
  EXPECT_THAT(cudart.status().message(),
              AllOf(HasSubstr("cannot open libcudart.so.13: "),
                    HasSubstr("/no/such/folder/libcudart.so.13"),
                    HasSubstr("install the runtime of CUDA 13, or name its "
                              "folder in WEFT_CUDA_LIBRARIES")));
}

TEST(CudaLibraries, MissingSymbolsAreNamed) {
  // The name of one library, the contents of another.
  const auto folder =
      std::filesystem::path(testing::TempDir()) / "weft-wrong-library";
  std::filesystem::create_directories(folder);
  const auto link = folder / "libcublasLt.so.13";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(WEFT_TEST_LIBRARY, link);
  EXPECT_THAT(
      loadCublasLt({{folder.string()}}).status().message(),
      AllOf(HasSubstr("libcublasLt.so.13 ("),
            HasSubstr("does not define cublasLtCreate, cublasLtDestroy"),
            HasSubstr("cublasLtMatmulAlgoCheck; it is not of the version")));
  std::filesystem::remove_all(folder);
}

TEST(CudaLibraries, TheEnvironmentNamesFolders) {
  setenv("WEFT_CUDA_LIBRARIES", "/a::/b/c", 1);
  EXPECT_THAT(CudaLibrarySearch::fromEnvironment().folders,
              testing::ElementsAre("/a", "/b/c"));
  unsetenv("WEFT_CUDA_LIBRARIES");
  EXPECT_TRUE(CudaLibrarySearch::fromEnvironment().folders.empty());
}

} // namespace
} // namespace weft::runtime
