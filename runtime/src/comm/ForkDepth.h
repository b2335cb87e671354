//===- ForkDepth.h - Whether the process has been forked --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forked child has the memory of its parent, and of its threads only the one
// that forked. Who keeps threads remembers at what depth they were started.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_FORKDEPTH_H
#define WEFT_RUNTIME_COMM_FORKDEPTH_H

#include <cstdint>

namespace weft::runtime {

/// Rises by one in every forked child.
uint32_t forkDepth();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_FORKDEPTH_H
