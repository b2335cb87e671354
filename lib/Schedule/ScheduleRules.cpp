//===- ScheduleRules.cpp - What a schedule promises of memory -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contents of an entry and the fixed offsets of states and constants are
// what `checkArena` looks at.
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/ScheduleRules.h"
#include "EntryContents.h"

#include "weft/IR/Segments.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"
#include "weft/Schedule/ArenaPlanner.h"
#include "weft/Schedule/EntryBuffers.h"
#include "weft/Schedule/StepCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

static constexpr StringLiteral remedy = planMemoryRemedy;

static bool checkOffsets(Operation &op, FormCheck &check) {
  if (op.getNumResults() == 0)
    return true;
  auto offsets = op.getAttrOfType<DenseI64ArrayAttr>(offsetsAttrName);
  if (!offsets)
    check.error(op.getLoc())
        << op.getName() << " has no " << offsetsAttrName << remedy;
  else if (offsets.size() != op.getNumResults())
    check.error(op.getLoc())
        << op.getName() << " has " << op.getNumResults() << " results, but "
        << offsetsAttrName << " of " << offsets.size() << " elements" << remedy;
  else
    return true;
  return false;
}

/// Devices have two streams for collectives.
static void checkQueue(StartOp start, FormCheck &check) {
  Attribute attribute = start->getAttr(queueAttrName);
  auto queue = dyn_cast_if_present<IntegerAttr>(attribute);
  if (attribute && (!queue || (queue.getValue() != 0 && queue.getValue() != 1)))
    check.error(start.getLoc())
        << queueAttrName << " must be 0 or 1, got " << attribute;
}

/// Whether every value of an entry has an offset; without, nothing else can be
/// looked at.
static bool checkOffsets(func::FuncOp entry, FormCheck &check) {
  bool valid = true;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (!entry.getArgAttrOfType<IntegerAttr>(i, offsetAttrName)) {
      valid = false;
      check.error(entry.getArgument(i).getLoc())
          << "argument " << i << " of @" << entry.getSymName() << " has no "
          << offsetAttrName << remedy;
    }
  entry.getBody().walk(
      [&](Operation *op) { valid &= checkOffsets(*op, check); });
  if (entry->getAttrOfType<IntegerAttr>(arenaBytesAttrName))
    return valid;
  check.error(entry.getLoc()) << "@" << entry.getSymName() << " has no "
                              << arenaBytesAttrName << remedy;
  return false;
}

//===----------------------------------------------------------------------===//
// What all entries share
//===----------------------------------------------------------------------===//

namespace {

/// An offset that is the same in all entries: of a state, or of a constant.
struct FixedBuffer {
  std::string name;
  int64_t offset, bytes;
};

struct FixedBuffers {
  llvm::MapVector<StringRef, FixedBuffer> states;
  llvm::MapVector<std::pair<Attribute, int64_t>, FixedBuffer> constants;
  /// Names of states, which outlive the module's attributes nowhere.
  llvm::StringSet<> names;
};

} // namespace

static std::string quoted(StringRef name) { return ("\"" + name + "\"").str(); }

/// Adds the offset of a state's occurrence; all of them have one.
static void addState(FixedBuffers &shared, StringRef name, Value value,
                     DictionaryAttr attrs, const Twine &what, Location loc,
                     FormCheck &check) {
  auto known = shared.names.find(name);
  if (known == shared.names.end())
    return;
  auto [it, isNew] =
      shared.states.insert({known->getKey(),
                            {quoted(name), getOffset(value),
                             slotsOf(attrs) * alignedBytes(bytesOf(value))}});
  if (!isNew && it->second.offset != getOffset(value))
    check.error(loc) << "state " << quoted(name)
                     << " must have one offset in all entries, got "
                     << getOffset(value) << " as " << what << " and "
                     << it->second.offset << " before" << remedy;
}

/// The names that are both arguments and results, and all of segments.
static void findStateNames(ArrayRef<func::FuncOp> entries,
                           FixedBuffers &shared) {
  llvm::StringSet<> arguments;
  for (func::FuncOp entry : entries)
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      arguments.insert(getArgumentName(entry, i));
  for (func::FuncOp entry : entries)
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      if (std::string name = getResultName(entry, i);
          arguments.contains(name) || getSegment(entry))
        shared.names.insert(name);
  for (func::FuncOp entry : entries)
    for (unsigned i = 0; getSegment(entry) && i < entry.getNumArguments(); ++i)
      shared.names.insert(getArgumentName(entry, i));
}

