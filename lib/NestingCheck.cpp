//===- NestingCheck.cpp - Text that a parser can recurse into -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestingCheck.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using llvm::StringRef;

/// Programs nest a handful of brackets; the parser's frames of a region, the
/// largest, fit a stack of 1 MiB more often than this.
static constexpr int maxDepth = 512;

/// Index of the first bracket beyond the limit, or npos. Strings and comments
/// are passed over, and so is `->`.
static size_t findTooDeep(StringRef text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '"':
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      break;
    case '/':
      if (text.substr(i).starts_with("//"))
        i = text.find('\n', i);
      if (i == StringRef::npos)
        return StringRef::npos;
      break;
    case '-':
      i += text.substr(i).starts_with("->");
      break;
    case '(':
    case '[':
    case '{':
    case '<':
      if (++depth > maxDepth)
        return i;
      break;
    case ')':
    case ']':
    case '}':
    case '>':
      --depth;
      break;
    default:
      break;
    }
  }
  return StringRef::npos;
}

LogicalResult weft::checkNesting(StringRef text, StringRef name,
                                 MLIRContext &context) {
  size_t offset = findTooDeep(text);
  if (offset == StringRef::npos)
    return success();
  StringRef before = text.take_front(offset);
  size_t column = offset - (before.rfind('\n') + 1) + 1;
  return emitError(FileLineColLoc::get(&context, name, before.count('\n') + 1,
                                       column))
         << "brackets are nested more than " << maxDepth
         << " deep; write what is nested as ops of one function";
}
