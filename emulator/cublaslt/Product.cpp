//===- Product.cpp - A matmul with its epilogue ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "cudart/Emulator.h"
#include "ptx/Half.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace weft::emulator {

size_t bytesOf(cudaDataType type) {
  switch (type) {
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return 2;
  case CUDA_R_32F:
    return 4;
  case CUDA_R_64F:
    return 8;
  default:
    return 0;
  }
}

bool Operation::hasBias() const {
  return epilogue == CUBLASLT_EPILOGUE_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool Operation::hasBiasGradient() const {
  return epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD ||
         epilogue == CUBLASLT_EPILOGUE_BGRADA ||
         epilogue == CUBLASLT_EPILOGUE_BGRADB;
}
bool Operation::hasAux() const { return (epilogue & 128) != 0; }
bool Operation::isGelu() const { return (epilogue & 32) != 0; }
bool Operation::isGeluGradient() const { return (epilogue & 64) != 0; }

uint64_t Product::k() const {
  return operation.transposeA == CUBLAS_OP_N ? a.columns : a.rows;
}

namespace {

double load(cudaDataType type, const void *data, int64_t index) {
  switch (type) {
  case CUDA_R_16F:
    return toDouble(static_cast<const Half *>(data)[index]);
  case CUDA_R_16BF:
    return toDouble(static_cast<const BFloat *>(data)[index]);
  case CUDA_R_32F:
    return static_cast<const float *>(data)[index];
  default:
    return static_cast<const double *>(data)[index];
  }
}

void store(cudaDataType type, void *data, int64_t index, double value) {
  switch (type) {
  case CUDA_R_16F:
    static_cast<Half *>(data)[index] =
        fromDouble<Half>(value, Rounding::Nearest);
    break;
  case CUDA_R_16BF:
    static_cast<BFloat *>(data)[index] =
        fromDouble<BFloat>(value, Rounding::Nearest);
    break;
  case CUDA_R_32F:
    static_cast<float *>(data)[index] = static_cast<float>(value);
    break;
  default:
    static_cast<double *>(data)[index] = value;
  }
}

/// To 10 bits of mantissa, as tensor cores read floats in TF32.
float roundToTf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7f800000) != 0x7f800000)
    bits = (bits + 0x1000) & 0xffffe000;
  std::memcpy(&value, &bits, 4);
  return value;
}

template <typename T> T gelu(T x) {
  T inner = T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (1 + std::tanh(inner));
}

template <typename T> T geluGradient(T x) {
  T inner = T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
  T t = std::tanh(inner);
  T slope = T(0.7978845608028654) * (1 + T(3 * 0.044715) * x * x);
  return T(0.5) * (1 + t) + T(0.5) * x * (1 - t * t) * slope;
}

