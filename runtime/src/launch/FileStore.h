//===- FileStore.h - A store in a folder that all ranks see -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value is a file, written under another name and renamed, so that it is
// there completely or not at all. Files of an earlier job in the same folder
// are never read: each process makes up a random name; rank r knocks with its
// name, and rank 0 answers with its own and those it has heard. A rank that
// finds its name in the answer has found the rank 0 of its own job, whose name
// is that of the folder with the values.
//
//   DIRECTORY/JOB-RESTART/knock-3       "8c1f..."          by rank 3
//   DIRECTORY/JOB-RESTART/answer        "02ab... 8c1f..."  by rank 0
//   DIRECTORY/JOB-RESTART/02ab.../KEY   values
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_FILESTORE_H
#define WEFT_RUNTIME_SRC_LAUNCH_FILESTORE_H

#include "launch/Store.h"
#include "weft/runtime/Launch.h"

#include <memory>

namespace weft::runtime {

/// Returns when this rank has found rank 0, and rank 0 when all have found it,
/// or `timeout` passes.
Result<std::unique_ptr<Store>>
connectFileStore(const Launch &launch, std::chrono::nanoseconds timeout);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_FILESTORE_H
