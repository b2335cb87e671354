//===- NcclStatusPort.h - What NCCL says of a job ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread of NCCL listens at localhost:28028, or where NCCL_RAS_ADDR says, and
// knows of all processes of the job: which answer, which communicators they
// have, and how many operations each has begun. Its protocol is text: a client
// writes commands, one a line, and reads until the other side closes.
//
//   timeout 2          the answer is "OK"; so many seconds for other processes
//   verbose status     the answer is the report
//
// It may call an operation healthy that is stuck, so its report is put beside
// the runtime's own and never decides (rule N25).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLSTATUSPORT_H
#define WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLSTATUSPORT_H

#include <chrono>
#include <string>

namespace weft::runtime {

/// HOST:PORT of the status thread of this process's NCCL.
std::string ncclStatusAddress();

/// The report, or a line that says why there is none. Returns in time, whatever
/// is at the address.
std::string readNcclStatus(const std::string &address,
                           std::chrono::nanoseconds timeout);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLSTATUSPORT_H
