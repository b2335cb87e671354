//===- Settings.cpp - What the environment says of the device -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Settings.h"

#include <algorithm>
#include <cctype>
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
  if (fault.empty())
    return;
  const size_t at = fault.find('@');
  const size_t colon = std::min(fault.find(':', at), fault.size());
  const std::string kind = fault.substr(0, at);
  if (at != fault.npos)
    settings.faultName = fault.substr(at + 1, colon - at - 1);
  const char *count = fault.c_str() + std::min(colon + 1, fault.size());
  char *end = nullptr;
  if (colon != fault.size())
    settings.faultCount = std::strtoull(count, &end, 10);
  const bool isCounted =
      colon == fault.size() ||
      (std::isdigit(*count) && *end == '\0' && settings.faultCount > 0);
  if ((kind != "hang" && kind != "lose") || settings.faultName.empty() ||
      !isCounted)
    settings.problem = "WEFT_EMULATOR_FAULT is \"" + fault +
                       "\", must be hang@NAME:N or lose@NAME:N, N from 1";
  settings.fault =
      kind == "lose" ? Settings::Fault::Lose : Settings::Fault::Hang;
}

uint32_t Settings::sharedOptInLimit() const {
  switch (capability) {
  case 80:
  case 87:
    return 163 << 10;
  case 86:
  case 89:
  case 120:
  case 121:
    return 99 << 10;
  default:
    return 227 << 10;
  }
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
