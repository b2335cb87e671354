//===- FunctionParser.cpp - Reads the body of a PTX function --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionParser.h"

#include <map>

namespace weft::emulator {
namespace {

class BodyParser {
public:
  BodyParser(TokenStream &tokens, Function &function)
      : tokens(tokens), function(function) {}

  void run() {
    tokens.expect("{");
    scopes.emplace_back();
    while (!scopes.empty()) {
      if (tokens.atEnd())
        tokens.fail("a function does not end");
      item();
    }
  }

private:
  void item() {
    if (tokens.accept("{")) {
      scopes.emplace_back();
    } else if (tokens.accept("}")) {
      scopes.pop_back();
    } else if (tokens.is(".loc") || tokens.is(".file")) {
      tokens.skipLine();
    } else if (tokens.is("@") || tokens.peek().text.front() != '.') {
      labelOrStatement();
    } else {
      directive();
    }
  }

  void directive() {
    std::string name = tokens.word();
    if (name == ".reg")
      registers();
    else if (name == ".shared")
      variables(Space::Shared);
    else if (name == ".local")
      variables(Space::Local);
    else if (name == ".param")
      variables(Space::Parameter);
    else if (name == ".pragma")
      tokens.next();
    else
      throw PtxError(tokens.line(), "unknown directive '" + name + "'");
    tokens.expect(";");
  }

  /// Gives `name` a meaning in the innermost scope; returns the name of its
  /// own, which differs from others' that are called the same.
  std::string declare(const std::string &name) {
    std::string unique = name;
    for (int i = 1; !declared.emplace(unique, 0).second; ++i)
      unique = name + "@" + std::to_string(i);
    scopes.back()[name] = unique;
    return unique;
  }

  std::string resolve(const std::string &name) const {
    for (size_t i = scopes.size(); i-- > 0;)
      if (auto found = scopes[i].find(name); found != scopes[i].end())
        return found->second;
    return name;
  }

  void registers() {
    std::string directive = tokens.word();
    auto type = parseType(directive.substr(1));
    if (!type)
      throw PtxError(tokens.line(), "unknown type '" + directive + "'");
    do {
      std::string name = tokens.word();
      if (!tokens.accept("<")) {
        function.registers[declare(name)] = *type;
        continue;
      }
      uint64_t count = tokens.integer();
      tokens.expect(">");
      for (uint64_t i = 0; i < count; ++i)
        function.registers[declare(name + std::to_string(i))] = *type;
    } while (tokens.accept(","));
  }

  void variables(Space space) {
    size_t first = function.variables.size();
    parseVariables(tokens, space, function.variables);
    for (size_t i = first; i < function.variables.size(); ++i)
      function.variables[i].name = declare(function.variables[i].name);
  }

  void labelOrStatement() {
    Statement statement;
    statement.line = tokens.line();
    if (tokens.accept("@")) {
      statement.guardNegated = tokens.accept("!");
      statement.guard = resolve(tokens.word());
    }
    std::string text = tokens.word();
    if (statement.guard.empty() && tokens.accept(":")) {
      label(text);
      return;
    }
    splitOpcode(text, statement);
    while (!tokens.accept(";")) {
      statement.operands.push_back(pairOrOperand());
      if (!tokens.is(";"))
        tokens.expect(",");
    }
    function.statements.push_back(std::move(statement));
  }

  void label(const std::string &name) {
    if (tokens.accept(".branchtargets")) {
      std::vector<std::string> &targets = function.branchTables[name];
      do
        targets.push_back(tokens.word());
      while (tokens.accept(","));
      tokens.expect(";");
      return;
    }
    if (!function.labels.emplace(name, function.statements.size()).second)
      throw PtxError(tokens.line(), "the label '" + name + "' is there twice");
  }

  static void splitOpcode(const std::string &text, Statement &statement) {
    size_t begin = text.find('.');
    statement.opcode = text.substr(0, begin);
    while (begin != text.npos) {
      size_t end = text.find('.', begin + 1);
      statement.modifiers.push_back(text.substr(begin + 1, end - begin - 1));
      begin = end;
    }
  }

  Operand pairOrOperand() {
    Operand first = operand();
    if (!tokens.accept("|"))
      return first;
    Operand pair;
    pair.kind = Operand::Kind::List;
    pair.items.push_back(std::move(first));
    pair.items.push_back(operand());
    return pair;
  }

  Operand list(std::string_view end) {
    Operand result;
    result.kind = Operand::Kind::List;
    while (!tokens.accept(end)) {
      result.items.push_back(operand());
      tokens.accept(",");
    }
    return result;
  }

  Operand operand() {
    if (tokens.accept("{"))
      return list("}");
    if (tokens.accept("("))
      return list(")");
    Operand result;
    if (tokens.accept("[")) {
      result.kind = Operand::Kind::Address;
      result.items.push_back(operand());
      // A register's offset; that of a symbol is its operand's own.
      result.offset = sum();
      tokens.expect("]");
      return result;
    }
    result.negated = tokens.accept("!");
    bool minus = tokens.accept("-");
    const Token &token = tokens.peek();
    switch (token.kind) {
    case Token::Kind::Integer:
      result.kind = Operand::Kind::Integer;
      result.value = minus ? -tokens.next().value : tokens.next().value;
      return result;
    case Token::Kind::Float:
      result.kind = Operand::Kind::Float;
      result.value = tokens.next().value;
      return result;
    case Token::Kind::Word:
      break;
    default:
      tokens.fail("expected an operand");
    }
    result.name = resolve(tokens.word());
    if (result.name == "_") {
      result.kind = Operand::Kind::Sink;
    } else if (result.name.front() == '%') {
      result.kind = Operand::Kind::Register;
    } else if (function.registers.contains(result.name)) {
      result.kind = Operand::Kind::Register;
    } else {
      result.kind = Operand::Kind::Symbol;
      result.offset = sum();
    }
    return result;
  }

  /// `+8`, `+-8`, `-8` or nothing.
  int64_t sum() {
    bool plus = tokens.accept("+"), minus = tokens.accept("-");
    if (!plus && !minus)
      return 0;
    auto value = static_cast<int64_t>(tokens.integer());
    return minus ? -value : value;
  }

  TokenStream &tokens;
  Function &function;
  std::vector<std::map<std::string, std::string>> scopes;
  std::map<std::string, int> declared;
};

} // namespace

void parseBody(TokenStream &tokens, Function &function) {
  BodyParser(tokens, function).run();
}

} // namespace weft::emulator
