//===- Error.h - What is wrong with PTX or a kernel -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulator throws inside and turns what it throws into CUDA's error codes
// at its border, the exported functions.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_ERROR_H
#define WEFT_EMULATOR_PTX_ERROR_H

#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft::emulator {

/// PTX that the emulator refuses to load.
class PtxError : public std::runtime_error {
public:
  PtxError(uint32_t line, const std::string &what)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " + what) {}
};

enum class FaultKind : uint8_t {
  IllegalAddress,
  MisalignedAddress,
  /// Threads that wait for each other in a way that never ends.
  Synchronization,
  /// Two threads touch the same bytes with nothing that orders them.
  Race,
  /// Shared memory that nobody has written is read.
  Uninitialized,
  Trap,
  Timeout,
};

/// What a kernel did wrong while it ran.
class Fault : public std::runtime_error {
public:
  Fault(FaultKind kind, const std::string &what)
      : std::runtime_error(what), kind(kind) {}
  FaultKind kind;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_ERROR_H
