//===- ExternalTool.h - Programs that the compiler runs ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The linker and the assembler of PTX are programs of their own: they read and
// write files.

#ifndef WEFT_LIB_CODEGEN_EXTERNALTOOL_H
#define WEFT_LIB_CODEGEN_EXTERNALTOOL_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileUtilities.h"

#include <string>

namespace weft {

/// A file that is removed at the end of its life.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create(llvm::StringRef suffix);

  llvm::StringRef path() const { return name; }
  llvm::Error write(llvm::StringRef contents);
  std::string read() const;

private:
  explicit TemporaryFile(llvm::StringRef path) : name(path), remover(name) {}

  llvm::SmallString<128> name;
  llvm::FileRemover remover;
};

/// Runs a program with `arguments`, of which the first is its name, and returns
/// what it prints. An error, with that, if it fails.
llvm::Expected<std::string> runTool(llvm::ArrayRef<llvm::StringRef> arguments);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EXTERNALTOOL_H
