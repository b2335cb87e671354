//===- CompilerIdentity.cpp - What makes machine code of a kernel ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompilerIdentity.h"
#include "CodegenSources.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>

/// Size and time of change of the file that holds a function: of this library
/// itself, where LLVM is linked statically.
static std::string fileOf(void *function) {
  Dl_info file;
  llvm::sys::fs::file_status status;
  if (!dladdr(function, &file) || llvm::sys::fs::status(file.dli_fname, status))
    return "unknown";
  return std::to_string(status.getSize()) + " " +
         std::to_string(
             status.getLastModificationTime().time_since_epoch().count());
}

std::string weft::compilerIdentity() {
  static const std::string identity =
      WEFT_CODEGEN_SOURCES " " +
      fileOf(reinterpret_cast<void *>(&mlir::translateModuleToLLVMIR)) + " " +
      fileOf(reinterpret_cast<void *>(&llvm::sys::getHostCPUName));
  return identity;
}
