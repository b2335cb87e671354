//===- LinkObject.cpp - Objects to shared objects -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkObject.h"

#include "ExternalTool.h"

#include "lld/Common/Driver.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace weft;

/// What lld prints is the error. Its state is the process's: one call at a
/// time.
static Error runLinker(ArrayRef<const char *> arguments) {
  static std::mutex linking;
  std::lock_guard lock(linking);
  std::string printed;
  raw_string_ostream log(printed);
  lld::Result result =
      lld::lldMain(arguments, log, log, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0)
    return Error::success();
  // no test: the linker would have to refuse what LLVM emitted
  return createStringError("linking kernels failed: " + printed);
}

Expected<std::string> weft::linkSharedObject(StringRef object) {
  auto input = TemporaryFile::create("o"), output = TemporaryFile::create("so");
  for (auto *file : {&input, &output})
    if (!*file)
      return file->takeError();
  if (Error error = input->write(object))
    return error;
  SmallString<128> from(input->path()), to(output->path());
  if (Error error = runLinker(
          {"ld.lld", "-shared", "--no-undefined", "--build-id=none",
           "--strip-all", "--hash-style=sysv", "--threads=1", "-z",
           "noexecstack", "-z", "now", "-o", to.c_str(), from.c_str()}))
    return error;
  return output->read();
}