/// One batch, with sums of type T.
template <typename T> class Batch {
public:
  Batch(const Product &product, int32_t batch)
      : p(product), op(product.operation), batch(batch), m(p.m()), n(p.n()),
        k(p.k()), sums(m * n) {}

  void run() {
    multiply();
    for (uint64_t row = 0; row < m; ++row)
      for (uint64_t column = 0; column < n; ++column)
        finish(row, column);
    if (op.epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD)
      storeBiasGradient(m, [&](uint64_t row) {
        T sum = 0;
        for (uint64_t column = 0; column < n; ++column)
          sum += sums[row * n + column];
        return sum;
      });
    if (op.epilogue == CUBLASLT_EPILOGUE_BGRADA)
      storeBiasGradient(m, [&](uint64_t row) {
        T sum = 0;
        for (uint64_t i = 0; i < k; ++i)
          sum += lhs(row, i);
        return sum;
      });
    if (op.epilogue == CUBLASLT_EPILOGUE_BGRADB)
      storeBiasGradient(n, [&](uint64_t column) {
        T sum = 0;
        for (uint64_t i = 0; i < k; ++i)
          sum += rhs(i, column);
        return sum;
      });
  }

private:
  T element(const Matrix &matrix, const void *data, uint64_t row,
            uint64_t column) const {
    return static_cast<T>(
        load(matrix.type, data,
             batch * matrix.batchStride + matrix.offset(row, column)));
  }
  T lhs(uint64_t row, uint64_t i) const {
    return op.transposeA == CUBLAS_OP_N ? element(p.a, p.aData, row, i)
                                        : element(p.a, p.aData, i, row);
  }
  T rhs(uint64_t i, uint64_t column) const {
    return op.transposeB == CUBLAS_OP_N ? element(p.b, p.bData, i, column)
                                        : element(p.b, p.bData, column, i);
  }
  T factor(T value) const {
    if constexpr (std::is_same_v<T, float>)
      if (op.compute == CUBLAS_COMPUTE_32F_FAST_TF32)
        return roundToTf32(value);
    return value;
  }

  void multiply() {
    std::vector<T> right(k * n);
    for (uint64_t i = 0; i < k; ++i)
      for (uint64_t column = 0; column < n; ++column)
        right[i * n + column] = factor(rhs(i, column));
    for (uint64_t row = 0; row < m; ++row) {
      T *out = &sums[row * n];
      uint64_t i = 0;
      // Four at once, one after the other: a sum is read and written once.
      for (; i + 4 <= k; i += 4) {
        const T left[] = {factor(lhs(row, i)), factor(lhs(row, i + 1)),
                          factor(lhs(row, i + 2)), factor(lhs(row, i + 3))};
        const T *in = &right[i * n];
        for (uint64_t column = 0; column < n; ++column) {
          T sum = out[column] + left[0] * in[column];
          sum += left[1] * in[column + n];
          sum += left[2] * in[column + 2 * n];
          out[column] = sum + left[3] * in[column + 3 * n];
        }
      }
      for (; i < k; ++i) {
        T left = factor(lhs(row, i));
        const T *in = &right[i * n];
        for (uint64_t column = 0; column < n; ++column)
          out[column] += left * in[column];
      }
    }
  }

  void finish(uint64_t row, uint64_t column) {
    T &value = sums[row * n + column];
    value *= static_cast<T>(p.alpha);
    if (p.beta != 0)
      value += static_cast<T>(p.beta) * element(p.c, p.cData, row, column);
    cudaDataType auxType = op.auxType.value_or(p.d.type);
    // The epilogue sees matrices as they lie in memory, by columns.
    int64_t auxIndex = batch * op.auxStride + row + column * op.auxLeading;
    if (op.hasBias())
      value += static_cast<T>(load(op.biasType.value_or(p.d.type), op.bias,
                                   batch * op.biasStride + row));
    if (op.isGelu() && op.hasAux())
      store(auxType, op.aux, auxIndex, value);
    if (op.isGelu())
      value = gelu(value);
    if (op.isGeluGradient())
      value *= geluGradient(static_cast<T>(load(auxType, op.aux, auxIndex)));
    store(p.d.type, p.dData, batch * p.d.batchStride + p.d.offset(row, column),
          value);
  }

  template <typename Sum> void storeBiasGradient(uint64_t count, Sum sum) {
    for (uint64_t i = 0; i < count; ++i)
      store(op.biasType.value_or(p.d.type), op.bias, batch * op.biasStride + i,
            sum(i));
  }

  const Product &p;
  const Operation &op;
  int64_t batch;
  uint64_t m, n, k;
  std::vector<T> sums;
};

bool isKnown(cublasLtEpilogue_t epilogue) {
  switch (epilogue) {
  case CUBLASLT_EPILOGUE_DEFAULT:
  case CUBLASLT_EPILOGUE_BIAS:
  case CUBLASLT_EPILOGUE_GELU:
  case CUBLASLT_EPILOGUE_GELU_AUX:
  case CUBLASLT_EPILOGUE_GELU_BIAS:
  case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
  case CUBLASLT_EPILOGUE_DGELU:
  case CUBLASLT_EPILOGUE_DGELU_BGRAD:
  case CUBLASLT_EPILOGUE_BGRADA:
  case CUBLASLT_EPILOGUE_BGRADB:
    return true;
  default:
    return false;
  }
}

std::string problemOf(const char *name, const Matrix &matrix) {
  uint64_t least =
      matrix.order == CUBLASLT_ORDER_COL ? matrix.rows : matrix.columns;
  if (!bytesOf(matrix.type))
    return std::string(name) + " has an unknown type";
  if (matrix.order != CUBLASLT_ORDER_COL && matrix.order != CUBLASLT_ORDER_ROW)
    return std::string(name) + " has an unknown order";
  if (matrix.leading < static_cast<int64_t>(least))
    return std::string(name) + " has the leading dimension " +
           std::to_string(matrix.leading) + ", and " + std::to_string(least) +
           " elements along it";
  return {};
}

} // namespace

