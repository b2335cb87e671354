//===- DeviceCudnnTest.cpp - Attention by an emulated cuDNN -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cuDNN that computes any graph, or refuses those of so many operations: the
// derivative in each of its spellings, whose results are compared with those of
// the runtime's own kernels, first by the check at load and then in a workspace
// of just the bytes that were asked for.
//
//===----------------------------------------------------------------------===//

#include "DeviceLibraries.h"

#include "cuda/attention/Attention.h"
#include "cuda/attention/AttentionCheck.h"
#include "cuda/platform/DeviceScratch.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Libraries {
  Result<Cudart> cudart;
  Result<Cudnn> cudnn;
};

const Libraries &libraries() {
  static const Libraries loaded = [] {
    const DeviceLibraries environment;
    const auto search = CudaLibrarySearch::fromEnvironment();
    return Libraries{loadCudart(search), loadCudnn(search)};
  }();
  return loaded;
}

/// Without a mask the derivative has 17 operations, or 18 in the older
/// spelling. The mask has 4 more, heads that share keys 2.
class DeviceCudnn : public testing::Test {
protected:
  void SetUp() override {
    if (std::getenv("WEFT_TEST_GPU"))
      GTEST_SKIP() << "a real cuDNN refuses nothing on demand";
    ASSERT_TRUE(libraries().cudart.ok());
    ASSERT_TRUE(libraries().cudnn.ok()) << libraries().cudnn.status().message();
    context.emplace(CudaContext{*libraries().cudart, cublasLt,
                                &*libraries().cudnn, 0, 90, "a device",
                                nullptr});
    context->note = [this](const std::string &text) { notes.push_back(text); };
    arguments.element = AttentionElement::BF16;
    // Sums of 2 x 3 x 5 floats: no multiple of an alignment.
    arguments.sizes = {2, 5, 7, 3, 3, 16};
    arguments.isCausal = true;
    arguments.scale = 0.25;
  }
  void TearDown() override { unsetenv("WEFT_EMULATOR_CUDNN_REFUSES"); }

  void refuse(const char *operations) {
    setenv("WEFT_EMULATOR_CUDNN_REFUSES", operations, 1);
  }
  /// Runs what is bound as a session does.
  Status run(const AttentionArguments &of) {
    WEFT_ASSIGN_OR_RETURN(std::unique_ptr<CudaOperation> bound,
                          bindCudaAttentionGrad(of, *context));
    DeviceScratch memory(*context);
    bytes = bound->workspaceBytes();
    WEFT_ASSIGN_OR_RETURN(void *const workspace, memory.allocate(bytes));
    bound->bindWorkspace(workspace);
    WEFT_RETURN_IF_ERROR(bound->enqueue(nullptr));
    return context->synchronize("a test");
  }

  /// Without a note, in a workspace of so many bytes.
  void expectRight(size_t workspaceBytes) {
    for (const int64_t keyHeads : {3, 1})
      for (const bool isCausal : {true, false}) {
        arguments.sizes.keyHeads = keyHeads;
        arguments.isCausal = isCausal;
        const Status status = checkAttentionGrad(
            arguments, *context,
            [this](const AttentionArguments &trial) { return run(trial); });
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(notes, IsEmpty());
        EXPECT_EQ(bytes, workspaceBytes);
      }
  }

  const CublasLt cublasLt;
  std::optional<CudaContext> context;
  std::vector<std::string> notes;
  AttentionArguments arguments;
  size_t bytes = 0;
};

TEST_F(DeviceCudnn, ComputesTheDerivativeWithItsSumsInTheWorkspace) {
  expectRight(4096 + 2 * 3 * 5 * sizeof(float));
}

TEST_F(DeviceCudnn, TakesTheOlderSpellingWhereTheNewerIsRefused) {
  refuse("17,19,21,23");
  expectRight(4096);
}

TEST_F(DeviceCudnn, SaysWhyItTakesNeither) {
  refuse("21,22");
  ASSERT_TRUE(bindCudaAttentionGrad(arguments, *context).ok());
  EXPECT_THAT(notes, ElementsAre(AllOf(
                         HasSubstr("the derivative of attention is not by "
                                   "cuDNN but by the runtime's kernels"),
                         HasSubstr("no engine takes a graph of 21 operations"),
                         HasSubstr("no engine takes a graph of 22 "
                                   "operations"))));
}

} // namespace
} // namespace weft::runtime
