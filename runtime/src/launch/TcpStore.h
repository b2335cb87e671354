//===- TcpStore.h - A store at a port of the host of rank 0 -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_TCPSTORE_H
#define WEFT_RUNTIME_SRC_LAUNCH_TCPSTORE_H

#include "launch/Store.h"
#include "weft/runtime/Launch.h"

#include <memory>

namespace weft::runtime {

/// Rank 0 listens on the first free port of the meeting point; the others try
/// its ports in turn until the store of their job answers or `timeout` passes.
/// Rank 0 is silent when an answer takes longer than `silence`.
Result<std::unique_ptr<Store>>
connectTcpStore(const Launch &launch, std::chrono::nanoseconds timeout,
                std::chrono::nanoseconds silence);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_TCPSTORE_H
