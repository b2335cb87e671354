//===- ExternalTool.cpp - Programs that the compiler runs -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExternalTool.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace weft;

Expected<TemporaryFile> TemporaryFile::create(StringRef suffix) {
  SmallString<128> path;
  if (std::error_code error =
          sys::fs::createTemporaryFile("weft-kernels", suffix, path))
    // no test: the folder of temporary files would have to be read-only
    return createStringError(error, "cannot create a temporary file: " +
                                        error.message());
  return TemporaryFile(path);
}

Error TemporaryFile::write(StringRef contents) {
  std::error_code error;
  raw_fd_ostream stream(name, error);
  stream << contents;
  stream.close();
  if (!error && !stream.has_error())
    return Error::success();
  stream.clear_error();
  return createStringError("cannot write " + name.str());
}

std::string TemporaryFile::read() const {
  auto buffer = MemoryBuffer::getFile(name);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

Expected<std::string> weft::runTool(ArrayRef<StringRef> arguments) {
  auto log = TemporaryFile::create("log");
  if (!log)
    return log.takeError();
  std::optional<StringRef> redirects[] = {StringRef(""), log->path(),
                                          log->path()};
  std::string problem;
  int status =
      sys::ExecuteAndWait(arguments.front(), arguments, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  std::string said = log->read();
  if (status == 0)
    return said;
  if (problem.empty() && said.empty())
    problem = "it ends with status " + std::to_string(status);
  return createStringError(problem + said);
}
