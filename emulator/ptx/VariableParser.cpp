//===- VariableParser.cpp - Reads declarations of PTX variables -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionParser.h"

namespace weft::emulator {

static Initial parseInitial(TokenStream &tokens) {
  if (tokens.peek().kind == Token::Kind::Word) {
    std::string name = tokens.word();
    if (name == "generic") {
      tokens.expect("(");
      name = tokens.word();
      tokens.expect(")");
    }
    Initial result{0, name};
    if (tokens.accept("+"))
      result.bits = tokens.integer();
    return result;
  }
  bool negative = tokens.accept("-");
  if (tokens.peek().kind == Token::Kind::Float)
    return {tokens.next().value, {}};
  uint64_t value = tokens.integer();
  return {negative ? -value : value, {}};
}

/// `{1, 2, {3, 4}}` or one element.
static void parseInitials(TokenStream &tokens, std::vector<Initial> &out) {
  if (!tokens.accept("{")) {
    out.push_back(parseInitial(tokens));
    return;
  }
  while (!tokens.accept("}")) {
    parseInitials(tokens, out);
    tokens.accept(",");
  }
}

void parseVariables(TokenStream &tokens, Space space,
                    std::vector<Variable> &variables) {
  Variable shared;
  shared.space = space;
  uint64_t lanes = 1, alignment = 0;
  bool hasType = false;
  while (tokens.peek().kind == Token::Kind::Word &&
         tokens.peek().text.front() == '.') {
    std::string directive = tokens.word();
    if (directive == ".align") {
      // The second alignment of `.u64 .ptr .global .align 16` is that of what
      // the pointer points to.
      uint64_t value = tokens.integer();
      if (!hasType)
        alignment = value;
    } else if (directive == ".v2" || directive == ".v4") {
      lanes = directive == ".v2" ? 2 : 4;
    } else if (directive == ".ptr" || directive == ".global" ||
               directive == ".const" || directive == ".shared" ||
               directive == ".local") {
      continue;
    } else if (auto type = parseType(directive.substr(1))) {
      shared.type = *type;
      hasType = true;
    } else {
      throw PtxError(tokens.line(), "unknown directive '" + directive + "'");
    }
  }
  if (!hasType)
    tokens.fail("expected the type of a variable");
  uint64_t element = sizeOf(shared.type) * lanes;
  do {
    Variable variable = shared;
    variable.line = tokens.line();
    variable.name = tokens.word();
    variable.alignment = alignment ? alignment : element;
    variable.size = element;
    while (tokens.accept("[")) {
      variable.size *= tokens.is("]") ? 0 : tokens.integer();
      tokens.expect("]");
    }
    if (tokens.accept("="))
      parseInitials(tokens, variable.initial);
    variables.push_back(std::move(variable));
  } while (space != Space::Parameter && tokens.accept(","));
}

} // namespace weft::emulator
