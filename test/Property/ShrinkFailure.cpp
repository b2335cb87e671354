//===- ShrinkFailure.cpp - A smaller program that still fails -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckProgram.h"

#include <set>

using namespace weft;
using namespace weft::test;

namespace {

/// Tries one change after the other and keeps those under which the program
/// still fails, until none does or the budget is spent.
class Shrinker {
public:
  Shrinker(Program program, const Setting &setting, Failure::Kind kind)
      : program(std::move(program)), setting(setting), kind(kind) {}

  Program shrink() {
    for (bool changed = true; changed && budget > 0;) {
      changed = false;
      for (size_t i = 0; i < program.results.size(); ++i)
        changed |= keepOnlyResult(i);
      for (size_t i = program.steps.size(); i-- > 0;)
        if (i < program.steps.size())
          changed |= dropConstraint(i) || makeArgument(i);
      for (size_t i = 0; i < program.arguments.size(); ++i)
        changed |= dropSharding(program.arguments, i);
      for (size_t i = 0; i < program.results.size(); ++i)
        changed |= dropSharding(program.results, i);
    }
    return std::move(program);
  }

private:
  bool tryChange(Program changed) {
    changed.removeUnused();
    if (budget-- <= 0)
      return false;
    const std::optional<Failure> failure = checkProgram(changed, setting);
    if (!failure || failure->kind != kind)
      return false;
    program = std::move(changed);
    return true;
  }

  bool keepOnlyResult(size_t result) {
    if (program.results.size() < 2 || result >= program.results.size())
      return false;
    Program changed = program;
    changed.results = {program.results[result]};
    return tryChange(std::move(changed));
  }

  /// Lets the users of a constraint use its operand.
  bool dropConstraint(size_t step) {
    if (!program.steps[step].constraint)
      return false;
    Program changed = program;
    const Step dropped = changed.steps[step];
    changed.steps.erase(changed.steps.begin() + step);
    for (Step &user : changed.steps)
      for (int &operand : user.operands)
        if (operand == dropped.result)
          operand = dropped.operands[0];
    for (Port &port : changed.results)
      if (port.value == dropped.result)
        port.value = dropped.operands[0];
    // A result is named after its value, and may be there already.
    std::set<int> returned;
    std::erase_if(changed.results, [&](const Port &port) {
      return !returned.insert(port.value).second;
    });
    return tryChange(std::move(changed));
  }

  /// Makes an argument of the value that a step computes.
  bool makeArgument(size_t step) {
    const Step &made = program.steps[step];
    if (made.operands.empty())
      return false;
    Program changed = program;
    changed.arguments.push_back({made.result, made.constraint});
    changed.steps.erase(changed.steps.begin() + step);
    return tryChange(std::move(changed));
  }

  bool dropSharding(std::vector<Port> &ports, size_t index) {
    if (index >= ports.size() || !ports[index].sharding)
      return false;
    const bool isArgument = &ports == &program.arguments;
    Program changed = program;
    (isArgument ? changed.arguments : changed.results)[index].sharding.reset();
    return tryChange(std::move(changed));
  }

  Program program;
  const Setting &setting;
  const Failure::Kind kind;
  int budget = 300;
};

} // namespace

Program weft::test::shrinkFailure(Program program, const Setting &setting,
                                  Failure::Kind kind) {
  return Shrinker(std::move(program), setting, kind).shrink();
}
