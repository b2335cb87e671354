//===- Translator.cpp - From PTX to what is executed ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Translator.h"
#include "Error.h"
#include "SpecialRegisters.h"

namespace weft::emulator {

static const InstructionTable &instructions() {
  static const InstructionTable table = [] {
    InstructionTable result;
    addArithmetic(result);
    addIntegerArithmetic(result);
    addTranscendental(result);
    addBits(result);
    addComparison(result);
    addMoves(result);
    addConversion(result);
    addMemoryAccess(result);
    addAtomics(result);
    addWarp(result);
    return result;
  }();
  return table;
}

static uint32_t aligned(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

static Preload preload(Preload::Kind kind, uint64_t value) {
  Preload result;
  result.kind = kind;
  result.size = 8;
  result.value = value;
  return result;
}

Translator::Translator(const Module &module, const Function &entry,
                       const SymbolAddresses &addresses)
    : module(module), entry(entry), addresses(addresses) {
  program.name = entry.name;
}

Program Translator::run() {
  layOutModule();
  Frame top{};
  top.function = &entry;
  for (const Variable &variable : entry.parameters) {
    program.parameterBytes =
        aligned(program.parameterBytes, variable.alignment);
    program.parameters.push_back({program.parameterBytes, variable.size});
    top.places[variable.name] = {
        Space::Parameter,
        preload(Preload::Kind::Parameter, program.parameterBytes)};
    program.parameterBytes += variable.size;
  }
  translateFunction(top);
  for (size_t index : top.returns)
    program.code[index].flow = Op::Flow::Exit;
  // A kernel may end without `ret`.
  statement = nullptr;
  append(nullptr, entry.line).flow = Op::Flow::Exit;
  registers.allocate(program);
  return std::move(program);
}

/// Shared variables of the module, of which a kernel gets all.
void Translator::layOutModule() {
  for (const Variable &variable : module.variables) {
    if (variable.space != Space::Shared)
      continue;
    if (variable.size == 0) {
      shared[variable.name] = {Space::Shared,
                               preload(Preload::Kind::DynamicSharedBegin, 0)};
      continue;
    }
    uint32_t offset = aligned(program.sharedBytes, variable.alignment);
    shared[variable.name] = {Space::Shared,
                             preload(Preload::Kind::Value, offset)};
    program.sharedBytes = offset + variable.size;
  }
}

void Translator::declareVariables(Frame &target) {
  for (const Variable &variable : target.function->variables) {
    bool isShared = variable.space == Space::Shared;
    if (isShared && variable.size == 0) {
      target.places[variable.name] = {
          Space::Shared, preload(Preload::Kind::DynamicSharedBegin, 0)};
      continue;
    }
    uint32_t &end = isShared ? program.sharedBytes : program.localBytes;
    uint32_t offset = aligned(end, variable.alignment);
    end = offset + variable.size;
    target.places[variable.name] = {isShared ? Space::Shared : Space::Local,
                                    preload(Preload::Kind::Value, offset)};
  }
}

Value Translator::registerNamed(const std::string &name, uint32_t line) {
  if (auto found = frame->values.find(name); found != frame->values.end())
    return found->second;
  auto declared = frame->function->registers.find(name);
  if (declared == frame->function->registers.end()) {
    if (auto special = specialRegister(name))
      return registers.preloaded(*special);
    throw PtxError(line, "unknown register '" + name + "'");
  }
  uint32_t size = declared->second == Type::Pred
                      ? 0
                      : std::max(sizeOf(declared->second), 2u);
  return frame->values[name] = registers.add(size);
}

Place Translator::placeOf(const std::string &name, uint32_t line) {
  if (auto found = frame->places.find(name); found != frame->places.end())
    return found->second;
  if (auto found = shared.find(name); found != shared.end())
    return found->second;
  if (auto found = addresses.find(name); found != addresses.end()) {
    for (const Variable &variable : module.variables)
      if (variable.name == name)
        return {variable.space, preload(Preload::Kind::Value, found->second)};
  }
  throw PtxError(line, "unknown name '" + name + "'");
}

Op &Translator::append(Handler handler, uint32_t line) {
  Op &op = program.code.emplace_back();
  op.run = handler;
  op.line = line;
  if (statement && !statement->guard.empty()) {
    Value guard = registerNamed(statement->guard, line);
    if (registers.size(guard) != 0)
      throw PtxError(line, "'" + statement->guard + "' is no predicate");
    op.guard = guard.index;
    op.guardNegated = statement->guardNegated;
  }
  return op;
}

void Translator::translateFunction(Frame &next) {
  if (!callers.insert(next.function).second)
    throw PtxError(next.function->line,
                   "'" + next.function->name + "' calls itself");
  Frame *caller = frame;
  frame = &next;
  declareVariables(next);
  size_t index = 0;
  std::multimap<size_t, std::string> names;
  for (const auto &[name, at] : next.function->labels)
    names.emplace(at, name);
  auto labels = [&] {
    for (auto [at, end] = names.equal_range(index); at != end; ++at)
      next.positions[at->second] = program.code.size();
  };
  for (const Statement &current : next.function->statements) {
    labels();
    translateStatement(current);
    ++index;
  }
  labels();
  resolveLabels(next);
  frame = caller;
  callers.erase(next.function);
}

void Translator::translateStatement(const Statement &current) {
  statement = &current;
  Emitter emitter(*this, current);
  if (translateFlow(current, emitter))
    return;
  auto instruction = instructions().find(current.opcode);
  if (instruction == instructions().end())
    throw PtxError(current.line,
                   "unknown instruction '" + current.opcode + "'");
  instruction->second(emitter);
  emitter.modifiers.finish(current.opcode);
}

bool Translator::translateFlow(const Statement &current, Emitter &emitter) {
  uint32_t line = current.line;
  if (current.opcode == "bra") {
    frame->branches.push_back({program.code.size(), emitter.operand(0).name});
    append(nullptr, line).flow = Op::Flow::Branch;
  } else if (current.opcode == "brx") {
    Value index = emitter.read(emitter.operand(0), Type::U32);
    frame->tables.push_back({program.code.size(), emitter.operand(1).name});
    emitter.emit(nullptr, {}, {index}).flow = Op::Flow::BranchTable;
  } else if (current.opcode == "ret") {
    frame->returns.push_back(program.code.size());
    append(nullptr, line).flow = Op::Flow::Branch;
  } else if (current.opcode == "exit") {
    append(nullptr, line).flow = Op::Flow::Exit;
  } else if (current.opcode == "call") {
    translateCall(current);
  } else {
    return false;
  }
  return true;
}

/// `call (results), function, (parameters);`
void Translator::translateCall(const Statement &current) {
  if (!current.guard.empty())
    throw PtxError(current.line, "'call' with a predicate is not known");
  std::vector<const Operand *> lists;
  std::string name;
  for (const Operand &operand : current.operands)
    if (operand.kind == Operand::Kind::Symbol && name.empty())
      name = operand.name;
    else
      lists.push_back(&operand);
  auto found = module.functions.find(name);
  if (found == module.functions.end() || !found->second.hasBody)
    throw PtxError(current.line, "'call' of '" + name +
                                     "', which this module does not define");
  const Function &callee = found->second;
  Frame inner{};
  inner.function = &callee;
  size_t list = 0;
  // The callee's names for what the caller has made room for.
  for (const std::vector<Variable> *names :
       {&callee.results, &callee.parameters}) {
    if (names->empty())
      continue;
    if (list >= lists.size() || lists[list]->items.size() != names->size())
      throw PtxError(current.line, "'call' of '" + name +
                                       "' with other arguments than it has");
    for (size_t i = 0; i < names->size(); ++i)
      inner.places[(*names)[i].name] =
          placeOf(lists[list]->items[i].name, current.line);
    ++list;
  }
  translateFunction(inner);
  statement = &current;
  for (size_t index : inner.returns)
    program.code[index].target = program.code.size();
  // Somewhere to return to, also at the end of a block.
  append(nullptr, current.line);
}

uint32_t Translator::label(const Frame &where, const std::string &name,
                           uint32_t line) const {
  auto found = where.positions.find(name);
  if (found == where.positions.end())
    throw PtxError(line, "unknown label '" + name + "'");
  return found->second;
}

void Translator::resolveLabels(Frame &where) {
  for (const auto &[index, name] : where.branches)
    program.code[index].target = label(where, name, program.code[index].line);
  for (const auto &[index, name] : where.tables) {
    Op &op = program.code[index];
    auto table = where.function->branchTables.find(name);
    if (table == where.function->branchTables.end())
      throw PtxError(op.line, "unknown branch targets '" + name + "'");
    op.immediate = program.branchTables.size();
    std::vector<uint32_t> &targets = program.branchTables.emplace_back();
    for (const std::string &target : table->second)
      targets.push_back(label(where, target, op.line));
  }
}

Program translate(const Module &module, const Function &entry,
                  const SymbolAddresses &addresses) {
  return Translator(module, entry, addresses).run();
}

} // namespace weft::emulator
