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
#include "weft/Timeline/Counted.h"
#include "weft/Timeline/SlotUses.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

using namespace mlir;
using namespace weft;
using timeline::Action;
using timeline::ActionKind;

namespace {

/// A state of a role.
struct State {
  std::string name;
  int64_t slots = 1;
  /// The number of its first slot among those of the role.
  int64_t firstSlot = 0;
  bool isArgument = false;
  /// Not of one that is written once a step, or that carries a sum on.
  bool isOfMicrobatch = true;
};

struct RoleStates {
  std::vector<State> states;
  llvm::StringMap<int32_t> numbers;
  int64_t numSlots = 0;

  int32_t numberOf(StringRef name) {
    auto [found, isNew] = numbers.try_emplace(name, states.size());
    if (isNew)
      states.push_back({name.str()});
    return found->second;
  }
};

/// What an action reads and writes: numbers of the role's states.
struct Access {
  SmallVector<int32_t> reads, writes;
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
  void checkMicrobatches();
  void checkQueue(MessageAttr message);
  void checkDeclaration();
  void layOutSlots();
  void findSlots(func::FuncOp segment);
  void findAccesses();
  MessageAttr messageOf(const Action &action) const;
  func::FuncOp segmentOf(const Action &action) const;
  Access accessOf(const Action &action, int64_t role);
  std::string lineOfAction(const Action &action);
  void checkFlow(int64_t role);
  void checkStates();
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
  std::map<int64_t, int64_t> roleOfStage;
  /// The source and the destination of the messages of each queue.
  std::map<int64_t, std::pair<int64_t, int64_t>> queues;
  std::vector<RoleStates> roles;
  /// The same for all micro-batches: by role, kind, level, stage and peer.
  std::map<std::tuple<int64_t, ActionKind, int32_t, int32_t, int32_t>, Access>
      distinct;
  /// As the actions of the table, in `distinct`.
  std::vector<std::vector<const Access *>> accesses;
};

} // namespace

/// Actions are of every micro-batch, and of no other.
void TimelineRule::checkMicrobatches() {
  std::set<int32_t> numbers;
  for (const timeline::Row &row : table.rows)
    for (const Action &action : row)
      if (timeline::isOfMicrobatch(action.kind))
        numbers.insert(action.microbatch);
  int64_t count = numbers.size();
  if (!failed && (count != attribute.getMicrobatches() ||
                  (count && *numbers.rbegin() != count - 1)))
    error() << "it is of "
            << timeline::counted(attribute.getMicrobatches(), "micro-batch",
                                 "micro-batches")
            << ", but has actions of " << count
            << (count ? ", the last of which is " +
                            std::to_string(*numbers.rbegin())
                      : std::string());
}

