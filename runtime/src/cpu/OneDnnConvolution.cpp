//===- OneDnnConvolution.cpp - Convolutions by oneDNN -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Images are shared among the threads of the rank, each of which calls oneDNN
// with one thread: its own would wait for each other, awake, on the cores that
// other steps of the rank then need. How many images a call has depends on the
// problem alone, and so do the bits of what it makes; whether there are calls
// for all threads decides whether it is used.
//
// Written against oneDNN 2 (operation descriptors) and 3 (without), as
// OneDnnGemm.cpp is; nothing is thrown out of this file.
//
//===----------------------------------------------------------------------===//

#include "cpu/Convolution.h"
#include "cpu/Gemm.h"
#include "cpu/ThreadTeam.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string_view>
#include <vector>

namespace weft::runtime {
namespace {

using Dims = dnnl::memory::dims;
using Forward = dnnl::convolution_forward;

/// The tensors of a call, and the window in oneDNN's words.
struct Descriptions {
  dnnl::memory::desc lhs, rhs, anyRhs, out;
  Dims strides, dilations, low, high;
};

class OneDnnConvolution final : public BoundOperation {
public:
  OneDnnConvolution(const dnnl::engine &engine,
                    const Forward::primitive_desc &description,
                    const dnnl::reorder::primitive_desc &packing,
                    const Descriptions &tensors,
                    const ConvolutionProblem &problem, int64_t images,
                    const ConvolutionOperands &operands, ThreadTeam &team);

  size_t scratchpadBytes() const override {
    return aligned(packedRhs) + aligned(packingScratchpad) +
           threads.size() * aligned(threads.front().scratchpad);
  }
  Status bindScratchpad(void *memory) override;
  Status run() override;

private:
  /// What no two threads may use at once.
  struct Thread {
    dnnl::stream stream;
    dnnl::memory scratchpad;
  };
  struct Images {
    dnnl::memory lhs, out;
  };

  static size_t aligned(const dnnl::memory &memory) {
    return (memory.get_desc().get_size() + 63) / 64 * 64;
  }
  dnnl_status_t pack();
  dnnl_status_t convolve(const Images &part, Thread &thread);

