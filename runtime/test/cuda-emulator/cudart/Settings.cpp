//===- Settings.cpp - What the environment says of the device -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Settings.h"

#include <cstdlib>
#include <string>
#include <unistd.h>

namespace weft::emulator {

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// "hang@add:3".
static void readFault(Settings &settings) {
  const char *text = std::getenv("WEFT_EMULATOR_FAULT");
  const std::string fault = text ? text : "";
  const size_t at = fault.find('@'), colon = fault.rfind(':');
  if (at == fault.npos)
    return;
  settings.fault = fault.substr(0, at) == "lose" ? Settings::Fault::Lose
                                                 : Settings::Fault::Hang;
  settings.faultName = fault.substr(at + 1, colon - at - 1);
  if (colon != fault.npos)
    settings.faultCount = std::strtoull(fault.c_str() + colon + 1, nullptr, 10);
}

Settings Settings::fromEnvironment() {
  Settings settings;
  settings.seed = number("WEFT_EMULATOR_SEED", settings.seed);
  settings.hostThreads = static_cast<uint32_t>(
      number("WEFT_EMULATOR_THREADS", settings.hostThreads));
  settings.devices =
      static_cast<int>(number("WEFT_EMULATOR_DEVICES", settings.devices));
  settings.capability =
      static_cast<int>(number("WEFT_EMULATOR_CAPABILITY", settings.capability));
  settings.tracesWork = number("WEFT_EMULATOR_TRACE", 0) != 0;
  const char *checks = std::getenv("WEFT_EMULATOR_CHECKS");
  std::string list = checks ? checks : "";
  settings.findRaces = list.find("races") != list.npos;
  settings.findUninitialized = list.find("uninitialized") != list.npos;
  settings.countTraffic = list.find("traffic") != list.npos;
  settings.memoryBytes = number("WEFT_EMULATOR_MEMORY", settings.memoryBytes);
  settings.uuid = static_cast<uint32_t>(
      number("WEFT_EMULATOR_UUID", static_cast<uint64_t>(getpid())));
  readFault(settings);
  return settings;
}

} // namespace weft::emulator
