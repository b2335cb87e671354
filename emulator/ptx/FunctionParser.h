//===- FunctionParser.h - Reads the body of a PTX function ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_FUNCTIONPARSER_H
#define WEFT_EMULATOR_PTX_FUNCTIONPARSER_H

#include "Source.h"
#include "TokenStream.h"

namespace weft::emulator {

/// Reads `.align 4 .b8 name[24] = {...}`, behind the space; several names are
/// several variables. Appends to `variables`.
void parseVariables(TokenStream &tokens, Space space,
                    std::vector<Variable> &variables);

/// Reads what stands between the braces of `function`.
void parseBody(TokenStream &tokens, Function &function);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_FUNCTIONPARSER_H
