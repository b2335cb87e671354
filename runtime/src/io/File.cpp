//===- File.cpp - Files read by position and written whole ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "File.h"

#include "weft/runtime/OutputFiles.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::runtime {

static_assert(std::endian::native == std::endian::little,
              "both file formats are little endian and are copied as they are");

Status systemError(const std::string &path, std::string_view what) {
  const int error = errno;
  std::string message =
      fmt::format("{}: cannot {}: {}", path, what, std::strerror(error));
  switch (error) {
  case ENOENT:
  case ENOTDIR:
    return notFound(std::move(message));
  case ENOSPC:
  case EFBIG:
  case EDQUOT:
  case EMFILE:
  case ENFILE:
    return resourceExhausted(std::move(message));
  case EACCES:
  case EPERM:
  case EROFS:
    return failedPrecondition(std::move(message));
  default:
    return unavailable(std::move(message));
  }
}

//===----------------------------------------------------------------------===//
// InputFile
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<InputFile>> InputFile::open(const std::string &path) {
  // Without O_NONBLOCK a pipe that nobody writes to is waited for.
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0)
    return systemError(path, "open the file");
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return invalidArgument(path + ": not a regular file");
  }
  return std::unique_ptr<InputFile>(
      new InputFile(path, descriptor, static_cast<uint64_t>(status.st_size)));
}

InputFile::~InputFile() { ::close(descriptor); }