/// As the loader of plans has it: messages of one queue have the same roles.
void TimelineRule::checkQueue(MessageAttr message) {
  int64_t count = attribute.getMessages().size();
  auto problem = [&] {
    return error() << "a message from stage " << message.getSource() << " to "
                   << message.getDestination() << " ";
  };
  if (message.getQueue() < 0 || message.getQueue() >= count) {
    problem() << "is in queue " << message.getQueue()
              << ", but there are no more queues than messages, " << count;
    return;
  }
  for (int64_t stage : {message.getSource(), message.getDestination()})
    if (!roleOfStage.contains(stage)) {
      problem() << "has no action of stage " << stage;
      return;
    }
  std::pair roles(roleOfStage[message.getSource()],
                  roleOfStage[message.getDestination()]);
  if (roles.first == roles.second) {
    problem() << "stays on role " << roles.first << ", must go to another";
    return;
  }
  auto ofQueue = queues.try_emplace(message.getQueue(), roles).first->second;
  if (roles != ofQueue)
    problem() << "goes from role " << roles.first << " to role " << roles.second
              << " in queue " << message.getQueue() << ", which goes from role "
              << ofQueue.first << " to role " << ofQueue.second;
}

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
  if (failed)
    return false;
  table = std::move(parsed.table);
  for (auto [role, row] : llvm::enumerate(table.rows))
    for (const Action &action : row)
      roleOfStage.try_emplace(action.stage, role);
  for (Attribute each : attribute.getMessages()) {
    auto message = dyn_cast<MessageAttr>(each);
    if (!message)
      return error() << "messages must be #weft.message, got " << each, false;
    if (!messages
             .try_emplace({message.getKind().str(), message.getLevel(),
                           message.getSource(), message.getDestination()},
                          message)
             .second)
      error() << "two messages of kind " << message.getKind()
              << " go from stage " << message.getSource() << " to "
              << message.getDestination() << " at level " << message.getLevel();
    checkQueue(message);
  }
  checkMicrobatches();
  int64_t ranks = 0;
  if (MeshOp mesh = findMesh(entry))
    for (MeshAxisAttr axis : mesh.getMesh().getAxes())
      if (axis.getName() == attribute.getAxis().getValue())
        ranks = axis.getSize();
  if (ranks != table.ranks())
    error() << "it has " << timeline::counted(table.ranks(), "row")
            << ", but the mesh has " << timeline::counted(ranks, "rank")
            << " along axis \"" << attribute.getAxis().getValue() << "\"";
  return !failed;
}

