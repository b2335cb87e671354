//===- AttentionCudnnTest.cpp - Attention by cuDNN, without a GPU -*-C++-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The real library checks tensors and operations without a device. What comes
// after needs one: here the library fails, call by call, and the runtime's own
// kernels are bound, with a note.
//
//===----------------------------------------------------------------------===//

#include "cuda/attention/Attention.h"
#include "cuda/attention/AttentionCheck.h"
#include "cuda/attention/CudnnGraph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Result<Cudnn> &realCudnn() {
  static const Result<Cudnn> library =
      loadCudnn(CudaLibrarySearch{{WEFT_CUDA_LIBRARY_FOLDER}});
  return library;
}

AttentionArguments argumentsOf(int64_t keyHeads, bool isCausal) {
  AttentionArguments a;
  a.element = AttentionElement::BF16;
  a.sizes = {2, 128, 128, 4, keyHeads, 64};
  a.isCausal = isCausal;
  a.scale = 0.125;
  return a;
}

class CudnnGraphs : public testing::Test {
protected:
  void SetUp() override {
    if (!realCudnn().ok())
      GTEST_SKIP() << realCudnn().status().message();
  }
};

TEST_F(CudnnGraphs, TheLibraryTakesEveryTensorAndOperation) {
  for (const auto element : {AttentionElement::BF16, AttentionElement::F16})
    for (const int64_t keyHeads : {4, 2, 1})
      for (const bool isCausal : {false, true}) {
        AttentionArguments a = argumentsOf(keyHeads, isCausal);
        a.element = element;
        for (const AttentionGraph &graph :
             {attentionGraph(a),
              attentionGradGraph(a, GradSpelling::SumsInMemory),
              attentionGradGraph(a, GradSpelling::AllVirtual)}) {
          const auto made = CudnnOperations::create(*realCudnn(), graph);
          ASSERT_TRUE(made.ok())
              << "keyHeads " << keyHeads << " causal " << isCausal << " of "
              << graph.nodes.size() << ": " << made.status().message();
          EXPECT_EQ(made->tensors.size(), graph.tensors.size());
          EXPECT_EQ(made->operations.size(), graph.nodes.size());
        }
      }
}

TEST_F(CudnnGraphs, WhatItRefusesHasAName) {
  AttentionGraph graph = attentionGraph(argumentsOf(4, false));
  graph.tensors[0].sizes[3] = -1;
  const auto made = CudnnOperations::create(*realCudnn(), graph);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.status().message(), HasSubstr("query: cudnnBackend"));
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// Calls fail from this number on, so many of them; all others succeed and do
/// nothing.
int firstFailure = 0, failures = 0;
int calls = 0;
cudnnStatus_t nextCall() {
  const int call = calls++;
  return call >= firstFailure && call - firstFailure < failures
             ? CUDNN_STATUS_EXECUTION_FAILED
             : CUDNN_STATUS_SUCCESS;
}
constexpr int all = std::numeric_limits<int>::max();
/// The number of operations of each graph that was made.
std::vector<int64_t> graphs;
cudnnBackendDescriptor_t anyDescriptor() {
  return reinterpret_cast<cudnnBackendDescriptor_t>(1);
}

Cudnn failingCudnn() {
  Cudnn t;
  t.getVersion = [] { return size_t(91900); };
  t.getErrorString = [](cudnnStatus_t) { return "CUDNN_STATUS_TEST"; };
  t.getLastErrorString = [](char *text, size_t bytes) {
    std::snprintf(text, bytes, "details");
  };
  t.create = [](cudnnHandle_t *handle) {
    *handle = reinterpret_cast<cudnnHandle_t>(1);
    return nextCall();
  };
  t.destroy = [](cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; };
  t.setStream = [](cudnnHandle_t, cudaStream_t) { return nextCall(); };
  t.backendCreateDescriptor = [](cudnnBackendDescriptorType_t,
                                 cudnnBackendDescriptor_t *made) {
    const cudnnStatus_t status = nextCall();
    *made = status == CUDNN_STATUS_SUCCESS ? anyDescriptor() : nullptr;
    return status;
  };
  t.backendDestroyDescriptor = [](cudnnBackendDescriptor_t) {
    return CUDNN_STATUS_SUCCESS;
  };
  t.backendSetAttribute =
      [](cudnnBackendDescriptor_t, cudnnBackendAttributeName_t name,
         cudnnBackendAttributeType_t, int64_t count, const void *) {
        if (name == CUDNN_ATTR_OPERATIONGRAPH_OPS)
          graphs.push_back(count);
        return nextCall();
      };
  t.backendGetAttribute =
      [](cudnnBackendDescriptor_t, cudnnBackendAttributeName_t name,
         cudnnBackendAttributeType_t, int64_t, int64_t *found, void *value) {
        // One proposal, without notes, that wants no workspace.
        *found = name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE ? 0 : 1;
        if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
          *static_cast<int64_t *>(value) = 0;
        return nextCall();
      };
  t.backendFinalize = [](cudnnBackendDescriptor_t) { return nextCall(); };
  t.backendExecute = [](cudnnHandle_t, cudnnBackendDescriptor_t,
                        cudnnBackendDescriptor_t) { return nextCall(); };
  return t;
}