Status InputFile::readAt(uint64_t offset, std::span<std::byte> memory) const {
  while (!memory.empty()) {
    const ssize_t got = ::pread(descriptor, memory.data(), memory.size(),
                                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError(name, "read the file");
    if (got == 0)
      return unavailable(
          fmt::format("{}: the file ends at byte {}, {} bytes early", name,
                      offset, memory.size()));
    offset += static_cast<uint64_t>(got);
    memory = memory.subspan(static_cast<size_t>(got));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// OutputFile
//===----------------------------------------------------------------------===//

/// A name beside `path` that no other process or thread uses.
static std::string temporaryName(const std::string &path) {
  static std::atomic<uint64_t> counter{0};
  return fmt::format("{}.{}-{}.tmp", path, ::getpid(), counter.fetch_add(1));
}

std::string behindLinks(const std::string &path) {
  std::filesystem::path file = path;
  // As many as the kernel follows.
  for (int links = 0; links < 40; ++links) {
    std::error_code isNone;
    const auto target = std::filesystem::read_symlink(file, isNone);
    if (isNone)
      break;
    file = file.parent_path() / target;
  }
  return file;
}

Result<std::unique_ptr<OutputFile>>
OutputFile::create(const std::string &name) {
  struct stat status{};
  const bool exists = ::stat(name.c_str(), &status) == 0;
  if (!exists && errno != ENOENT)
    return systemError(name, "create the file");
  if (exists && S_ISDIR(status.st_mode))
    return invalidArgument(name + ": it is a folder");
  if (exists && !S_ISREG(status.st_mode)) {
    // A device or a pipe cannot be replaced.
    std::unique_ptr<OutputFile> file(new OutputFile(name, ""));
    file->descriptor = ::open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file->descriptor < 0)
      return systemError(name, "open the file");
    return file;
  }
  const std::string path = behindLinks(name);
  // A killed process of the same number may have left its file: take another.
  while (true) {
    // Its name is known before the file exists: a signal may come in between.
    std::unique_ptr<OutputFile> file(new OutputFile(path, temporaryName(path)));
    file->descriptor = ::open(file->temporary.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->descriptor >= 0)
      return file;
    file->temporary.clear();
    if (errno != EEXIST)
      return systemError(path, "create the file");
  }
}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status OutputFile::append(std::span<const std::byte> memory) {
  while (!memory.empty()) {
    const ssize_t written = ::write(descriptor, memory.data(), memory.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError(path, "write the file");
    memory = memory.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status syncFolder(const std::string &folder) {
  const int descriptor =
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError(folder, "open the directory");
  const bool synced = ::fsync(descriptor) == 0;
  Status status = synced ? Status() : systemError(folder, "sync the directory");
  ::close(descriptor);
  return status;
}

/// That the file is in.
static std::string folderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "."
         : slash == 0               ? "/"
                                    : path.substr(0, slash);
}

Status OutputFile::commit() {
  const bool isReplaced = !temporary.empty();
  if (isReplaced && ::fsync(descriptor) != 0)
    return systemError(path, "force the file to disk");
  const bool closed = ::close(descriptor) == 0;
  descriptor = -1;
  if (!closed)
    return systemError(path, "close the file");
  if (!isReplaced)
    return {};
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return systemError(path, "rename the finished file");
  temporary.clear();
  return syncFolder(folderOf(path));
}

//===----------------------------------------------------------------------===//
// SharedOutputFile
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<SharedOutputFile>>
SharedOutputFile::open(const std::string &path) {
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return systemError(path, "create the file");
  return std::unique_ptr<SharedOutputFile>(
      new SharedOutputFile(path, descriptor));
}

SharedOutputFile::~SharedOutputFile() { ::close(descriptor); }

Status SharedOutputFile::writeAt(uint64_t offset, std::span<iovec> pieces) {
  while (!pieces.empty()) {
    ssize_t written =
        ::pwritev(descriptor, pieces.data(), static_cast<int>(pieces.size()),
                  static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError(name, "write the file");
    offset += static_cast<uint64_t>(written);
    while (!pieces.empty() &&
           static_cast<size_t>(written) >= pieces.front().iov_len) {
      written -= static_cast<ssize_t>(pieces.front().iov_len);
      pieces = pieces.subspan(1);
    }
    if (!pieces.empty()) {
      iovec &rest = pieces.front();
      rest.iov_base = static_cast<std::byte *>(rest.iov_base) + written;
      rest.iov_len -= static_cast<size_t>(written);
    }
  }
  return {};
}

Status SharedOutputFile::sync() {
  return ::fsync(descriptor) == 0 ? Status()
                                  : systemError(name, "force the file to disk");
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Result<uint64_t> tensorBytes(DType dtype, std::span<const int64_t> shape) {
  // A zero anywhere makes the tensor empty, but the other extents must still
  // multiply without overflow, or code that multiplies in another order fails.
  int64_t bytes = static_cast<int64_t>(byteSize(dtype));
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return invalidArgument(
          fmt::format("an extent of the shape is negative: {}", extent));
    empty |= extent == 0;
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      return invalidArgument("the shape has more than 2^63 bytes");
  }
  return empty ? uint64_t(0) : static_cast<uint64_t>(bytes);
}

Status readTensor(const InputFile &file, uint64_t offset, DType dtype,
                  std::span<std::byte> memory) {
  WEFT_RETURN_IF_ERROR(file.readAt(offset, memory));
  if (dtype != DType::Pred)
    return {};
  const auto wrong = std::find_if(memory.begin(), memory.end(),
                                  [](std::byte b) { return b > std::byte(1); });
  if (wrong == memory.end())
    return {};
  return invalidArgument(
      fmt::format("{}: a boolean must be 0 or 1, got {} at byte {}",
                  file.path(), std::to_integer<int>(*wrong),
                  offset + static_cast<uint64_t>(wrong - memory.begin())));
}

Result<Array> readTensor(const InputFile &file, uint64_t offset, DType dtype,
                         std::vector<int64_t> shape) {
  WEFT_ASSIGN_OR_RETURN(const uint64_t bytes, tensorBytes(dtype, shape));
  Array array;
  try {
    array = Array(dtype, std::move(shape));
  } catch (const std::bad_alloc &) {
    return resourceExhausted(fmt::format(
        "{}: no memory for a tensor of {} bytes", file.path(), bytes));
  }
  WEFT_RETURN_IF_ERROR(readTensor(file, offset, dtype, array.data));
  return array;
}

Status checkSlice(const InputFile &file, std::span<const int64_t> shape,
                  int64_t index) {
  if (shape.empty())
    return invalidArgument(file.path() + ": a scalar has no slices");
  if (index < 0 || index >= shape[0])
    return invalidArgument(
        fmt::format("{}: the slice must be one of 0 to {}, got {}", file.path(),
                    shape[0] - 1, index));
  return {};
}

Result<Array> readSlice(const InputFile &file, uint64_t offset, DType dtype,
                        std::span<const int64_t> shape, int64_t index) {
  WEFT_RETURN_IF_ERROR(checkSlice(file, shape, index));
  const std::vector<int64_t> part(shape.begin() + 1, shape.end());
  WEFT_ASSIGN_OR_RETURN(const uint64_t bytes, tensorBytes(dtype, part));
  return readTensor(file, offset + static_cast<uint64_t>(index) * bytes, dtype,
                    part);
}

} // namespace weft::runtime
