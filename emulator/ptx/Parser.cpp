//===- Parser.cpp - Reads PTX ---------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parser.h"
#include "FunctionParser.h"

namespace weft::emulator {
namespace {

class ModuleParser {
public:
  explicit ModuleParser(std::string_view text) : tokens(text) {}

  Module run() {
    while (!tokens.atEnd())
      item();
    if (module.target.empty())
      tokens.fail("expected the directive '.target'");
    return std::move(module);
  }

private:
  void item() {
    uint32_t line = tokens.line();
    std::string name = tokens.word();
    if (name == ".visible" || name == ".weak" || name == ".extern" ||
        name == ".common")
      return;
    if (name == ".target") {
      module.target = tokens.word();
      while (tokens.accept(","))
        tokens.word();
    } else if (name == ".version") {
      tokens.integer();
      tokens.word();
    } else if (name == ".address_size") {
      if (tokens.integer() != 64)
        throw PtxError(line, "addresses have 64 bits");
    } else if (name == ".file" || name == ".loc") {
      tokens.skipLine();
    } else if (name == ".section") {
      tokens.word();
      tokens.skipBlock();
    } else if (name == ".global" || name == ".const" || name == ".shared") {
      variables(name == ".global"  ? Space::Global
                : name == ".const" ? Space::Constant
                                   : Space::Shared);
    } else if (name == ".entry" || name == ".func") {
      function(name == ".entry", line);
    } else {
      throw PtxError(line, "unknown directive '" + name + "'");
    }
  }

  void variables(Space space) {
    parseVariables(tokens, space, module.variables);
    tokens.expect(";");
  }

  std::vector<Variable> parameters() {
    std::vector<Variable> result;
    while (!tokens.accept(")")) {
      tokens.expect(".param");
      parseVariables(tokens, Space::Parameter, result);
      tokens.accept(",");
    }
    return result;
  }

  void function(bool isEntry, uint32_t line) {
    Function function;
    function.line = line;
    function.isEntry = isEntry;
    if (tokens.accept("("))
      function.results = parameters();
    function.name = tokens.word();
    if (tokens.accept("("))
      function.parameters = parameters();
    while (!tokens.is("{") && !tokens.accept(";"))
      attribute();
    if (tokens.is("{")) {
      function.hasBody = true;
      parseBody(tokens, function);
    }
    Function &known = module.functions[function.name];
    if (known.hasBody && function.hasBody)
      throw PtxError(line, "'" + function.name + "' is there twice");
    if (!known.hasBody)
      known = std::move(function);
  }

  /// `.maxntid 256, 1, 1`: promises to ptxas, which mean nothing here.
  void attribute() {
    std::string name = tokens.word();
    if (name != ".maxntid" && name != ".reqntid" && name != ".minnctapersm" &&
        name != ".maxnreg" && name != ".noreturn" && name != ".maxclusterrank")
      throw PtxError(tokens.line(), "unknown directive '" + name + "'");
    while (tokens.peek().kind == Token::Kind::Integer) {
      tokens.next();
      tokens.accept(",");
    }
  }

  TokenStream tokens;
  Module module;
};

} // namespace

Module parseModule(std::string_view text) { return ModuleParser(text).run(); }

} // namespace weft::emulator
