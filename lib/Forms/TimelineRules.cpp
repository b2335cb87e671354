//===- TimelineRules.cpp - What roles execute together --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules of timelines in forms 3 and 4. Every action has its segment; what a
// segment reads of a micro-batch was written or received before and not written
// over since; and the checker of schedules finds no rank waiting for ever. None
// of it knows how timelines are made.
//
//===----------------------------------------------------------------------===//

#include "TimelineRules.h"

#include "weft/IR/Segments.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Timeline/Check.h"
#include "weft/Timeline/SlotUses.h"

#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace weft;
using timeline::Action;
using timeline::ActionKind;

namespace {

/// A state as a function mentions it.
struct Mention {
  std::string name;
  int64_t slots;
};

/// What an action reads and writes in the memory of its role.
struct Access {
  SmallVector<Mention> reads, writes;
};

class TimelineRule {
public:
  TimelineRule(func::FuncOp entry, ModuleOp module, FormCheck &check)
      : entry(entry), attribute(getTimeline(entry)), symbols(module),
        check(check) {}

  void run();

private:
  InFlightDiagnostic error() {
    failed = true;
    return check.error(entry.getLoc())
           << "the timeline of @" << entry.getSymName() << ": ";
  }
  bool parse();
  void findAccesses();
  void findSlots(func::FuncOp segment, int64_t role);
  MessageAttr messageOf(const Action &action) const;
  Access accessOf(const Action &action, int64_t role);
  Mention mention(int64_t role, StringRef name) const {
    auto found = slots.find({role, name.str()});
    return {name.str(), found == slots.end() ? 1 : found->second};
  }
  void checkFlow(int64_t role);
  void checkJob();
  std::vector<timeline::Wait> findWaits() const;

  func::FuncOp entry;
  TimelineAttr attribute;
  SymbolTable symbols;
  FormCheck &check;
  bool failed = false;
  timeline::Table table;
  /// By kind, level and both stages.
  std::map<std::tuple<std::string, int64_t, int64_t, int64_t>, MessageAttr>
      messages;
  /// By role and name, of states of several slots.
  std::map<std::pair<int64_t, std::string>, int64_t> slots;
  /// As the actions of the table.
  std::vector<std::vector<Access>> accesses;
};

} // namespace

bool TimelineRule::parse() {
  std::string text;
  for (Attribute row : attribute.getRows()) {
    auto string = dyn_cast<StringAttr>(row);
    if (!string)
      return error() << "rows must be strings, got " << row, false;
    text += string.getValue().str() + "\n";
  }
  timeline::ParsedTable parsed = timeline::parseCsv(text, "row");
  for (const std::string &problem : parsed.errors)
    error() << problem;
  table = std::move(parsed.table);
  for (Attribute each : attribute.getMessages()) {
    auto message = dyn_cast<MessageAttr>(each);
    if (!message)
      return error() << "messages must be #weft.message, got " << each, false;
    messages[{message.getKind().str(), message.getLevel(), message.getSource(),
              message.getDestination()}] = message;
  }
  int64_t ranks = 0;
  if (MeshOp mesh = findMesh(entry))
    for (MeshAxisAttr axis : mesh.getMesh().getAxes())
      if (axis.getName() == attribute.getAxis().getValue())
        ranks = axis.getSize();
  if (ranks != table.ranks())
    error() << "there are " << table.ranks() << " rows for the " << ranks
            << " ranks along axis \"" << attribute.getAxis().getValue() << "\"";
  return !failed;
}

/// A state has as many slots wherever a segment of the role mentions it.
void TimelineRule::findSlots(func::FuncOp segment, int64_t role) {
  auto add = [&](std::string name, DictionaryAttr attrs) {
    auto [found, isNew] = slots.try_emplace({role, name}, slotsOf(attrs));
    if (!isNew && found->second != slotsOf(attrs))
      error() << "state \"" << name << "\" has " << slotsOf(attrs)
              << " slots in @" << segment.getSymName() << " and "
              << found->second << " in others";
  };
  for (unsigned i = 0; i < segment.getNumArguments(); ++i)
    add(getArgumentName(segment, i), segment.getArgAttrDict(i));
  for (unsigned i = 0; i < segment.getNumResults(); ++i)
    add(getResultName(segment, i), segment.getResultAttrDict(i));
}

/// The message that a send or a receive is of; null if there is none.
MessageAttr TimelineRule::messageOf(const Action &action) const {
  int64_t source = action.stage, destination = timeline::peerOf(action);
  if (!timeline::isSend(action.kind))
    std::swap(source, destination);
  std::string kind(1, nameOf(action.kind).back());
  auto found = messages.find(
      {kind, timeline::isOnce(action.kind) ? action.microbatch : 0, source,
       destination});
  return found == messages.end() ? MessageAttr() : found->second;
}

Access TimelineRule::accessOf(const Action &action, int64_t role) {
  Access access;
  if (timeline::isTransfer(action.kind)) {
    MessageAttr message = messageOf(action);
    if (!message) {
      error() << print(action) << " is of no message";
      return access;
    }
    for (auto name : message.getValues().getAsRange<StringAttr>())
      (timeline::isSend(action.kind) ? access.reads : access.writes)
          .push_back(mention(role, name.getValue()));
    return access;
  }
  std::string name = entry.getSymName().str() + "." +
                     std::to_string(action.stage) +
                     std::string(nameOf(action.kind));
  if (timeline::isOnce(action.kind))
    name += std::to_string(action.microbatch);
  auto segment = symbols.lookup<func::FuncOp>(name);
  if (!segment || roleOf(segment) != role) {
    error() << print(action) << " needs the segment @" << name << " of role "
            << role;
    return access;
  }
  for (unsigned i = 0; i < segment.getNumArguments(); ++i)
    if (!segment.getArgAttr(i, kCountsAttrName))
      access.reads.push_back(mention(role, getArgumentName(segment, i)));
  for (unsigned i = 0; i < segment.getNumResults(); ++i)
    access.writes.push_back(mention(role, getResultName(segment, i)));
  return access;
}

