//===- Tensor.h - Arrays across the border ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor crosses the border as the name of its element type, its shape and
// its bytes in row-major order, so that element types NumPy does not know need
// no care here.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PYTHON_SRC_RUNTIME_TENSOR_H
#define WEFT_PYTHON_SRC_RUNTIME_TENSOR_H

#include "StatusError.h"

#include "weft/runtime/Array.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

namespace weft::runtime {

using Bytes = nanobind::ndarray<const uint8_t, nanobind::ndim<1>,
                                nanobind::c_contig, nanobind::device::cpu>;

/// A tensor that a caller hands in; the bytes stay the caller's.
struct Tensor {
  DType dtype;
  std::vector<int64_t> shape;
  Bytes bytes;

  ArrayView view() const {
    return {dtype, shape, reinterpret_cast<const std::byte *>(bytes.data())};
  }
};

inline DType dtypeNamed(const std::string &text) {
  for (int number = 0; number < dtypeCount; ++number)
    if (name(static_cast<DType>(number)) == text)
      return static_cast<DType>(number);
  throw nanobind::value_error(("no element type is named " + text).c_str());
}

inline Tensor makeTensor(const std::string &dtype, std::vector<int64_t> shape,
                         Bytes bytes) {
  Tensor tensor{dtypeNamed(dtype), std::move(shape), std::move(bytes)};
  if (tensor.bytes.size() != tensor.view().bytes())
    throw nanobind::value_error("the bytes do not fit the shape");
  return tensor;
}

/// The bytes as an array of NumPy that owns them.
inline nanobind::object toNumpy(Array array) {
  auto *owned = new std::vector<std::byte>(std::move(array.data));
  nanobind::capsule owner(owned, [](void *pointer) noexcept {
    delete static_cast<std::vector<std::byte> *>(pointer);
  });
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, uint8_t, nanobind::ndim<1>>(
          owned->data(), {owned->size()}, owner),
      nanobind::rv_policy::reference);
}

/// What the handler of a signal has raised while a call waited, Ctrl-C's
/// KeyboardInterrupt say.
inline void raiseIfInterrupted() {
  if (PyErr_Occurred())
    throw nanobind::python_error();
}

/// Calls without the lock of the interpreter; raises its failure.
template <typename Call> void runUnlocked(Call &&call) {
  Status status = [&] {
    nanobind::gil_scoped_release unlocked;
    return call();
  }();
  raiseIfInterrupted();
  raiseIfFailed(status);
}

} // namespace weft::runtime

#endif // WEFT_PYTHON_SRC_RUNTIME_TENSOR_H
