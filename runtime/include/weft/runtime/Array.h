//===- Array.h - A tensor in host memory ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What goes into a session and comes out of it, what .npy and .safetensors
// files hold: an element type, a shape, and the elements in row-major order.
// An Array owns them, an ArrayView looks at someone else's.
//
//   Array x(DType::F32, {4, 8});                    // zeros
//   x.as<float>()[8] = 1;                           // x[1, 0]
//   WEFT_RETURN_IF_ERROR(session.setInput("step", "x", x));
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_ARRAY_H
#define WEFT_RUNTIME_ARRAY_H

#include "weft/runtime/DType.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::runtime {

/// The number of elements of a shape; 1 for a scalar.
constexpr int64_t elementCountOf(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// A tensor that lives elsewhere.
struct ArrayView {
  DType dtype = DType::F32;
  std::span<const int64_t> shape;
  const std::byte *data = nullptr;

  int64_t size() const { return elementCountOf(shape); }
  size_t bytes() const { return size() * byteSize(dtype); }
  /// The elements as `T`, whose size must be that of the element type.
  template <typename T> std::span<const T> as() const {
    return {reinterpret_cast<const T *>(data), static_cast<size_t>(size())};
  }
};

/// A tensor with its own memory.
struct Array {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  Array() = default;
  /// Zeros.
  Array(DType dtype, std::vector<int64_t> extents)
      : dtype(dtype), shape(std::move(extents)),
        data(elementCountOf(shape) * byteSize(dtype)) {}

  int64_t size() const { return elementCountOf(shape); }
  size_t bytes() const { return data.size(); }
  operator ArrayView() const { return {dtype, shape, data.data()}; }
  template <typename T> std::span<T> as() {
    return {reinterpret_cast<T *>(data.data()), static_cast<size_t>(size())};
  }
  template <typename T> std::span<const T> as() const {
    return ArrayView(*this).as<T>();
  }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_ARRAY_H