std::string Product::problem() const {
  const char *names[] = {"A", "B", "C", "D"};
  const Matrix *matrices[] = {&a, &b, &c, &d};
  for (int i = 0; i < 4; ++i) {
    std::string text = problemOf(names[i], *matrices[i]);
    if (!text.empty())
      return text;
    if (matrices[i]->batches != d.batches)
      return std::string(names[i]) + " has " +
             std::to_string(matrices[i]->batches) + " batches, D has " +
             std::to_string(d.batches);
  }
  bool isDouble = operation.compute == CUBLAS_COMPUTE_64F;
  bool isSingle = operation.compute == CUBLAS_COMPUTE_32F ||
                  operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (!isDouble && !isSingle)
    return "the type of the sums is not known";
  if (operation.scale != (isDouble ? CUDA_R_64F : CUDA_R_32F))
    return "alpha does not have the type of the sums";
  if (a.type != b.type || c.type != d.type ||
      (a.type == CUDA_R_64F) != isDouble ||
      (d.type == CUDA_R_64F) != isDouble ||
      (d.type != a.type && d.type != CUDA_R_32F))
    return "the types of the matrices do not go together";
  bool transposedB = operation.transposeB != CUBLAS_OP_N;
  uint64_t rows = operation.transposeA == CUBLAS_OP_N ? a.rows : a.columns;
  if (rows != m() || (transposedB ? b.columns : b.rows) != k() ||
      (transposedB ? b.rows : b.columns) != n() || c.rows != m() ||
      c.columns != n())
    return "the sizes of the matrices do not go together";
  if (!isKnown(operation.epilogue))
    return "the epilogue is not known";
  if (operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
      d.order != CUBLASLT_ORDER_COL)
    return "an epilogue of a result by rows";
  if ((operation.hasBias() || operation.hasBiasGradient()) && !operation.bias)
    return "the epilogue needs the pointer of the bias";
  if ((operation.hasBias() || operation.hasBiasGradient()) &&
      operation.biasType.value_or(d.type) != d.type)
    return "the bias does not have the type of D";
  if (operation.hasAux() && reinterpret_cast<uintptr_t>(operation.aux) % 16)
    return "the auxiliary matrix is not aligned to 16 bytes";
  if (operation.hasAux() &&
      (!operation.aux || operation.auxLeading < static_cast<int64_t>(m()) ||
       operation.auxLeading % 8 || operation.auxStride % 8))
    return "the epilogue needs an auxiliary matrix whose leading dimension and "
           "batch stride are multiples of 8";
  return {};
}

std::string Product::problemOfLaunch() const {
  // A factor is added up only where its elements for the same k are dense.
  if (operation.epilogue == CUBLASLT_EPILOGUE_BGRADA &&
      (operation.transposeA != CUBLAS_OP_N || a.order != CUBLASLT_ORDER_COL))
    return "BGRADA wants an A that is not transposed";
  if (operation.epilogue == CUBLASLT_EPILOGUE_BGRADB &&
      (operation.transposeB != CUBLAS_OP_T || b.order != CUBLASLT_ORDER_COL))
    return "BGRADB wants a B that is transposed";
  return {};
}

void Product::checkMemory() const {
  checkAccess(aData, a.extent() * bytesOf(a.type), "matrix A");
  checkAccess(bData, b.extent() * bytesOf(b.type), "matrix B");
  if (beta != 0)
    checkAccess(cData, c.extent() * bytesOf(c.type), "matrix C");
  checkAccess(dData, d.extent() * bytesOf(d.type), "matrix D");
  if (operation.hasBias() || operation.hasBiasGradient()) {
    uint64_t count = operation.epilogue == CUBLASLT_EPILOGUE_BGRADB ? n() : m();
    checkAccess(operation.bias,
                ((d.batches - 1) * operation.biasStride + count) *
                    bytesOf(operation.biasType.value_or(d.type)),
                "the bias");
  }
  if (operation.hasAux())
    checkAccess(operation.aux,
                ((d.batches - 1) * operation.auxStride +
                 (n() - 1) * operation.auxLeading + m()) *
                    bytesOf(operation.auxType.value_or(d.type)),
                "the auxiliary matrix");
}

void Product::compute() const {
  for (int32_t batch = 0; batch < d.batches; ++batch)
    if (operation.compute == CUBLAS_COMPUTE_64F)
      Batch<double>(*this, batch).run();
    else
      Batch<float>(*this, batch).run();
}

} // namespace weft::emulator
