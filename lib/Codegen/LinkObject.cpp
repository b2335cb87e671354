//===- LinkObject.cpp - Objects to shared objects -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkObject.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

/// A file that is removed at the end of its life.
static Expected<std::pair<SmallString<128>, FileRemover>>
createFile(StringRef suffix) {
  SmallString<128> path;
  if (std::error_code error =
          sys::fs::createTemporaryFile("weft-kernels", suffix, path))
    // no test: the folder of temporary files would have to be read-only
    return createStringError(error, "cannot create a temporary file: " +
                                        error.message());
  return std::make_pair(path, FileRemover(path));
}

static std::string readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

static Expected<std::string> findLinker() {
  if (sys::fs::can_execute(WEFT_LLD))
    return WEFT_LLD;
  for (StringRef name : {"ld.lld-22", "ld.lld"})
    if (auto path = sys::findProgramByName(name))
      return *path;
  // no test: the machine that builds Weft has a linker
  return createStringError("cannot find the linker ld.lld, which compiling "
                           "kernels needs; install lld 22");
}

Expected<std::string> weft::linkSharedObject(StringRef object) {
  auto linker = findLinker();
  if (!linker)
    return linker.takeError();
  auto input = createFile("o"), output = createFile("so"),
       log = createFile("log");
  for (auto *file : {&input, &output, &log})
    if (!*file)
      return file->takeError();
  {
    std::error_code error;
    raw_fd_ostream stream(input->first, error);
    stream << object;
    stream.close();
    if (error || stream.has_error()) {
      stream.clear_error();
      return createStringError("cannot write " + input->first.str());
    }
  }
  StringRef arguments[] = {*linker,
                           "-shared",
                           "--no-undefined",
                           "--build-id=none",
                           "--strip-all",
                           "--hash-style=sysv",
                           "-z",
                           "noexecstack",
                           "-z",
                           "now",
                           "-o",
                           output->first,
                           input->first};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log->first),
                                          StringRef(log->first)};
  std::string problem;
  int status =
      sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  if (status != 0)
    // no test: the linker would have to refuse what LLVM emitted
    return createStringError("linking kernels failed: " + problem +
                             readFile(log->first));
  return readFile(output->first);
}
