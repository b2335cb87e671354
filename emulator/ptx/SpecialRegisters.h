//===- SpecialRegisters.h - %tid.x and its like -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_SPECIALREGISTERS_H
#define WEFT_EMULATOR_PTX_SPECIALREGISTERS_H

#include "Program.h"

#include <optional>
#include <string_view>

namespace weft::emulator {

/// What the special register `name` is filled with, if it is one.
std::optional<Preload> specialRegister(std::string_view name);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_SPECIALREGISTERS_H
