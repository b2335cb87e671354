//===- Host.cpp - Which host a process is on --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/Host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace weft::runtime {

std::string hostIdentity() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  return fmt::format("{} {}", name, boot);
}

} // namespace weft::runtime
