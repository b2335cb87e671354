//===- OneDnnGemm.cpp - GEMMs by oneDNN -------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written against oneDNN 2 (operation descriptors) and 3 (without). Its C++
// interface throws; nothing is thrown out of this file. It has threads of its
// own, those of OpenMP if it was built with that.
//
//===----------------------------------------------------------------------===//

#include "cpu/Gemm.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <dlfcn.h>

namespace weft::runtime {
namespace {

using Dims = dnnl::memory::dims;

class OneDnnGemm final : public BoundGemm {
public:
  OneDnnGemm(const dnnl::engine &engine,
             const dnnl::matmul::primitive_desc &description,
             const GemmOperands &operands);

  size_t scratchpadBytes() const override {
    return scratchpad.get_desc().get_size();
  }
  Status bindScratchpad(void *memory) override;
  Status run() override;

private:
  dnnl::matmul primitive;
  dnnl::stream stream;
  dnnl::memory lhs, rhs, out, scratchpad;
  dnnl_exec_arg_t arguments[4];
};

} // namespace

OneDnnGemm::OneDnnGemm(const dnnl::engine &engine,
                       const dnnl::matmul::primitive_desc &description,
                       const GemmOperands &operands)
    : primitive(description), stream(engine),
      lhs(description.src_desc(), engine, const_cast<void *>(operands.lhs)),
      rhs(description.weights_desc(), engine, const_cast<void *>(operands.rhs)),
      out(description.dst_desc(), engine, operands.out),
      scratchpad(description.scratchpad_desc(), engine, DNNL_MEMORY_NONE),
      arguments{{DNNL_ARG_SRC, lhs.get()},
                {DNNL_ARG_WEIGHTS, rhs.get()},
                {DNNL_ARG_DST, out.get()},
                {DNNL_ARG_SCRATCHPAD, scratchpad.get()}} {}

Status OneDnnGemm::bindScratchpad(void *memory) {
  const dnnl_status_t status =
      dnnl_memory_set_data_handle(scratchpad.get(), memory);
  if (status != dnnl_success)
    return internalError(fmt::format("oneDNN refuses a scratchpad: error {}",
                                     static_cast<int>(status)));
  return {};
}

Status OneDnnGemm::run() {
  // The C function: its C++ wrapper allocates on every call.
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), stream.get(), 4, arguments);
  if (status != dnnl_success)
    return internalError(
        fmt::format("oneDNN failed with error {}", static_cast<int>(status)));
  return {};
}

static std::optional<dnnl::memory::data_type> typeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return dnnl::memory::data_type::f32;
  case DType::BF16:
    return dnnl::memory::data_type::bf16;
  default:
    return std::nullopt;
  }
}

/// A dimension of size 1 may have any stride in a plan; libraries recognise a
/// layout only when it has the stride of a dense one.
static MatrixStrides normalised(MatrixStrides strides, int64_t rows,
                                int64_t columns) {
  if (columns == 1 && (rows == 1 || strides.row != 1))
    strides.column = 1;
  if (rows == 1)
    strides.row = strides.column == 1 ? columns : 1;
  else if (columns == 1 && strides.row == 1)
    strides.column = rows;
  return strides;
}

static dnnl::memory::desc descriptionOf(int64_t batch, int64_t rows,
                                        int64_t columns, MatrixStrides strides,
                                        dnnl::memory::data_type type) {
  strides = normalised(strides, rows, columns);
  if (batch == 1)
    return {Dims{rows, columns}, type, Dims{strides.row, strides.column}};
  return {Dims{batch, rows, columns}, type,
          Dims{strides.batch, strides.row, strides.column}};
}

static std::unique_ptr<BoundGemm> create(GemmProblem problem,
                                         GemmOperands operands) {
  const auto in = typeOf(problem.in), out = typeOf(problem.out);
  if (!in || !out)
    return nullptr;
  problem = withMergedRows(problem);
  const bool writesColumns = problem.result.column != 1 && problem.n > 1;
  const bool isColumn = problem.n == 1 && problem.m > 1;
  if (problem.result.row == 1 && (writesColumns || isColumn)) {
    // oneDNN is fast when it writes rows: out^T = rhs^T * lhs^T.
    problem = transposed(problem);
    std::swap(operands.lhs, operands.rhs);
  }
  const bool sharesOperand =
      problem.batch > 1 && (problem.lhs.batch == 0 || problem.rhs.batch == 0);
  if (sharesOperand)
    return nullptr;

  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (problem.accumulate) {
    dnnl::post_ops operations;
    operations.append_sum(1.0f);
    attributes.set_post_ops(operations);
  }
  const auto lhs =
      descriptionOf(problem.batch, problem.m, problem.k, problem.lhs, *in);
  const auto rhs =
      descriptionOf(problem.batch, problem.k, problem.n, problem.rhs, *in);
  const auto result =
      descriptionOf(problem.batch, problem.m, problem.n, problem.result, *out);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc description(engine, lhs, rhs, result,
                                                 attributes, true);
#else
  const dnnl::matmul::primitive_desc description(
      dnnl::matmul::desc(lhs, rhs, result), attributes, engine, true);
#endif
  if (!description)
    return nullptr;
  if (std::string_view(description.impl_info_str()).starts_with("ref"))
    return nullptr;
  return std::make_unique<OneDnnGemm>(engine, description, operands);
}

std::unique_ptr<BoundGemm> bindOneDnnGemm(const GemmProblem &problem,
                                          const GemmOperands &operands) {
  // Ranks bind at once, and the primitive cache of oneDNN is shared by them.
  static std::mutex creation;
  const std::lock_guard lock(creation);
  try {
    return create(problem, operands);
  } catch (const dnnl::error &) {
    return nullptr; // the caller has another implementation
  }
}

namespace {

/// The functions of the OpenMP that oneDNN brings, whatever compiler has built
/// this file; null if it has other threads.
struct OpenMp {
  int (*mostThreads)() =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  void (*setThreads)(int) = reinterpret_cast<void (*)(int)>(
      dlsym(RTLD_DEFAULT, "omp_set_num_threads"));

  static const OpenMp &ofProcess() {
    static const OpenMp functions;
    return functions;
  }
};

} // namespace

OneDnnThreads::OneDnnThreads(int threads) {
  const OpenMp &openMp = OpenMp::ofProcess();
  if (!openMp.mostThreads || !openMp.setThreads)
    return;
  before = openMp.mostThreads();
  openMp.setThreads(threads);
}

OneDnnThreads::~OneDnnThreads() {
  if (before != 0)
    OpenMp::ofProcess().setThreads(before);
}

} // namespace weft::runtime