void TimelineRule::findAccesses() {
  for (Operation &op : *entry->getBlock())
    if (auto segment = dyn_cast<func::FuncOp>(op);
        segment && getSegment(segment))
      findSlots(segment, roleOf(segment));
  for (auto [role, row] : llvm::enumerate(table.rows)) {
    std::vector<Access> &of = accesses.emplace_back();
    for (const Action &action : row)
      of.push_back(accessOf(action, role));
  }
}

/// What a role reads, it has: an argument of the entry, what is there once, or
/// the value of the same micro-batch.
void TimelineRule::checkFlow(int64_t role) {
  llvm::StringSet<> given;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    given.insert(getArgumentName(entry, i));
  constexpr int32_t once = -1;
  std::map<std::pair<std::string, int64_t>, int32_t> held;
  // A state that is written once a step, or carries a sum on, is of all.
  std::map<std::string, bool> isOfMicrobatch;
  for (auto [column, action] : llvm::enumerate(table.rows[role]))
    for (const Mention &write : accesses[role][column].writes) {
      bool isCarried =
          llvm::any_of(accesses[role][column].reads, [&](const Mention &read) {
            return read.name == write.name;
          });
      bool &is = isOfMicrobatch.try_emplace(write.name, true).first->second;
      is &= !isCarried && !timeline::isOnce(action.kind);
    }
  auto place = [&](const Mention &state, const Action &action) {
    bool isOf = isOfMicrobatch[state.name];
    return std::pair(std::pair(state.name, isOf
                                               ? action.microbatch % state.slots
                                               : int64_t(0)),
                     isOf ? action.microbatch : once);
  };
  for (auto [column, action] : llvm::enumerate(table.rows[role])) {
    for (const Mention &read : accesses[role][column].reads) {
      auto [slot, microbatch] = place(read, action);
      auto found = held.find(slot);
      if (found == held.end() && !given.contains(read.name))
        error() << print(action) << " of role " << role << " reads \""
                << read.name << "\" before it is there";
      else if (found != held.end() && found->second != microbatch)
        error() << print(action) << " of role " << role << " reads \""
                << read.name << "\" of micro-batch " << found->second
                << "; it needs more than " << read.slots << " slots";
      if (failed)
        return;
    }
    for (const Mention &write : accesses[role][column].writes) {
      auto [slot, microbatch] = place(write, action);
      held[slot] = microbatch;
    }
  }
}

/// Whoever writes what is sent waits for the send, and whoever reads what is
/// received for the receive.
std::vector<timeline::Wait> TimelineRule::findWaits() const {
  std::vector<timeline::Wait> waits;
  for (auto [role, row] : llvm::enumerate(table.rows)) {
    std::map<std::pair<std::string, int64_t>, std::vector<int32_t>> sends;
    std::map<std::pair<std::string, int64_t>, int32_t> receives;
    for (auto [column, action] : llvm::enumerate(row)) {
      auto slotOf = [&](const Mention &state) {
        return std::pair(state.name, action.microbatch % state.slots);
      };
      for (const Mention &read : accesses[role][column].reads)
        if (auto found = receives.find(slotOf(read)); found != receives.end())
          waits.push_back({int32_t(role), int32_t(column), found->second});
      for (const Mention &write : accesses[role][column].writes) {
        if (timeline::isTransfer(action.kind))
          receives[slotOf(write)] = column;
        else
          receives.erase(slotOf(write));
        for (int32_t send : sends[slotOf(write)])
          waits.push_back({int32_t(role), int32_t(column), send});
        sends[slotOf(write)].clear();
      }
      if (timeline::isSend(action.kind))
        for (const Mention &read : accesses[role][column].reads)
          sends[slotOf(read)].push_back(column);
    }
  }
  return waits;
}

/// Nobody waits for ever.
void TimelineRule::checkJob() {
  std::vector<timeline::Edge> edges;
  for (const auto &[key, message] : messages)
    if (std::get<0>(key) == "F" || std::get<0>(key) == "B")
      edges.push_back({int32_t(message.getSource()),
                       int32_t(message.getDestination()),
                       std::get<0>(key) == "B", 0});
  timeline::Job job =
      timeline::makeJob(table, timeline::Communicators::Edge, edges);
  job.waits = timeline::waitsOfWalk(table, findWaits());
  timeline::Verdict verdict = timeline::check(job);
  if (!verdict.isSafe())
    error() << timeline::print(verdict, "timeline");
}

void TimelineRule::run() {
  if (!parse())
    return;
  findAccesses();
  for (int64_t role = 0; role < table.ranks() && !failed; ++role)
    checkFlow(role);
  if (!failed)
    checkJob();
}

void weft::checkTimelines(ModuleOp module, FormCheck &check) {
  for (func::FuncOp entry : findTimelines(module))
    TimelineRule(entry, module, check).run();
}
