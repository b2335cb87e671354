//===- ConvertLoops.cpp - Loops, an iteration at a time -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a loop is walked over once for each iteration, as long as its
// condition is not known to be false. Where the condition is computed, what an
// iteration makes is selected, if the loop goes on that far:
//
//   while i < 3 and error > 0.1:  i, x, error = i + 1, f(x), g(x)
//
//   goes on 0 = error0 > 0.1                      i is 0: `i < 3` is true
//   x1 = goes on 0 ? f(x0) : x0
//   goes on 1 = goes on 0 and error1 > 0.1        i is 1, if it goes on
//   ...
//   i is 3, if it goes on that far: it does not
//
// So a counter keeps its constants, and ends the loop. It may say by other
// constants that the loop has failed, as in `i = where(failed, -1, i + 1)` with
// `i >= 0` in the condition: where the loop goes on, it is none of those.
//
//===----------------------------------------------------------------------===//

#include "Converters.h"
#include "Euclid.h"
#include "Importer.h"
#include "IntegerBounds.h"
#include "MaskedIteration.h"
#include "MicrobatchLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// The most iterations, and ops of the source, that a loop with a computed
/// condition is unrolled to: more would be compiled for minutes.
static constexpr int64_t kMostIterations = 1000;
static constexpr int64_t kMostOps = 200'000;

//===----------------------------------------------------------------------===//
// Loops over micro-batches
//===----------------------------------------------------------------------===//

/// The last op that was made in the block that is being written.
static Operation *lastOp(Conversion &c) {
  Block *block = c.builder.getBlock();
  return block->empty() ? nullptr : &block->back();
}

/// Without constants, of which an iteration may make more than another one.
static SmallVector<Operation *> opsBehind(Conversion &c, Operation *last) {
  SmallVector<Operation *> ops;
  Block *block = c.builder.getBlock();
  auto begin = last ? std::next(last->getIterator()) : block->begin();
  for (Operation &op : llvm::make_range(begin, block->end()))
    if (!isa<arith::ConstantOp>(op))
      ops.push_back(&op);
  return ops;
}

