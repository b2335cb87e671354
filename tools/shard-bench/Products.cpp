//===- Products.cpp - Times matmuls and attention -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products.h"

#include "cpu/Attention.h"
#include "cpu/Gemm.h"
#include "cpu/ThreadTeam.h"

#include <cmath>
#include <random>

using namespace weft::runtime;

namespace weft::tools {
namespace {

/// Aligned as an arena is.
class Memory {
public:
  explicit Memory(size_t bytes) : bytes(bytes + 64) {}
  std::byte *data() {
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    return bytes.data() + (64 - address % 64);
  }

private:
  std::vector<std::byte> bytes;
};

} // namespace

/// No zeros: what products take depends on the data.
static Memory randomTensor(int64_t count, DType dtype) {
  std::minstd_rand generator(7);
  Memory memory(count * byteSize(dtype));
  std::byte *to = memory.data();
  for (int64_t i = 0; i < count; ++i) {
    const float value =
        static_cast<float>(generator()) * 0x1p-30F - 1; // in [-1, 1)
    switch (dtype) {
    case DType::F64:
      reinterpret_cast<double *>(to)[i] = value;
      break;
    case DType::BF16:
      reinterpret_cast<BFloat16 *>(to)[i] = toBFloat16(value);
      break;
    case DType::F16:
      reinterpret_cast<Float16 *>(to)[i] = toFloat16(value);
      break;
    default:
      reinterpret_cast<float *>(to)[i] = value;
    }
  }
  return memory;
}

static Result<Timing> timeOperation(BoundOperation &operation, double seconds) {
  Memory scratchpad(operation.scratchpadBytes());
  WEFT_RETURN_IF_ERROR(operation.bindScratchpad(scratchpad.data()));
  return measure(seconds, [&] { return operation.run(); });
}

Result<Timing> timeGemm(const GemmShape &shape, double seconds) {
  const auto [m, n, k, dtype, layout] = shape;
  GemmProblem problem;
  problem.in = problem.out = dtype;
  problem.m = m, problem.n = n, problem.k = k;
  problem.lhs = layout[0] == 't' ? MatrixStrides{m * k, 1, m}
                                 : MatrixStrides{m * k, k, 1};
  problem.rhs = layout[1] == 't' ? MatrixStrides{k * n, 1, k}
                                 : MatrixStrides{k * n, n, 1};
  problem.result = {m * n, n, 1};
  Memory lhs = randomTensor(m * k, dtype), rhs = randomTensor(k * n, dtype),
         out = randomTensor(m * n, dtype);
  ThreadTeam team(1);
  const OneDnnThreads threads(1);
  WEFT_ASSIGN_OR_RETURN(
      std::unique_ptr<BoundGemm> gemm,
      bindGemm(problem, {lhs.data(), rhs.data(), out.data()}, team));
  return timeOperation(*gemm, seconds);
}

double AttentionShape::flops() const {
  const double pairs =
      static_cast<double>(positions) * static_cast<double>(positions + 1) / 2;
  return 2.0 * (isBackward ? 5 : 2) * pairs *
         static_cast<double>(batch * heads * headSize);
}

Result<Timing> timeAttention(const AttentionShape &shape, double seconds) {
  const int64_t rows = shape.batch * shape.positions * shape.heads;
  const int64_t ofQueries = rows * shape.headSize;
  const int64_t ofKeys =
      shape.batch * shape.positions * shape.keyHeads * shape.headSize;
  Memory query = randomTensor(ofQueries, DType::F32),
         key = randomTensor(ofKeys, DType::F32),
         value = randomTensor(ofKeys, DType::F32),
         cotangent = randomTensor(ofQueries, DType::F32);
  Memory out(ofQueries * 4), logsumexp(rows * 4), ofQuery(ofQueries * 4),
      ofKey(ofKeys * 4), ofValue(ofKeys * 4);
  AttentionArguments arguments;
  arguments.sizes = {shape.batch, shape.positions, shape.positions,
                     shape.heads, shape.keyHeads,  shape.headSize};
  arguments.isCausal = true;
  arguments.scale = 1 / std::sqrt(static_cast<double>(shape.headSize));
  arguments.query = query.data();
  arguments.key = key.data();
  arguments.value = value.data();
  arguments.out = {out.data()};
  arguments.logsumexp = logsumexp.data();
  ThreadTeam team(1);
  const auto forward = bindAttention(arguments, team);
  if (!shape.isBackward)
    return timeOperation(*forward, seconds);
  WEFT_RETURN_IF_ERROR(timeOperation(*forward, 0).status());
  arguments.forwardOut = out.data();
  arguments.forwardLogsumexp = logsumexp.data();
  arguments.outCotangent = cotangent.data();
  arguments.queryCotangent = {ofQuery.data()};
  arguments.keyCotangent = {ofKey.data()};
  arguments.valueCotangent = {ofValue.data()};
  return timeOperation(*bindAttentionGrad(arguments, team), seconds);
}

} // namespace weft::tools
