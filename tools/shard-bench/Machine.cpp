//===- Machine.cpp - What the system says of this machine -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fit.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace weft::tools {

/// Without what would end a string of TOML.
static std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos)
      continue;
    std::string name = line.substr(colon + 2);
    std::erase_if(name, [](char c) { return c == '"' || c == '\\'; });
    return name;
  }
  return "CPU";
}

Machine thisMachine() {
  Machine machine;
  machine.processor = processorName();
  machine.cores =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  machine.memoryBytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<double>(sysconf(_SC_PAGE_SIZE));
  (void)getloadavg(&machine.load, 1);
  return machine;
}

} // namespace weft::tools
