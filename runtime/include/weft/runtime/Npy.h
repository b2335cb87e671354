//===- Npy.h - Tensors in .npy files ----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes NumPy's format for one array: versions 1, 2 and 3, of the
// types f32, f64, f16, i32, i64, i8 and bool (pred). Big endian and Fortran
// order are converted when read; little endian and C order are written.
// NumPy has no bf16; bf16 goes to .safetensors files.
//
//   WEFT_ASSIGN_OR_RETURN(Array x, readNpy("x.npy"));
//
//   WEFT_ASSIGN_OR_RETURN(NpyReader tokens, NpyReader::open("tokens.npy"));
//   for (int64_t step = 0; step < tokens.shape()[0]; ++step) {
//     WEFT_ASSIGN_OR_RETURN(Array batch, tokens.readSlice(step));
//     ...
//   }
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_NPY_H
#define WEFT_RUNTIME_NPY_H

#include "weft/runtime/Array.h"
#include "weft/runtime/Status.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace weft::runtime {

class InputFile;

/// An open .npy file, of which the whole or parts can be read. Reading is safe
/// from several threads.
class NpyReader {
public:
  /// Checks the header and that the file is as long as the header says. Reads
  /// an array in Fortran order whole, and keeps it.
  static Result<NpyReader> open(const std::string &path);

  NpyReader(NpyReader &&) noexcept;
  NpyReader &operator=(NpyReader &&) noexcept;
  ~NpyReader();

  DType dtype() const { return elementType; }
  const std::vector<int64_t> &shape() const { return extents; }

  /// The whole array.
  Result<Array> read() const;
  /// The part with first index `index`, whose shape is `shape()` without the
  /// first dimension; reads no other part of the file.
  Result<Array> readSlice(int64_t index) const;

  /// Bytes of the array from that offset on, in the order of its elements, of
  /// which they are whole.
  Status readBytes(uint64_t offset, std::span<std::byte> memory) const;

private:
  NpyReader(std::unique_ptr<InputFile> file, DType dtype,
            std::vector<int64_t> shape, uint64_t dataOffset, bool isBigEndian);
  Result<Array> readElements(uint64_t offset, std::vector<int64_t> shape) const;

  std::unique_ptr<InputFile> file;
  DType elementType;
  std::vector<int64_t> extents;
  uint64_t dataOffset;
  bool isBigEndian;
  /// An array that the file has in Fortran order.
  std::optional<Array> whole;
};

/// Reads the whole array.
Result<Array> readNpy(const std::string &path);

/// Writes `array` with the header that NumPy writes. The file appears under
/// its name complete or not at all.
Status writeNpy(const std::string &path, const ArrayView &array);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_NPY_H
