//===- UnfinishedFiles.h - Files that a signal removes ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_IO_UNFINISHEDFILES_H
#define WEFT_RUNTIME_IO_UNFINISHEDFILES_H

#include <string>

namespace weft::runtime {

/// Remembers the path of a file while it is unfinished, where the handler of a
/// signal can read it. One that is too long, or one too many, is not removed.
class UnfinishedFile {
public:
  explicit UnfinishedFile(const std::string &path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile &) = delete;
  UnfinishedFile &operator=(const UnfinishedFile &) = delete;

private:
  struct Slot;
  static Slot slots[];
  friend void removeUnfinishedFiles();

  Slot *slot = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_IO_UNFINISHEDFILES_H