static FixedBuffers findFixedBuffers(ArrayRef<func::FuncOp> entries,
                                     FormCheck &check) {
  FixedBuffers shared;
  findStateNames(entries, shared);
  for (func::FuncOp entry : entries) {
    std::string of = (" of @" + entry.getSymName()).str();
    for (auto [i, argument] : llvm::enumerate(entry.getArguments()))
      addState(shared, getArgumentName(entry, i), argument,
               entry.getArgAttrDict(i), "argument " + Twine(i) + of,
               argument.getLoc(), check);
    Operation *end = entry.front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      addState(shared, getResultName(entry, i), value,
               entry.getResultAttrDict(i), "result " + Twine(i) + of,
               end->getLoc(), check);
    entry.walk([&](arith::ConstantOp constant) {
      int64_t offset = getOffset(constant);
      shared.constants.insert(
          {{constant.getValue(), offset},
           {"a constant", offset, alignedBytes(bytesOf(constant))}});
    });
  }
  return shared;
}

//===----------------------------------------------------------------------===//
// An entry
//===----------------------------------------------------------------------===//
namespace {

class EntryCheck {
public:
  EntryCheck(func::FuncOp entry, const FixedBuffers &shared,
             const SymbolTable &symbols, FormCheck &check)
      : entry(entry), shared(shared), contents(entry, symbols, check),
        check(check) {}

  void run() {
    checkStates();
    checkLayout();
  }

private:
  void checkState(StringRef name, Value before, Value after);
  void checkStates();
  void checkLayout();

  func::FuncOp entry;
  const FixedBuffers &shared;
  const EntryContents contents;
  FormCheck &check;
  /// The contents at the offset of a state.
  llvm::DenseSet<size_t> inStates;
};

} // namespace

/// The old value of a state, and the one that an entry returns; null for what
/// the entry does not mention.
void EntryCheck::checkState(StringRef name, Value before, Value after) {
  if (before) {
    inStates.insert(contents.indexOf(before));
    if (contents.contentOf(before).isWrittenOver &&
        (!after || contents.indexOf(before) != contents.indexOf(after)) &&
        !(after &&
          contents.contentOf(after).first > contents.contentOf(before).last()))
      check.error(entry.getLoc())
          << "@" << entry.getSymName() << " writes over state " << quoted(name)
          << " and does not return what it wrote" << remedy;
  }
  if (!after || (before && contents.indexOf(before) == contents.indexOf(after)))
    return;
  const Content &made = contents.contentOf(after);
  // An input or a constant is there from the beginning, as the state is.
  if (isa<BlockArgument>(made.maker) ||
      made.maker.getDefiningOp<arith::ConstantOp>())
    return;
  inStates.insert(contents.indexOf(after));
  if (before && made.first <= contents.contentOf(before).lastRead)
    check.error(made.maker.getLoc())
        << contents.nameOf(made.maker) << " is written over state "
        << quoted(name) << ", whose old value is read until instruction "
        << contents.contentOf(before).lastRead << remedy;
}

void EntryCheck::checkStates() {
  llvm::MapVector<StringRef, std::pair<Value, Value>> states;
  auto find = [&](const std::string &name) -> std::pair<Value, Value> * {
    auto known = shared.names.find(name);
    return known == shared.names.end() ? nullptr : &states[known->getKey()];
  };
  for (auto [i, argument] : llvm::enumerate(entry.getArguments()))
    if (auto *state = find(getArgumentName(entry, i)))
      state->first = argument;
  Operation *terminator = entry.front().getTerminator();
  for (Value value : terminator->getOperands())
    if (contents.contentOf(value).whole ||
        !contents.contentOf(value).parts.empty())
      check.error(terminator->getLoc())
          << contents.nameOf(value)
          << " is returned, and shares bytes with others" << remedy;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (auto *state = find(getResultName(entry, i)))
      state->second = value;
  for (auto &[name, values] : states)
    checkState(name, values.first, values.second);
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (std::string name = getResultName(entry, i);
        !find(name) && inStates.contains(contents.indexOf(value)))
      check.error(terminator->getLoc())
          << "result " << quoted(name) << " of @" << entry.getSymName()
          << " shares the memory of a state, which the next call overwrites"
          << remedy;
}

