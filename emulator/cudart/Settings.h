//===- Settings.h - What the environment says of the device -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   WEFT_EMULATOR_SEED        decides every order that CUDA leaves open (0)
//   WEFT_EMULATOR_THREADS     threads of the host that blocks run on (2)
//   WEFT_EMULATOR_DEVICES     number of devices (1)
//   WEFT_EMULATOR_CAPABILITY  compute capability, 90 for 9.0 (90)
//   WEFT_EMULATOR_CHECKS      races, uninitialized and traffic, with commas
//   WEFT_EMULATOR_TRACE       1: standard error gets a line for all work (0)
//   WEFT_EMULATOR_MEMORY      bytes of a device (those of an H200)
//   WEFT_EMULATOR_UUID        a number for the devices of several processes to
//                             be the same (each process has its own)
//   WEFT_EMULATOR_FAULT       hang@NAME:N or lose@NAME:N, without :N the first
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_CUDART_SETTINGS_H
#define WEFT_EMULATOR_CUDART_SETTINGS_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::emulator {

struct Settings {
  uint64_t seed = 0;
  uint32_t hostThreads = 2;
  int devices = 1;
  int capability = 90;
  /// Most shared memory that a block can have, by capability.
  uint32_t sharedOptInLimit() const;
  bool findRaces = false, findUninitialized = false, countTraffic = false;
  bool tracesWork = false;
  /// In the N-th work of the name the device hangs, or is lost.
  enum class Fault { None, Hang, Lose } fault = Fault::None;
  std::string faultName;
  uint64_t faultCount = 1;
  /// What is wrong with the variables: without it a test would pass that
  /// misspells its fault.
  std::string problem;
  /// Of an H200; only what is touched is allocated.
  size_t memoryBytes = size_t(141) << 30;
  /// What the identity of devices begins with.
  uint32_t uuid = 0;

  static Settings fromEnvironment();
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_CUDART_SETTINGS_H
