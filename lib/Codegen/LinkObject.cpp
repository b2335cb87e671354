//===- LinkObject.cpp - Objects to shared objects -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkObject.h"

#include "ExternalTool.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace weft;

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
  auto input = TemporaryFile::create("o"), output = TemporaryFile::create("so");
  for (auto *file : {&input, &output})
    if (!*file)
      return file->takeError();
  if (Error error = input->write(object))
    return error;
  auto log = runTool({*linker, "-shared", "--no-undefined", "--build-id=none",
                      "--strip-all", "--hash-style=sysv", "-z", "noexecstack",
                      "-z", "now", "-o", output->path(), input->path()});
  if (!log)
    // no test: the linker would have to refuse what LLVM emitted
    return createStringError("linking kernels failed: " +
                             toString(log.takeError()));
  return output->read();
}