/// The values behind a loop that is one over micro-batches, if its first two
/// iterations say so.
static std::optional<Values>
importMicrobatches(Conversion &c, ArrayRef<LoopIteration> firstTwo) {
  const LoopIteration &second = firstTwo[1];
  LoopCounters counters(c, firstTwo[0].given, second.given, second.results);
  if (!counters.run())
    return std::nullopt;
  return formMicrobatches(c, firstTwo, &counters);
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

namespace {
/// Walks over the iterations of a loop.
class LoopWalk {
public:
  explicit LoopWalk(Conversion &c)
      : c(c), iterations(c, Values(c.getOperands())), given(c.getOperands()),
        opsBefore(c.getImporter().getNumOps()) {}

  /// The values behind the loop; nothing, and a problem, if it cannot be read.
  std::optional<Values> run();

private:
  std::optional<Value> importCondition(const Values &values);
  std::optional<int64_t> findCondition(const Values &values);
  std::optional<LoopIteration> importBody();
  bool giveCounters(const Values &made);
  std::nullopt_t refuse(const Twine &why);

  Conversion &c;
  MaskedIterations iterations;
  /// What a body is given, where that is a constant if the loop goes on.
  Values given;
  int64_t count = 0;
  int64_t opsBefore;
};
} // namespace

std::optional<Value> LoopWalk::importCondition(const Values &values) {
  std::optional<Values> condition = c.getImporter().importRegion(c, 0, values);
  if (!condition)
    return std::nullopt;
  if (condition->size() != 1) {
    c.malformed("its condition must be one value");
    return std::nullopt;
  }
  // A condition that could not be read has been reported.
  if (!condition->front())
    return std::nullopt;
  return condition->front();
}

/// What is known of the condition for these values.
std::optional<int64_t> LoopWalk::findCondition(const Values &values) {
  std::optional<Value> condition = importCondition(values);
  if (!condition)
    return std::nullopt;
  return isNeverTrue(*condition) ? 0 : getSplatInteger(*condition);
}

std::optional<LoopIteration> LoopWalk::importBody() {
  Operation *last = lastOp(c);
  std::optional<Values> next = c.getImporter().importRegion(c, 1, given);
  if (!next)
    return std::nullopt;
  if (next->size() != given.size()) {
    c.malformed("its body must return " + Twine(given.size()) +
                " values, got " + Twine(next->size()));
    return std::nullopt;
  }
  return LoopIteration{given, opsBehind(c, last), *next};
}

/// Adds the constants that a number is selected of. Whether it is one of a few.
static bool findChoices(Value value, SmallVectorImpl<Value> &choices) {
  constexpr size_t most = 8;
  if (value && getSplatInteger(value)) {
    choices.push_back(value);
    return choices.size() <= most;
  }
  auto select =
      value ? value.getDefiningOp<arith::SelectOp>() : arith::SelectOp();
  return select && findChoices(select.getTrueValue(), choices) &&
         findChoices(select.getFalseValue(), choices);
}

/// Sets what the next body is given. Of numbers that are selected of constants,
/// the only one under which the loop goes on. Whether such a number counts.
bool LoopWalk::giveCounters(const Values &made) {
  Values before = std::exchange(given, iterations.given());
  bool counts = false;
  for (unsigned i = 0; i < made.size(); ++i) {
    SmallVector<Value> choices;
    if (!given[i] || getSplatInteger(given[i]) || typeOf(made[i]).getRank() ||
        !findChoices(made[i], choices))
      continue;
    auto endsWith = [&](Value choice) {
      Values values = given;
      values[i] = choice;
      return findCondition(values) == 0;
    };
    // If it goes on with none, any of them says so.
    Value first = choices.front();
    llvm::erase_if(choices, endsWith);
    if (!choices.empty())
      first = choices.front();
    if (!llvm::all_of(choices, [&](Value choice) {
          return getSplatInteger(choice) == getSplatInteger(first);
        }))
      continue;
    given[i] = first;
    auto last = before[i] ? getSplatInteger(before[i]) : std::nullopt;
    counts |= last && last != getSplatInteger(given[i]);
  }
  return counts;
}

std::nullopt_t LoopWalk::refuse(const Twine &why) {
  c.getImporter().setEndless(c.getSource());
  c.unsupported(why);
  return std::nullopt;
}

std::optional<Values> LoopWalk::run() {
  constexpr StringLiteral remedy(
      ", where loops are unrolled; bound it by a smaller number, as in (i < "
      "20) & (error > tolerance) or lax.fori_loop(0, jnp.minimum(n, 20), ...); "
      "what a loop of a library finds can be computed outside and passed as an "
      "argument");
  /// Those that have been read, as long as they may be of micro-batches.
  SmallVector<LoopIteration, 2> read;
  for (;; ++count) {
    std::optional<Value> condition = importCondition(iterations.given());
    if (!condition)
      return std::nullopt;
    std::optional<int64_t> goesOn =
        isNeverTrue(*condition) ? 0 : getSplatInteger(*condition);
    if (given != iterations.given() && findCondition(given) == 0)
      goesOn = 0;
    bool isCounted = goesOn && !iterations.mayHaveEnded();
    if (goesOn && !*goesOn) {
      std::optional<Values> results;
      bool isAllRead = isCounted && static_cast<int64_t>(read.size()) == count;
      if (isAllRead && count == 1)
        results = formSingleMicrobatch(c, read[0]);
      else if (isAllRead && count > 1)
        results = formMicrobatches(c, read, nullptr);
      return results ? *results : iterations.results();
    }
    std::optional<LoopIteration> done = importBody();
    if (!done)
      return std::nullopt;
    if (isCounted && static_cast<int64_t>(read.size()) == count)
      read.push_back(*done);
    if (count == 1 && read.size() == 2) {
      if (auto results = importMicrobatches(c, read))
        return results;
      if (!mayBeMicrobatches(read[0], read[1]))
        read.clear();
    }
    bool hasCounter =
        iterations.add(goesOn ? Value() : *condition, done->results);
    hasCounter |= giveCounters(done->results);
    if (iterations.mayHaveEnded()) {
      if (!hasCounter || c.getImporter().isEndless(c.getSource()))
        return refuse(
            "with a condition that depends on computed values alone, where "
            "loops are unrolled; bound it by a counter that begins at a "
            "constant, as in (i < 20) & (error > tolerance), or use lax.scan "
            "or lax.fori_loop between constants, with jnp.where for steps that "
            "are not to count; what a loop of a library finds can be computed "
            "outside and passed as an argument");
      if (count >= kMostIterations)
        return refuse("with a condition that depends on computed values, and "
                      "which may hold for more than " +
                      Twine(count) + " iterations" + remedy);
      if (c.getImporter().getNumOps() - opsBefore > kMostOps)
        return refuse("with a condition that depends on computed values, and "
                      "more than " +
                      Twine(kMostOps) + " ops in its first " +
                      Twine(count + 1) + " iterations" + remedy);
    }
  }
}

static Values convertWhile(Conversion &c) {
  if (isEuclid(c.getSource()))
    return runEuclid(c);
  std::optional<Values> results = LoopWalk(c).run();
  return results.value_or(Values(c.getSource()->getNumResults()));
}

std::vector<Converter> weft::stablehlo::loopConverters() {
  // A value that could not be made may be none that the others depend on.
  constexpr bool takesNull = true;
  return {{"stablehlo.while", convertWhile, {}, takesNull}};
}
