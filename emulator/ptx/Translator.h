//===- Translator.h - From PTX to what is executed --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls are copied into their callers, so that a program has one list of
// operations and one set of registers. Parameters of functions and results are
// local memory.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_TRANSLATOR_H
#define WEFT_EMULATOR_PTX_TRANSLATOR_H

#include "Emitter.h"
#include "RegisterTable.h"

#include <map>
#include <set>
#include <string>

namespace weft::emulator {

/// Addresses of the variables of a module in device memory.
using SymbolAddresses = std::map<std::string, uint64_t>;

/// Makes the program of an entry. Throws PtxError.
Program translate(const Module &module, const Function &entry,
                  const SymbolAddresses &addresses);

/// What a name means as an address.
struct Place {
  Space space;
  Preload base;
};

class Translator {
public:
  Translator(const Module &module, const Function &entry,
             const SymbolAddresses &addresses);
  Program run();

  RegisterTable registers;

  /// The register of a name in the function at hand, or of a special register.
  Value registerNamed(const std::string &name, uint32_t line);
  Place placeOf(const std::string &name, uint32_t line);
  Op &append(Handler handler, uint32_t line);

private:
  struct Frame {
    const Function *function;
    std::map<std::string, Value> values;
    std::map<std::string, Place> places;
    std::map<std::string, uint32_t> positions;
    /// Operations that go to a label, and tables of labels.
    std::vector<std::pair<size_t, std::string>> branches;
    std::vector<std::pair<size_t, std::string>> tables;
    /// Operations that leave the function.
    std::vector<size_t> returns;
  };

  void layOutModule();
  void declareVariables(Frame &frame);
  void translateFunction(Frame &frame);
  void translateStatement(const Statement &statement);
  bool translateFlow(const Statement &statement, Emitter &emitter);
  void translateCall(const Statement &statement);
  void resolveLabels(Frame &frame);
  uint32_t label(const Frame &frame, const std::string &name,
                 uint32_t line) const;

  const Module &module;
  const Function &entry;
  const SymbolAddresses &addresses;
  Program program;
  /// Addresses of the module's shared variables.
  std::map<std::string, Place> shared;
  Frame *frame = nullptr;
  std::set<const Function *> callers;
  const Statement *statement = nullptr;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_TRANSLATOR_H