  Forward primitive;
  dnnl::reorder packing;
  dnnl::memory rhs, packedRhs, packingScratchpad;
  std::vector<Images> parts;
  std::vector<Thread> threads;
  ThreadTeam &team;
};

} // namespace

OneDnnConvolution::OneDnnConvolution(
    const dnnl::engine &engine, const Forward::primitive_desc &description,
    const dnnl::reorder::primitive_desc &packing, const Descriptions &tensors,
    const ConvolutionProblem &problem, int64_t images,
    const ConvolutionOperands &operands, ThreadTeam &team)
    : primitive(description), packing(packing),
      rhs(tensors.rhs, engine, const_cast<float *>(operands.rhs)),
      packedRhs(description.weights_desc(), engine, DNNL_MEMORY_NONE),
      packingScratchpad(packing.scratchpad_desc(), engine, DNNL_MEMORY_NONE),
      team(team) {
  for (int64_t first = 0; first < problem.batch.size; first += images)
    parts.push_back({dnnl::memory(tensors.lhs, engine,
                                  const_cast<float *>(operands.lhs) +
                                      first * problem.batch.lhs),
                     dnnl::memory(tensors.out, engine,
                                  operands.out + first * problem.batch.out)});
  for (int i = 0; i < team.size(); ++i)
    threads.push_back(
        {dnnl::stream(engine), dnnl::memory(description.scratchpad_desc(),
                                            engine, DNNL_MEMORY_NONE)});
}

static Status statusOf(dnnl_status_t status) {
  if (status == dnnl_success)
    return {};
  return internalError(
      fmt::format("oneDNN failed with error {}", static_cast<int>(status)));
}

Status OneDnnConvolution::bindScratchpad(void *memory) {
  auto *next = static_cast<std::byte *>(memory);
  const auto give = [&](dnnl::memory &to) {
    std::byte *const own = next;
    next += aligned(to);
    return statusOf(dnnl_memory_set_data_handle(to.get(), own));
  };
  WEFT_RETURN_IF_ERROR(give(packedRhs));
  WEFT_RETURN_IF_ERROR(give(packingScratchpad));
  for (Thread &thread : threads)
    WEFT_RETURN_IF_ERROR(give(thread.scratchpad));
  return {};
}

dnnl_status_t OneDnnConvolution::pack() {
  const dnnl_exec_arg_t arguments[] = {
      {DNNL_ARG_FROM, rhs.get()},
      {DNNL_ARG_TO, packedRhs.get()},
      {DNNL_ARG_SCRATCHPAD, packingScratchpad.get()}};
  return dnnl_primitive_execute(packing.get(), threads.front().stream.get(),
                                std::size(arguments), arguments);
}

dnnl_status_t OneDnnConvolution::convolve(const Images &part, Thread &thread) {
  const dnnl_exec_arg_t arguments[] = {
      {DNNL_ARG_SRC, part.lhs.get()},
      {DNNL_ARG_WEIGHTS, packedRhs.get()},
      {DNNL_ARG_DST, part.out.get()},
      {DNNL_ARG_SCRATCHPAD, thread.scratchpad.get()}};
  return dnnl_primitive_execute(primitive.get(), thread.stream.get(),
                                std::size(arguments), arguments);
}

Status OneDnnConvolution::run() {
  const OneDnnThreads one(1);
  WEFT_RETURN_IF_ERROR(statusOf(pack()));
  std::atomic<dnnl_status_t> status = dnnl_success;
  team.run(static_cast<int64_t>(parts.size()), [&](int64_t part, int thread) {
    const OneDnnThreads one(1); // of this thread
    const dnnl_status_t result = convolve(parts[part], threads[thread]);
    if (result != dnnl_success)
      status.store(result, std::memory_order_relaxed);
  });
  return statusOf(status.load());
}

/// So many images that a call takes much longer than to make it.
static int64_t imagesOfCall(const ConvolutionProblem &p) {
  constexpr int64_t enough = 1 << 20;
  int64_t products =
      p.groups.size * p.inputFeatures.size * p.outputFeatures.size;
  for (const ConvolutionWindow &w : p.windows)
    products *= w.rhs * w.out;
  int64_t images = 1;
  while (images < p.batch.size &&
         (images * products < enough || p.batch.size % images != 0))
    ++images;
  return images;
}

/// oneDNN has dimensions in the order of PyTorch. Groups of features are parts
/// of one dimension in its images, and one of their own in its kernels.
static Descriptions describe(const ConvolutionProblem &p, int64_t images) {
  constexpr auto type = dnnl::memory::data_type::f32;
  const bool hasGroups = p.groups.size > 1;
  Dims lhs = {images, p.groups.size * p.inputFeatures.size},
       lhsStrides = {p.batch.lhs, p.inputFeatures.lhs};
  Dims out = {images, p.groups.size * p.outputFeatures.size},
       outStrides = {p.batch.out, p.outputFeatures.out};
  Dims rhs = {p.outputFeatures.size, p.inputFeatures.size},
       rhsStrides = {p.outputFeatures.rhs, p.inputFeatures.rhs};
  if (hasGroups) {
    rhs.insert(rhs.begin(), p.groups.size);
    rhsStrides.insert(rhsStrides.begin(), p.groups.rhs);
  }
  Descriptions to;
  for (const ConvolutionWindow &w : p.windows) {
    lhs.push_back(w.lhs);
    lhsStrides.push_back(w.lhsStride);
    rhs.push_back(w.rhs);
    rhsStrides.push_back(w.rhsStride);
    out.push_back(w.out);
    outStrides.push_back(w.outStride);
    to.strides.push_back(w.stride);
    to.dilations.push_back(w.rhsDilation - 1);
    to.low.push_back(w.low);
    to.high.push_back((w.out - 1) * w.stride + (w.rhs - 1) * w.rhsDilation + 1 -
                      w.lhs - w.low);
  }
  to.lhs = {lhs, type, lhsStrides};
  to.rhs = {rhs, type, rhsStrides};
  to.anyRhs = {rhs, type, dnnl::memory::format_tag::any};
  to.out = {out, type, outStrides};
  return to;
}

/// Whether it is one of oneDNN's, but for what it may refuse.
static bool isForward(const ConvolutionProblem &p) {
  const bool splitsFeatures =
      p.groups.lhs == p.inputFeatures.size * p.inputFeatures.lhs &&
      p.groups.out == p.outputFeatures.size * p.outputFeatures.out;
  return !p.windows.empty() && (p.groups.size == 1 || splitsFeatures) &&
         std::ranges::all_of(p.windows, [](const ConvolutionWindow &w) {
           return w.lhsDilation == 1 && w.low >= 0;
         });
}

static std::unique_ptr<BoundOperation>
create(const ConvolutionProblem &problem, const ConvolutionOperands &operands,
       ThreadTeam &team) {
  const int64_t images = imagesOfCall(problem);
  if (!isForward(problem))
    return nullptr;
  // Threads without a call would wait for the others. A group with few features
  // leaves most of a tile's columns empty, which takes longer than to wait.
  constexpr int64_t fewFeatures = 8;
  if (problem.batch.size / images < team.size() &&
      (problem.groups.size == 1 || problem.outputFeatures.size >= fewFeatures))
    return nullptr;
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const Descriptions d = describe(problem, images);
  constexpr auto kind = dnnl::prop_kind::forward_training;
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  const Forward::primitive_desc description(
      engine, kind, algorithm, d.lhs, d.anyRhs, d.out, d.strides, d.dilations,
      d.low, d.high, attributes, true);
#else
  const Forward::primitive_desc description(
      Forward::desc(kind, algorithm, d.lhs, d.anyRhs, d.out, d.strides,
                    d.dilations, d.low, d.high),
      attributes, engine, true);
#endif
  if (!description)
    return nullptr;
  const std::string_view name = description.impl_info_str();
  if (name.starts_with("ref") || name.starts_with("gemm"))
    return nullptr;
  const dnnl::reorder::primitive_desc packing(
      engine, d.rhs, engine, description.weights_desc(), attributes, true);
  if (!packing)
    return nullptr;
  return std::make_unique<OneDnnConvolution>(engine, description, packing, d,
                                             problem, images, operands, team);
}

std::unique_ptr<BoundOperation>
bindOneDnnConvolution(const ConvolutionProblem &problem,
                      const ConvolutionOperands &operands, ThreadTeam &team) {
  // Ranks bind at once, and the primitive cache of oneDNN is shared by them.
  static std::mutex creation;
  const std::lock_guard lock(creation);
  const OneDnnThreads one(1);
  try {
    return create(problem, operands, team);
  } catch (const dnnl::error &) {
    return nullptr; // the caller has another implementation
  }
}

} // namespace weft::runtime
