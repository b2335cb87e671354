//===- ObjectFolder.h - Kernels that other processes compiled ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_CODEGEN_OBJECTFOLDER_H
#define WEFT_LIB_CODEGEN_OBJECTFOLDER_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace weft {

/// Compiled kernels in the files of a folder, which processes may share: a
/// file appears as a whole. What was not used for a week goes, and what was
/// not used for longest while there is more than a GiB.
class ObjectFolder {
public:
  /// The folder is made when the first object is added.
  explicit ObjectFolder(std::string path) : path(std::move(path)) {}

  /// The folder that WEFT_KERNEL_CACHE names, if it is set.
  static std::optional<ObjectFolder> ofEnvironment();

  /// The object of a key, which is part of a file's name; nothing if there is
  /// none, or if its file is damaged, which is then removed.
  std::optional<std::string> find(llvm::StringRef key) const;
  /// Keeps an object; false, with a warning, if the folder cannot be written.
  bool addOrWarn(llvm::StringRef key, llvm::StringRef object,
                 mlir::Location location) const;

private:
  std::string fileOf(llvm::StringRef key) const;
  llvm::Error add(llvm::StringRef key, llvm::StringRef object) const;

  std::string path;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_OBJECTFOLDER_H
