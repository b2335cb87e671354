//===- Scanner.h - Reads the text of opaque attributes ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes of dialects that are not registered are text. A Scanner walks
// over it, skipping blanks before every token.
//
// Example:
//
//   Scanner scanner("dims = [0, 2]");
//   scanner.consume("dims"), scanner.consume("=");
//   scanner.integers();                              // {0, 2}
//   scanner.atEnd();                                 // true
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_SCANNER_H
#define WEFT_LIB_IMPORT_SCANNER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace weft::stablehlo {

class Scanner {
public:
  explicit Scanner(llvm::StringRef text) : rest(text) {}

  /// Takes `token` if it comes next.
  bool consume(llvm::StringRef token);
  bool atEnd();

  /// `DEFAULT`, `lhs_batching_dimensions`: letters, digits and underscores.
  std::optional<llvm::StringRef> word();
  std::optional<int64_t> integer();
  /// `[0, 2]`
  std::optional<llvm::SmallVector<int64_t>> integers();
  /// `"data"`, with escapes resolved.
  std::optional<std::string> string();

private:
  llvm::StringRef rest;
};

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_SCANNER_H
