//===- Diagnostics.h - What the compiler said, as data ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects the diagnostics of a context. Whoever prints them, in an exception
// say, wants the location, the text and the notes apart.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PYTHON_SRC_COMPILER_DIAGNOSTICS_H
#define WEFT_PYTHON_SRC_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace weft {

struct Message {
  /// "error", "warning", "remark" or "note".
  std::string severity;
  std::string text;
  /// The first source position of the location; empty and 0 if it has none.
  std::string file;
  unsigned line = 0, column = 0;
  std::vector<Message> notes;
};

Message toMessage(const mlir::Diagnostic &diagnostic);

/// Collects while it lives; nothing is printed.
class MessageCollector {
public:
  explicit MessageCollector(mlir::MLIRContext &context);

  std::vector<Message> messages;

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace weft

#endif // WEFT_PYTHON_SRC_COMPILER_DIAGNOSTICS_H
