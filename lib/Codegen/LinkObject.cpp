//===- LinkObject.cpp - Objects to shared objects -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkObject.h"

#include "ExternalTool.h"

#include "lld/Common/Driver.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"

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

static Expected<std::unique_ptr<MemoryBuffer>>
rename(const NamedObject &object) {
  auto file = object::ObjectFile::createObjectFile(
      MemoryBufferRef(object.object, object.symbol));
  if (!file)
    return file.takeError();
  objcopy::ConfigManager config;
  config.Common.SymbolsToRename[kObjectSymbol] = object.symbol;
  SmallString<0> renamed;
  raw_svector_ostream stream(renamed);
  if (Error error = objcopy::executeObjcopyOnBinary(config, **file, stream))
    return error;
  return MemoryBuffer::getMemBufferCopy(renamed, object.symbol);
}

/// All of them as one file.
static Expected<std::unique_ptr<MemoryBuffer>>
archive(ArrayRef<NamedObject> objects) {
  std::vector<NewArchiveMember> members;
  for (const NamedObject &object : objects) {
    auto renamed = rename(object);
    if (!renamed)
      return renamed.takeError();
    NewArchiveMember &member = members.emplace_back();
    member.MemberName = object.symbol;
    member.Buf = std::move(*renamed);
  }
  return writeArchiveToBuffer(members, SymtabWritingMode::NoSymtab,
                              object::Archive::K_GNU, /*Deterministic=*/true,
                              /*Thin=*/false);
}

Expected<std::string> weft::linkSharedObject(ArrayRef<NamedObject> objects) {
  auto contents = archive(objects);
  if (!contents)
    return contents.takeError();
  auto input = TemporaryFile::create("a"), output = TemporaryFile::create("so");
  for (auto *file : {&input, &output})
    if (!*file)
      return file->takeError();
  if (Error error = input->write((*contents)->getBuffer()))
    return error;
  SmallString<128> from(input->path()), to(output->path());
  if (Error error =
          runLinker({"ld.lld", "-shared", "--no-undefined", "--build-id=none",
                     "--strip-all", "--hash-style=sysv", "--threads=1", "-z",
                     "noexecstack", "-z", "now", "-o", to.c_str(),
                     "--whole-archive", from.c_str()}))
    return error;
  return output->read();
}
