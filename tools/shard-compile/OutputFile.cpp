//===- OutputFile.cpp - Where a result goes -------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace llvm;

Expected<std::string> weft::resolveOutput(StringRef path, StringRef input) {
  sys::fs::file_status status;
  if (path == "-" || sys::fs::status(path, status)) {
    if (sys::fs::is_symlink_file(path))
      return createStringError(path + " is a symbolic link to no file");
    return path.str();
  }
  if (sys::fs::is_directory(status))
    return createStringError(path + " is a folder");
  if (!sys::fs::is_regular_file(status))
    return path.str();
  if (input != "-" && sys::fs::equivalent(path, input))
    return createStringError(path + " is the input; name another file");
  SmallString<128> real;
  if (std::error_code error = sys::fs::real_path(path, real))
    return createStringError(error, path + ": " + error.message());
  return std::string(real);
}

static Error cannotWrite(StringRef path, const Twine &reason) {
  return createStringError("cannot write " + path + ": " + reason);
}

static std::error_code writeTo(int descriptor, StringRef text) {
  raw_fd_ostream os(descriptor, /*shouldClose=*/false);
  os << text;
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error;
}

/// Whether all of `text` is on the disk.
static std::error_code writeAndSync(int descriptor, StringRef text) {
  std::error_code error = writeTo(descriptor, text);
  if (!error && ::fsync(descriptor) != 0)
    error = errnoAsErrorCode();
  return error;
}

/// Devices and pipes take what is written and cannot be replaced.
static bool isDeviceOrPipe(StringRef path) {
  sys::fs::file_status status;
  return !sys::fs::status(path, status) && !sys::fs::is_regular_file(status);
}

static Error writeInto(StringRef path, StringRef text) {
  int descriptor = -1;
  std::error_code error = sys::fs::openFileForWrite(
      path, descriptor, sys::fs::CD_OpenExisting, sys::fs::OF_None);
  if (error)
    return cannotWrite(path, error.message());
  error = writeTo(descriptor, text);
  std::error_code closed = sys::Process::SafelyCloseFileDescriptor(descriptor);
  if (error || closed)
    return cannotWrite(path, (error ? error : closed).message());
  return Error::success();
}

Error weft::writeOutput(StringRef path, StringRef text) {
  if (path == "-") {
    outs() << text;
    return flushStandardOutput();
  }
  if (isDeviceOrPipe(path))
    return writeInto(path, text);
  // A signal that ends the program removes it.
  Expected<sys::fs::TempFile> file = sys::fs::TempFile::create(
      path + ".%%%%%%%%.tmp", sys::fs::all_read | sys::fs::all_write);
  if (!file)
    return cannotWrite(path, toString(file.takeError()));
  if (std::error_code error = writeAndSync(file->FD, text)) {
    consumeError(file->discard());
    return cannotWrite(path, error.message());
  }
  if (Error error = file->keep(path))
    return cannotWrite(path, toString(std::move(error)));
  return Error::success();
}

Error weft::flushStandardOutput() {
  outs().flush();
  if (!outs().has_error())
    return Error::success();
  std::error_code error = outs().error();
  outs().clear_error();
  return createStringError("cannot write to the standard output: " +
                           error.message());
}
