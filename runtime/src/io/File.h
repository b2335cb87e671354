//===- File.h - Files read by position and written whole --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_IO_FILE_H
#define WEFT_RUNTIME_IO_FILE_H

#include "UnfinishedFiles.h"
#include "weft/runtime/Array.h"
#include "weft/runtime/Status.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/uio.h>

namespace weft::runtime {

/// A regular file open for reading; what is none, a pipe say, is refused.
/// `read` instead of a mapping: a file that another process truncates is an
/// error here, and would be a signal there.
class InputFile {
public:
  static Result<std::unique_ptr<InputFile>> open(const std::string &path);
  ~InputFile();
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  const std::string &path() const { return name; }
  /// Bytes in the file when it was opened.
  uint64_t size() const { return bytes; }

  /// Fills `memory` from the bytes at `offset`; fails when they do not exist.
  Status readAt(uint64_t offset, std::span<std::byte> memory) const;

private:
  InputFile(std::string name, int descriptor, uint64_t bytes)
      : name(std::move(name)), descriptor(descriptor), bytes(bytes) {}

  std::string name;
  int descriptor;
  uint64_t bytes;
};

/// A file that appears under its name only when `commit` succeeds: it is
/// written under another name in the same directory, and removed on failure. A
/// link stays, and what it links to is written.
class OutputFile {
public:
  static Result<std::unique_ptr<OutputFile>> create(const std::string &name);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  Status append(std::span<const std::byte> memory);
  Status append(std::string_view text) {
    return append(std::as_bytes(std::span(text)));
  }
  /// Forces the contents to disk and gives the file its name.
  Status commit();

private:
  OutputFile(std::string path, std::string temporary)
      : path(std::move(path)), temporary(std::move(temporary)),
        unfinished(this->temporary) {}

  std::string path;
  /// Empty once the file has its name.
  std::string temporary;
  const UnfinishedFile unfinished;
  int descriptor = -1;
};

/// A file that several processes write together, each at its places.
class SharedOutputFile {
public:
  /// Creates it if nobody has.
  static Result<std::unique_ptr<SharedOutputFile>>
  open(const std::string &path);
  ~SharedOutputFile();
  SharedOutputFile(const SharedOutputFile &) = delete;
  SharedOutputFile &operator=(const SharedOutputFile &) = delete;

  /// Writes the pieces one after the other from `offset` on; they are changed.
  Status writeAt(uint64_t offset, std::span<iovec> pieces);
  /// Forces what this process has written to disk.
  Status sync();

private:
  SharedOutputFile(std::string name, int descriptor)
      : name(std::move(name)), descriptor(descriptor) {}

  std::string name;
  int descriptor;
};

/// The failure of a system call, with its reason from `errno`: "<path>: cannot
/// <what>: <reason>".
Status systemError(const std::string &path, std::string_view what);

/// Makes what was created or renamed in a folder survive a crash.
Status syncFolder(const std::string &folder);

/// Bytes of a tensor; fails for negative extents and for more than 2^63 bytes.
Result<uint64_t> tensorBytes(DType dtype, std::span<const int64_t> shape);

/// Reads a tensor at `offset` of `file`; booleans other than 0 and 1 are
/// refused, because kernels rely on them. `shape` must have been checked.
Status readTensor(const InputFile &file, uint64_t offset, DType dtype,
                  std::span<std::byte> memory);
Result<Array> readTensor(const InputFile &file, uint64_t offset, DType dtype,
                         std::vector<int64_t> shape);

/// Whether a tensor of this shape has a part with first index `index`.
Status checkSlice(const InputFile &file, std::span<const int64_t> shape,
                  int64_t index);

/// The part with first index `index` of such a tensor.
Result<Array> readSlice(const InputFile &file, uint64_t offset, DType dtype,
                        std::span<const int64_t> shape, int64_t index);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_IO_FILE_H
