//===- Diagnostics.cpp - What the compiler said, as data ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace weft {

static const char *nameOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Remark:
    return "remark";
  case DiagnosticSeverity::Note:
    return "note";
  }
  return "error";
}

static void setLocation(Message &message, Location location) {
  location->walk([&](Location inner) {
    auto position = dyn_cast<FileLineColLoc>(inner);
    if (!position)
      return WalkResult::advance();
    message.file = position.getFilename().str();
    message.line = position.getLine();
    message.column = position.getColumn();
    return WalkResult::interrupt();
  });
}

Message toMessage(const Diagnostic &diagnostic) {
  Message message;
  message.severity = nameOf(diagnostic.getSeverity());
  message.text = diagnostic.str();
  setLocation(message, diagnostic.getLocation());
  for (const Diagnostic &note : diagnostic.getNotes())
    message.notes.push_back(toMessage(note));
  return message;
}

MessageCollector::MessageCollector(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        messages.push_back(toMessage(diagnostic));
        return success();
      }) {}

} // namespace weft