/// A device whose memory is the host's and whose kernels do nothing.
Cudart fakeCudart() {
  Cudart t;
  t.malloc = [](void **memory, size_t bytes) {
    *memory = std::calloc(bytes, 1);
    return cudaSuccess;
  };
  t.free = [](void *memory) {
    std::free(memory);
    return cudaSuccess;
  };
  t.memcpy = [](void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  };
  t.memcpyAsync = [](void *to, const void *from, size_t bytes, cudaMemcpyKind,
                     cudaStream_t) {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  };
  t.streamQuery = [](cudaStream_t) { return cudaSuccess; };
  t.libraryLoadData = [](cudaLibrary_t *library, const void *, cudaJitOption *,
                         void **, unsigned, cudaLibraryOption *, void **,
                         unsigned) {
    *library = reinterpret_cast<cudaLibrary_t>(1);
    return cudaSuccess;
  };
  t.libraryUnload = [](cudaLibrary_t) { return cudaSuccess; };
  t.libraryGetKernel = [](cudaKernel_t *kernel, cudaLibrary_t, const char *) {
    *kernel = reinterpret_cast<cudaKernel_t>(1);
    return cudaSuccess;
  };
  t.launchKernel = [](const void *, dim3, dim3, void **, size_t, cudaStream_t) {
    return cudaSuccess;
  };
  return t;
}

class CudnnFailures : public testing::Test {
protected:
  const Cudart cudart = fakeCudart();
  const CublasLt cublasLt;
  const Cudnn cudnn = failingCudnn();
  CudaContext context{cudart, cublasLt, &cudnn, 0, 90, "a device", nullptr};
  std::vector<std::string> notes;

  CudnnFailures() {
    context.note = [this](std::string text) { notes.push_back(text); };
  }

  /// Binds the derivative, or attention, with failures from that call on.
  Result<std::unique_ptr<CudaOperation>> bind(bool isGrad, int first,
                                              int count) {
    notes.clear();
    graphs.clear();
    firstFailure = first, failures = count, calls = 0;
    AttentionArguments a = argumentsOf(2, true);
    a.sizes.queries = a.sizes.keys = 8; // a trial in no time
    return isGrad ? bindCudaAttentionGrad(a, context)
                  : bindCudaAttention(a, context);
  }
};

TEST_F(CudnnFailures, EveryCallMayFail) {
  for (const bool isGrad : {false, true}) {
    int first = 0;
    // Until no call fails any more.
    for (;; ++first) {
      ASSERT_LT(first, 2000);
      const auto bound = bind(isGrad, first, all);
      ASSERT_TRUE(bound.ok()) << bound.status().message();
      if (calls <= first)
        break;
      ASSERT_EQ(notes.size(), 1u) << first;
      EXPECT_THAT(notes[0],
                  testing::AllOf(
                      HasSubstr("is not by cuDNN but by the runtime's kernels, "
                                "which are slower: "),
                      HasSubstr("cudnn"),
                      HasSubstr(": CUDNN_STATUS_TEST (details)")));
      EXPECT_TRUE((*bound)->enqueue(nullptr).ok()) << "by the own kernels";
    }
    EXPECT_GT(first, 100);
    EXPECT_THAT(notes, testing::IsEmpty());
  }
}

TEST_F(CudnnFailures, TheOlderSpellingIsTakenWhereTheNewerIsNot) {
  // Call 0 makes the handle, without which there is neither.
  for (int first = 1;; ++first) {
    ASSERT_LT(first, 2000);
    ASSERT_TRUE(bind(/*isGrad=*/true, first, 1).ok());
    EXPECT_THAT(notes, testing::IsEmpty()) << first;
    if (calls <= first) {
      EXPECT_THAT(graphs, ElementsAre(23));
      break;
    }
    ASSERT_FALSE(graphs.empty());
    EXPECT_EQ(graphs.back(), 24) << first;
  }
}

TEST_F(CudnnFailures, BothReasonsAreNamed) {
  ASSERT_TRUE(bind(/*isGrad=*/true, 1, all).ok());
  EXPECT_THAT(
      notes,
      ElementsAre(testing::AllOf(
          HasSubstr("as cuDNN from 9.15 on has its pattern: cudnnBackend"),
          HasSubstr("; as earlier releases have it: cudnnBackend"))));
}

TEST_F(CudnnFailures, SaysWhatItCannotDo) {
  failures = 0;
  AttentionArguments a = argumentsOf(2, true);
  a.element = AttentionElement::F32;
  ASSERT_TRUE(bindCudaAttention(a, context).ok());
  context.cudnn = nullptr;
  context.whyNoCudnn = "libcudnn.so.9 was not found";
  a.element = AttentionElement::BF16;
  ASSERT_TRUE(bindCudaAttentionGrad(a, context).ok());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("its elements are not of 16 bits"),
                                 HasSubstr("libcudnn.so.9 was not found")));
}

TEST(CompareResults, FindsWhatIsWrongOrNoNumber) {
  const float right[] = {1, -2, 0}, near[] = {1.01f, -2, 0.01f};
  const float far[] = {1, -2, 0.1f}, none[] = {1, NAN, 0};
  EXPECT_TRUE(compareResults("x", near, right, 0.02f).ok());
  EXPECT_EQ(compareResults("x", far, right, 0.02f).message(),
            "x has 0.1 where 0 is right, at 2 of 3");
  EXPECT_EQ(compareResults("x", none, right, 0.02f).message(),
            "x has nan where -2 is right, at 1 of 3");
}

} // namespace
} // namespace weft::runtime
