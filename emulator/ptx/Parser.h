//===- Parser.h - Reads PTX -------------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_PARSER_H
#define WEFT_EMULATOR_PTX_PARSER_H

#include "Source.h"

#include <string_view>

namespace weft::emulator {

/// Reads the text of a PTX module. Throws PtxError.
Module parseModule(std::string_view text);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_PARSER_H
