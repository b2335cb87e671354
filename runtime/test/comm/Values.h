//===- Values.h - Typed buffers filled with small whole numbers -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests of all element types work on whole numbers small enough to be exact in
// each of them, so that a reference in double is exact too.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_COMM_VALUES_H
#define WEFT_RUNTIME_TEST_COMM_VALUES_H

#include "weft/runtime/DType.h"

#include <cstring>
#include <vector>

namespace weft::runtime {

/// Elements of a type, aligned for it.
class Values {
public:
  Values(DType dtype, int64_t count)
      : dtype(dtype), elements(count), words(count) {}

  void *data() { return words.data(); }
  const void *data() const { return words.data(); }
  int64_t count() const { return elements; }

  void set(int64_t index, double value) {
    switch (dtype) {
    case DType::F32:
      return put(index, static_cast<float>(value));
    case DType::F64:
      return put(index, value);
    case DType::BF16:
      return put(index, toBFloat16(static_cast<float>(value)));
    case DType::F16:
      return put(index, toFloat16(static_cast<float>(value)));
    case DType::I64:
      return put(index, static_cast<int64_t>(value));
    case DType::I32:
      return put(index, static_cast<int32_t>(value));
    case DType::I16:
      return put(index, static_cast<int16_t>(value));
    case DType::I8:
      return put(index, static_cast<int8_t>(value));
    case DType::Pred:
      return put(index, static_cast<uint8_t>(value));
    }
  }

  double operator[](int64_t index) const {
    switch (dtype) {
    case DType::F32:
      return get<float>(index);
    case DType::F64:
      return get<double>(index);
    case DType::BF16:
      return toFloat(get<BFloat16>(index));
    case DType::F16:
      return toFloat(get<Float16>(index));
    case DType::I64:
      return static_cast<double>(get<int64_t>(index));
    case DType::I32:
      return get<int32_t>(index);
    case DType::I16:
      return get<int16_t>(index);
    case DType::I8:
      return get<int8_t>(index);
    case DType::Pred:
      return get<uint8_t>(index);
    }
    return 0;
  }

private:
  template <typename T> void put(int64_t index, T value) {
    std::memcpy(reinterpret_cast<char *>(words.data()) + index * sizeof(T),
                &value, sizeof(T));
  }
  template <typename T> T get(int64_t index) const {
    T value;
    std::memcpy(&value,
                reinterpret_cast<const char *>(words.data()) +
                    index * sizeof(T),
                sizeof(T));
    return value;
  }

  DType dtype;
  int64_t elements;
  /// One word an element is enough for every type.
  std::vector<uint64_t> words;
};

/// What element `index` of the buffer of `rank` holds: -7 to 7, or 0 and 1.
inline double valueAt(DType dtype, int rank, int64_t index) {
  const uint64_t mixed =
      (static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15u + rank * 7919u) >> 20;
  return dtype == DType::Pred ? static_cast<double>(mixed % 2)
                              : static_cast<double>(mixed % 15) - 7;
}

inline Values makeValues(DType dtype, int rank, int64_t count) {
  Values values(dtype, count);
  for (int64_t i = 0; i < count; ++i)
    values.set(i, valueAt(dtype, rank, i));
  return values;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_COMM_VALUES_H
