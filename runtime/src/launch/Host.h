//===- Host.h - Which host a process is on ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_HOST_H
#define WEFT_RUNTIME_SRC_LAUNCH_HOST_H

#include <string>

namespace weft::runtime {

/// The host's name, and what tells two hosts with one name apart; of one line.
std::string hostIdentity();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_HOST_H