/// A state has as many slots wherever a segment of the role mentions it, and
/// the number of the micro-batch one for each.
void TimelineRule::findSlots(func::FuncOp segment) {
  RoleStates &role = roles[roleOf(segment)];
  auto add = [&](StringRef name, DictionaryAttr attrs) {
    size_t known = role.states.size();
    State &state = role.states[role.numberOf(name)];
    if (slotsOf(attrs) < 1) {
      error() << "state \"" << name << "\" of @" << segment.getSymName()
              << " has " << timeline::counted(slotsOf(attrs), "slot")
              << ", must have at least 1";
      return;
    }
    if (attrs && attrs.get(kCountsAttrName) &&
        getSegment(segment).getEntry() == entry.getSymNameAttr() &&
        slotsOf(attrs) != attribute.getMicrobatches())
      error() << "state \"" << name << "\" of @" << segment.getSymName()
              << " counts micro-batches and has "
              << timeline::counted(slotsOf(attrs), "slot") << ", must have "
              << attribute.getMicrobatches();
    if (role.states.size() > known)
      state.slots = slotsOf(attrs);
    else if (state.slots != slotsOf(attrs))
      error() << "state \"" << name << "\" has "
              << timeline::counted(slotsOf(attrs), "slot") << " in @"
              << segment.getSymName() << " and " << state.slots << " in others";
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

static std::string nameOfSegment(func::FuncOp entry, const Action &action) {
  std::string name = entry.getSymName().str() + "." +
                     std::to_string(action.stage) +
                     std::string(nameOf(action.kind));
  return timeline::isOnce(action.kind)
             ? name + std::to_string(action.microbatch)
             : name;
}

func::FuncOp TimelineRule::segmentOf(const Action &action) const {
  return symbols.lookup<func::FuncOp>(nameOfSegment(entry, action));
}

/// What is sent comes from the segment that computes it.
std::string TimelineRule::lineOfAction(const Action &action) {
  if (!timeline::isTransfer(action.kind)) {
    func::FuncOp segment = segmentOf(action);
    return segment ? lineOf(segment) : std::string();
  }
  MessageAttr message = messageOf(action);
  if (!message || message.getValues().empty())
    return "";
  StringRef value = cast<StringAttr>(message.getValues()[0]).getValue();
  for (Operation &op : *entry->getBlock())
    if (auto segment = dyn_cast<func::FuncOp>(op);
        segment && getSegment(segment) &&
        getSegment(segment).getEntry() == entry.getSymNameAttr())
      for (unsigned i = 0; i < segment.getNumResults(); ++i)
        if (getResultName(segment, i) == value)
          return lineOf(segment, value);
  return "";
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
          .push_back(roles[role].numberOf(name.getValue()));
    return access;
  }
  func::FuncOp segment = segmentOf(action);
  if (!segment || roleOf(segment) != role) {
    error() << print(action) << " needs the segment @"
            << nameOfSegment(entry, action) << " of role " << role;
    return access;
  }
  for (unsigned i = 0; i < segment.getNumArguments(); ++i)
    if (!segment.getArgAttr(i, kCountsAttrName))
      access.reads.push_back(roles[role].numberOf(getArgumentName(segment, i)));
  for (unsigned i = 0; i < segment.getNumResults(); ++i)
    access.writes.push_back(roles[role].numberOf(getResultName(segment, i)));
  return access;
}

void TimelineRule::findAccesses() {
  roles.resize(table.ranks());
  for (Operation &op : *entry->getBlock())
    if (auto segment = dyn_cast<func::FuncOp>(op);
        segment && getSegment(segment) && roleOf(segment) >= 0 &&
        roleOf(segment) < table.ranks())
      findSlots(segment);
  for (auto [role, row] : llvm::enumerate(table.rows)) {
    std::vector<const Access *> &of = accesses.emplace_back();
    for (const Action &action : row) {
      bool isOnce = !timeline::isOfMicrobatch(action.kind);
      auto [found, isNew] = distinct.try_emplace(
          {role, action.kind, isOnce ? action.microbatch : 0, action.stage,
           timeline::isTransfer(action.kind) ? timeline::peerOf(action) : -1});
      Access &access = found->second;
      of.push_back(&access);
      if (!isNew)
        continue;
      access = accessOf(action, role);
      for (int32_t write : access.writes)
        if (isOnce || llvm::is_contained(access.reads, write))
          roles[role].states[write].isOfMicrobatch = false;
    }
  }
}

/// Gives every state its slots, and knows which the entry brings.
void TimelineRule::layOutSlots() {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    for (RoleStates &role : roles)
      if (auto found = role.numbers.find(getArgumentName(entry, i));
          found != role.numbers.end())
        role.states[found->second].isArgument = true;
  for (RoleStates &role : roles)
    for (State &state : role.states) {
      state.firstSlot = role.numSlots;
      role.numSlots += state.slots;
    }
}

/// What a role reads, it has: an argument of the entry, what is there once, or
/// the value of the same micro-batch.
void TimelineRule::checkFlow(int64_t role) {
  constexpr int32_t nothing = -2, once = -1;
  std::vector<int32_t> held(roles[role].numSlots, nothing);
  for (auto [column, action] : llvm::enumerate(table.rows[role])) {
    auto slotOf = [&](const State &state) {
      return state.firstSlot +
             (state.isOfMicrobatch ? action.microbatch % state.slots : 0);
    };
    for (int32_t read : accesses[role][column]->reads) {
      const State &state = roles[role].states[read];
      int32_t found = held[slotOf(state)];
      if (found == nothing && !state.isArgument)
        error() << print(action) << " of role " << role << " reads \""
                << state.name << "\" before an action writes it";
      else if (found != nothing &&
               found != (state.isOfMicrobatch ? action.microbatch : once))
        error() << print(action) << " of role " << role << " reads \""
                << state.name << "\" of micro-batch " << found
                << "; it needs more than "
                << timeline::counted(state.slots, "slot");
      if (failed)
        return;
    }
    for (int32_t write : accesses[role][column]->writes) {
      const State &state = roles[role].states[write];
      held[slotOf(state)] = state.isOfMicrobatch ? action.microbatch : once;
    }
  }
}

/// A state that several roles have changes in all of them, or each step would
/// continue from two values of it.
void TimelineRule::checkStates() {
  std::map<std::string, std::set<int64_t>> readers, writers;
  for (auto [role, row] : llvm::enumerate(accesses))
    for (const Access *access : row) {
      for (int32_t read : access->reads)
        if (const State &state = roles[role].states[read]; state.isArgument)
          readers[state.name].insert(role);
      for (int32_t write : access->writes)
        if (const State &state = roles[role].states[write]; state.isArgument)
          writers[state.name].insert(role);
    }
  for (const auto &[name, ofRoles] : writers)
    for (int64_t role : readers[name])
      if (!ofRoles.contains(role))
        error() << "role " << *ofRoles.begin() << " writes state \"" << name
                << "\", and role " << role << " only reads it";
}

/// Whoever writes what is sent waits for the send, and whoever reads what is
/// received for the receive.
std::vector<timeline::Wait> TimelineRule::findWaits() const {
  constexpr int32_t none = -1;
  std::vector<timeline::Wait> waits;
  for (auto [role, row] : llvm::enumerate(table.rows)) {
    std::vector<SmallVector<int32_t, 1>> sends(roles[role].numSlots);
    std::vector<int32_t> receives(roles[role].numSlots, none);
    for (auto [column, action] : llvm::enumerate(row)) {
      auto slotOf = [&, &states = roles[role].states](int32_t state) {
        return states[state].firstSlot +
               action.microbatch % states[state].slots;
      };
      const Access &access = *accesses[role][column];
      for (int32_t read : access.reads)
        if (int32_t receive = receives[slotOf(read)]; receive != none)
          waits.push_back({int32_t(role), int32_t(column), receive});
      for (int32_t write : access.writes) {
        int64_t slot = slotOf(write);
        receives[slot] = timeline::isTransfer(action.kind) ? column : none;
        for (int32_t send : sends[slot])
          waits.push_back({int32_t(role), int32_t(column), send});
        sends[slot].clear();
      }
      if (timeline::isSend(action.kind))
        for (int32_t read : access.reads)
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
  // Without messages, as between stages of one rank, neighbours need each
  // other.
  timeline::Job job =
      table.ranks() > 1
          ? timeline::makeJob(table, timeline::Communicators::Edge, edges)
          : timeline::makeJob(table, timeline::Communicators::Edge);
  job.waits = timeline::waitsOfWalk(job, findWaits());
  job.lineOf = [&](const Action &action) { return lineOfAction(action); };
  timeline::Verdict verdict = timeline::check(job);
  if (!verdict.isSafe())
    error() << timeline::print(verdict, "timeline");
}

/// What the entry takes and gives is in states of its segments.
void TimelineRule::checkDeclaration() {
  llvm::StringSet<> states;
  for (Operation &op : *entry->getBlock())
    if (auto segment = dyn_cast<func::FuncOp>(op);
        segment && getSegment(segment) &&
        getSegment(segment).getEntry() == entry.getSymNameAttr()) {
      for (unsigned i = 0; i < segment.getNumArguments(); ++i)
        states.insert(getArgumentName(segment, i));
      for (unsigned i = 0; i < segment.getNumResults(); ++i)
        states.insert(getResultName(segment, i));
    }
  auto require = [&](StringRef what, StringRef name) {
    if (!states.contains(name))
      error() << what << " \"" << name
              << "\" is neither an argument nor a result of a segment";
  };
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    require("argument", getArgumentName(entry, i));
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    require("result", getResultName(entry, i));
}

void TimelineRule::run() {
  if (!parse())
    return;
  checkDeclaration();
  findAccesses();
  layOutSlots();
  for (int64_t role = 0; role < table.ranks() && !failed; ++role)
    checkFlow(role);
  if (!failed)
    checkStates();
  if (!failed)
    checkJob();
}

//===----------------------------------------------------------------------===//
// Segments and what they are declared as
//===----------------------------------------------------------------------===//

/// What a declaration says of its arguments or results, by name.
using DeclaredValues = llvm::StringMap<std::pair<Type, DictionaryAttr>>;

namespace {

struct Declaration {
  explicit Declaration(func::FuncOp entry)
      : axis(getTimeline(entry).getAxis()),
        roles(getTimeline(entry).getRows().size()) {
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      arguments[getArgumentName(entry, i)] = {entry.getArgumentTypes()[i],
                                              entry.getArgAttrDict(i)};
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      results[getResultName(entry, i)] = {entry.getResultTypes()[i],
                                          entry.getResultAttrDict(i)};
  }

  /// That of the pipeline.
  StringAttr axis;
  int64_t roles;
  DeclaredValues arguments, results;
};

} // namespace

/// A segment has the arguments and results of its entry as declared.
static void checkDeclared(func::FuncOp segment, const DeclaredValues &declared,
                          StringRef name, Type type, DictionaryAttr attrs,
                          const Twine &what, FormCheck &check) {
  auto found = declared.find(name);
  if (found == declared.end())
    return;
  auto [wanted, wantedAttrs] = found->second;
  auto differs = [&](StringRef attribute) {
    return (attrs ? attrs.get(attribute) : Attribute()) !=
           (wantedAttrs ? wantedAttrs.get(attribute) : Attribute());
  };
  if (type != wanted || differs(WeftDialect::kShardingAttrName) ||
      differs(WeftDialect::kGlobalTypeAttrName))
    check.error(segment.getLoc())
        << what << " \"" << name << "\" of @" << segment.getSymName()
        << " must have the type, weft.sharding and weft.global_type of the "
           "declaration of @"
        << getSegment(segment).getEntry().getValue();
}

static void checkSegment(func::FuncOp segment, const Declaration *declaration,
                         FormCheck &check) {
  SegmentAttr is = getSegment(segment);
  StringRef entry = is.getEntry().getValue();
  if (!declaration) {
    check.error(segment.getLoc())
        << "@" << segment.getSymName() << " is a segment of @" << entry
        << ", which has no timeline";
    return;
  }
  std::string name = (entry + "." + is.getAction().getValue()).str();
  if (segment.getSymName() != name)
    check.error(segment.getLoc())
        << "@" << segment.getSymName() << " has the action " << is.getAction()
        << " of @" << entry << ", by which its name is @" << name;
  if (is.getRole() < 0 || is.getRole() >= declaration->roles)
    check.error(segment.getLoc())
        << "@" << segment.getSymName() << " is of role " << is.getRole()
        << ", but the timeline of @" << entry << " has rows for "
        << declaration->roles << " roles, the first of which is 0";
  for (unsigned i = 0; i < segment.getNumArguments(); ++i)
    checkDeclared(segment, declaration->arguments, getArgumentName(segment, i),
                  segment.getArgumentTypes()[i], segment.getArgAttrDict(i),
                  "argument", check);
  for (unsigned i = 0; i < segment.getNumResults(); ++i)
    checkDeclared(segment, declaration->results, getResultName(segment, i),
                  segment.getResultTypes()[i], segment.getResultAttrDict(i),
                  "result", check);
  // Ranks along the axis of the pipeline execute other segments.
  segment.walk([&](CommunicationOpInterface op) {
    for (AxisRefAttr each : op.getAxes().getAxes())
      if (each.getName() == declaration->axis.getValue())
        check.error(op.getLoc())
            << op->getName() << " of @" << segment.getSymName()
            << " is along axis " << declaration->axis
            << ", whose ranks execute other segments";
  });
}

void weft::checkTimelines(ModuleOp module, FormCheck &check) {
  std::map<StringRef, Declaration> declarations;
  for (func::FuncOp entry : findTimelines(module))
    declarations.try_emplace(entry.getSymName(), entry);
  for (func::FuncOp function : findPrograms(module))
    if (SegmentAttr is = getSegment(function)) {
      auto found = declarations.find(is.getEntry().getValue());
      checkSegment(function,
                   found == declarations.end() ? nullptr : &found->second,
                   check);
    }
  for (func::FuncOp entry : findTimelines(module))
    TimelineRule(entry, module, check).run();
}