//===----------------------------------------------------------------------===//
// The arena
//===----------------------------------------------------------------------===//

void EntryCheck::checkLayout() {
  std::vector<ArenaBuffer> buffers;
  std::vector<std::string> names;
  std::vector<Location> locations;
  ArenaLayout layout;
  auto add = [&](std::string name, Location loc, int64_t offset,
                 const ArenaBuffer &buffer) {
    names.push_back(std::move(name));
    locations.push_back(loc);
    buffers.push_back(buffer);
    layout.offsets.push_back(offset);
  };
  auto addFixed = [&](const FixedBuffer &fixed) {
    add(fixed.name, entry.getLoc(), fixed.offset,
        {0, contents.endOfEntry(), fixed.bytes});
  };
  for (const auto &[name, fixed] : shared.states)
    addFixed(fixed);
  for (const auto &[key, fixed] : shared.constants)
    addFixed(fixed);
  // A whole is alive as long as any of its parts.
  std::vector<Content> all = contents.all();
  for (const Content &part : contents.all())
    if (part.whole) {
      Content &whole = all[*part.whole];
      whole.lastRead = std::max(whole.last(), part.last());
      whole.first = std::min(whole.first, part.first);
    }
  for (auto [index, content] : llvm::enumerate(all))
    if (!inStates.contains(index) && !content.whole &&
        !content.maker.getDefiningOp<arith::ConstantOp>())
      add(contents.nameOf(content.maker), content.maker.getLoc(),
          getOffset(content.maker),
          {content.first, content.last(), bytesOf(content.maker)});
  layout.bytes = entry->getAttrOfType<IntegerAttr>(arenaBytesAttrName).getInt();
  auto least = entry->getAttrOfType<IntegerAttr>(livenessBytesAttrName);
  if (least && least.getInt() > layout.bytes)
    check.error(entry.getLoc())
        << "@" << entry.getSymName() << " needs " << least.getInt()
        << " bytes in any layout (" << livenessBytesAttrName << "), but has "
        << arenaBytesAttrName << " of " << layout.bytes << remedy;
  std::vector<ArenaProblem> problems =
      checkArena(buffers, layout, [&](size_t i) { return names[i]; });
  for (const ArenaProblem &problem : problems)
    check.error(locations[problem.buffer]) << problem.text << remedy;
  if (!least || !problems.empty())
    return;
  if (int64_t alive = livenessBound(buffers); least.getInt() < alive)
    check.error(entry.getLoc())
        << "@" << entry.getSymName() << " has " << alive
        << " bytes alive at once, but " << livenessBytesAttrName << " of "
        << least.getInt() << remedy;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

void weft::checkMemory(ModuleOp module, FormCheck &check) {
  // What the rules before it found may be what this one counts on.
  if (!check.hasPassed())
    return;
  SmallVector<func::FuncOp> entries = findEntries(module);
  bool valid = true;
  for (func::FuncOp entry : entries) {
    valid &= checkOffsets(entry, check);
    entry.walk([&](StartOp start) { checkQueue(start, check); });
  }
  if (!valid)
    return;
  // The arena of a role has what its segments and what all ranks execute need.
  std::set<int64_t> roles;
  for (func::FuncOp entry : entries)
    if (getSegment(entry))
      roles.insert(roleOf(entry));
  if (roles.empty())
    roles.insert(-1);
  SymbolTable symbols(module);
  for (int64_t role : roles) {
    SmallVector<func::FuncOp> ofRole(
        llvm::make_filter_range(entries, [&](func::FuncOp entry) {
          return roleOf(entry) == role || roleOf(entry) == -1;
        }));
    FixedBuffers shared = findFixedBuffers(ofRole, check);
    for (func::FuncOp entry : ofRole)
      EntryCheck(entry, shared, symbols, check).run();
  }
}
