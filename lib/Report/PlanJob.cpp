//===- PlanJob.cpp - What the ranks of a plan do, for the checker ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/PlanJob.h"

#include "Segments.h"

#include "weft/Timeline/SlotUses.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace weft {

using timeline::Action;
using timeline::ActionKind;

namespace {

class JobMaker {
public:
  JobMaker(const plan::Plan &plan, const plan::Entry &entry)
      : plan(plan), planned(*entry.timeline()) {
    for (const Segment &segment : findSegments(plan, entry))
      if (segment.action)
        actions[segment.entry] = *segment.action;
  }

  timeline::Job run(const std::vector<timeline::Wait> &deferredWaits);

private:
  Action toAction(const plan::Action &action) const;
  void addMessages();
  void addSlotUses();
  void addDeferred(const std::vector<timeline::Wait> &waits);
  /// The states of a role that an action reads, and those that it writes.
  struct Access {
    std::vector<const plan::State *> reads, writes;
  };
  Access accessOf(const plan::Action &action, uint32_t role) const;
  const Access &access(uint32_t role, uint32_t column) const {
    return *accesses[role][column];
  }
  void findAccesses();
  void addLocalEdges(std::vector<timeline::Edge> &edges) const;
  void addLines();
  const plan::Message &messageOf(const plan::Action &action) const {
    return *planned.messages()->Get(action.index());
  }

  const plan::Plan &plan;
  const plan::Timeline &planned;
  std::map<const plan::Entry *, Action> actions;
  timeline::Table table;
  /// The same for all micro-batches: by role, kind and index.
  std::map<std::tuple<uint32_t, plan::ActionKind, uint32_t>, Access> distinct;
  /// By role, of each action.
  std::vector<std::vector<const Access *>> accesses;
  /// Those that each micro-batch has a value of: an action for it writes them,
  /// and none reads and writes them as a sum is.
  std::set<const plan::State *> ofMicrobatch;
  /// Those of them that are gathered for a pass: the checker knows where these
  /// are written and used.
  std::set<const plan::State *> gathered;
  timeline::Job job;
};

} // namespace

static ActionKind transferOf(plan::MessageKind kind, bool isSend) {
  switch (kind) {
  case plan::MessageKind::Forward:
    return isSend ? ActionKind::SendForward : ActionKind::ReceiveForward;
  case plan::MessageKind::Backward:
    return isSend ? ActionKind::SendBackward : ActionKind::ReceiveBackward;
  case plan::MessageKind::Prologue:
    return isSend ? ActionKind::SendPrologue : ActionKind::ReceivePrologue;
  case plan::MessageKind::Update:
    break;
  }
  return isSend ? ActionKind::SendUpdate : ActionKind::ReceiveUpdate;
}

Action JobMaker::toAction(const plan::Action &action) const {
  if (action.kind() == plan::ActionKind::Run) {
    Action result = actions.at(plan.entries()->Get(action.index()));
    if (isOfMicrobatch(result.kind))
      result.microbatch = int32_t(action.microbatch());
    return result;
  }
  const plan::Message &message = messageOf(action);
  const bool isSend = action.kind() == plan::ActionKind::Send;
  Action result{int32_t(message.source_stage()),
                transferOf(message.kind(), isSend),
                int32_t(action.microbatch()), false,
                int32_t(message.destination_stage())};
  if (isOnce(result.kind))
    result.microbatch = int32_t(message.level());
  if (!isSend)
    std::swap(result.stage, result.peer);
  return result;
}

/// What the plan says of each transfer.
void JobMaker::addMessages() {
  for (size_t role = 0; role < job.rows.size(); ++role)
    for (size_t column = 0; column < job.rows[role].size(); ++column) {
      timeline::Call &call = job.rows[role][column];
      if (!isTransfer(call.action.kind))
        continue;
      const plan::Message &message =
          messageOf(*planned.rows()->Get(role)->actions()->Get(column));
      const bool isSend = timeline::isSend(call.action.kind);
      call.peerRank =
          int32_t(isSend ? message.destination_role() : message.source_role());
      call.communicator = int32_t(message.queue());
      call.bytes = 0;
      for (uint32_t state :
           isSend ? *message.source_states() : *message.destination_states())
        call.bytes += int64_t(plan.states()->Get(state)->bytes());
    }
  job.communicators.clear();
  for (const plan::Message *message : *planned.messages()) {
    if (job.communicators.size() <= message->queue())
      job.communicators.resize(message->queue() + 1);
    job.communicators[message->queue()] =
        std::to_string(message->source_role()) + "->" +
        std::to_string(message->destination_role()) + " #" +
        std::to_string(message->queue());
  }
}

JobMaker::Access JobMaker::accessOf(const plan::Action &action,
                                    uint32_t role) const {
  Access access;
  if (action.kind() != plan::ActionKind::Run) {
    const plan::Message &message = messageOf(action);
    const bool isSend = action.kind() == plan::ActionKind::Send;
    for (uint32_t state :
         isSend ? *message.source_states() : *message.destination_states())
      (isSend ? access.reads : access.writes)
          .push_back(plan.states()->Get(state));
    return access;
  }
  std::map<std::string_view, const plan::State *> byName;
  for (const plan::State *state : *plan.states())
    if (!state->counts() && state->role().value_or(role) == role)
      byName[state->name()->string_view()] = state;
  const plan::Entry &segment = *plan.entries()->Get(action.index());
  auto collect = [&](const auto &bindings, auto &into) {
    for (const plan::Binding *binding : bindings)
      if (auto found = byName.find(binding->name()->string_view());
          found != byName.end())
        into.push_back(found->second);
  };
  collect(*segment.inputs(), access.reads);
  collect(*segment.outputs(), access.writes);
  return access;
}

void JobMaker::findAccesses() {
  std::set<const plan::State *> kept;
  for (uint32_t role = 0; role < table.rows.size(); ++role) {
    std::vector<const Access *> &of = accesses.emplace_back();
    for (const plan::Action *action : *planned.rows()->Get(role)->actions()) {
      auto [found, isNew] =
          distinct.try_emplace({role, action->kind(), action->index()});
      Access &access = found->second;
      bool isOnce = !timeline::isOfMicrobatch(table.rows[role][of.size()].kind);
      of.push_back(&access);
      if (!isNew)
        continue;
      access = accessOf(*action, role);
      if (isPassGather(table.rows[role][of.size() - 1].kind))
        gathered.insert(access.writes.begin(), access.writes.end());
      for (const plan::State *write : access.writes)
        (isOnce || std::ranges::count(access.reads, write) ? kept
                                                           : ofMicrobatch)
            .insert(write);
    }
  }
  for (const plan::State *state : kept)
    ofMicrobatch.erase(state);
}

/// What one stage leaves for another of its rank is no message.
void JobMaker::addLocalEdges(std::vector<timeline::Edge> &edges) const {
  std::map<const plan::State *, Action> writers;
  for (const auto &[key, access] : distinct)
    if (std::get<1>(key) == plan::ActionKind::Run)
      for (const plan::State *write : access.writes)
        if (ofMicrobatch.contains(write))
          writers[write] = actions.at(plan.entries()->Get(std::get<2>(key)));
  auto isForward = [](const Action &action) {
    return action.kind == ActionKind::Forward;
  };
  for (const auto &[key, access] : distinct) {
    if (std::get<1>(key) != plan::ActionKind::Run)
      continue;
    const Action &reader = actions.at(plan.entries()->Get(std::get<2>(key)));
    for (const plan::State *read : access.reads) {
      auto writer = writers.find(read);
      if (writer == writers.end() || writer->second.stage == reader.stage ||
          isForward(writer->second) != isForward(reader))
        continue;
      timeline::Edge edge{writer->second.stage, reader.stage,
                          !isForward(reader), 0};
      if (!std::ranges::count(edges, edge))
        edges.push_back(edge);
    }
  }
}

void JobMaker::addSlotUses() {
  for (uint32_t role = 0; role < job.rows.size(); ++role) {
    int32_t slots = 0;
    std::map<const plan::State *, int32_t> firstSlots;
    std::map<std::pair<const plan::State *, uint32_t>, size_t> uses;
    const auto &row = *planned.rows()->Get(role)->actions();
    for (uint32_t column = 0; column < row.size(); ++column) {
      const plan::Action &action = *row.Get(column);
      if (!isOfMicrobatch(job.rows[role][column].action.kind))
        continue;
      std::vector<const plan::State *> states = access(role, column).reads;
      states.insert(states.end(), access(role, column).writes.begin(),
                    access(role, column).writes.end());
      for (const plan::State *state : states) {
        if (!ofMicrobatch.contains(state) || gathered.contains(state))
          continue;
        const auto [first, isNew] = firstSlots.try_emplace(state, slots);
        if (isNew)
          slots += int32_t(state->slots());
        const auto [use, isFirst] =
            uses.try_emplace({state, action.microbatch()}, job.slotUses.size());
        if (isFirst)
          job.slotUses.push_back(
              {int32_t(role),
               first->second + int32_t(action.microbatch() % state->slots()),
               {}});
        std::vector<int32_t> &columns = job.slotUses[use->second].columns;
        if (columns.empty() || columns.back() != int32_t(column))
          columns.push_back(int32_t(column));
      }
    }
  }
}

/// Who uses their states; when they are awaited is what the runtime says.
void JobMaker::addDeferred(const std::vector<timeline::Wait> &waits) {
  const auto meet = [](const auto &states, const auto &others) {
    return std::ranges::any_of(states, [&](const plan::State *state) {
      return std::ranges::count(others, state) > 0;
    });
  };
  std::map<std::pair<int32_t, int32_t>, int32_t> awaitedBy;
  for (const timeline::Wait &wait : waits)
    awaitedBy.try_emplace({wait.rank, wait.awaited}, wait.waiting);
  for (int32_t role = 0; role < int32_t(job.rows.size()); ++role) {
    const int32_t size = int32_t(job.rows[role].size());
    for (int32_t column = 0; column < size; ++column) {
      if (!canBeDeferred(job.rows[role][column].action.kind))
        continue;
      const auto wait = awaitedBy.find({role, column});
      timeline::Deferred deferred{
          role, column, wait == awaitedBy.end() ? size : wait->second, {}};
      const Access &own = access(role, column);
      for (int32_t user = column + 1; user < deferred.awaitedBy; ++user)
        if (const Access &other = access(role, user);
            meet(own.writes, other.reads) || meet(own.writes, other.writes) ||
            meet(own.reads, other.writes))
          deferred.users.push_back(user);
      job.deferred.push_back(std::move(deferred));
    }
  }
}

static std::string lineOf(const plan::Entry &segment) {
  for (const plan::Instruction *instruction : *segment.instructions())
    if (const auto *location = instruction->location();
        location && location->size() > 0)
      return location->str();
  return "";
}

void JobMaker::addLines() {
  std::map<Action, std::string> lines;
  auto withoutMicrobatch = [](Action action) {
    action.microbatch = isOnce(action.kind) ? action.microbatch : 0;
    return action;
  };
  for (const plan::TimelineRow *row : *planned.rows())
    for (const plan::Action *action : *row->actions()) {
      auto [line, isNew] =
          lines.try_emplace(withoutMicrobatch(toAction(*action)));
      if (!isNew)
        continue;
      if (action->kind() == plan::ActionKind::Run)
        line->second = lineOf(*plan.entries()->Get(action->index()));
      else if (const auto *location = messageOf(*action).location())
        line->second = location->str();
    }
  job.lineOf = [lines = std::move(lines),
                withoutMicrobatch](const Action &action) {
    auto found = lines.find(withoutMicrobatch(action));
    return found == lines.end() ? std::string() : found->second;
  };
}

timeline::Job JobMaker::run(const std::vector<timeline::Wait> &deferredWaits) {
  for (const plan::TimelineRow *row : *planned.rows()) {
    timeline::Row &out = table.rows.emplace_back();
    for (const plan::Action *action : *row->actions())
      out.push_back(toAction(*action));
  }
  findAccesses();
  std::vector<timeline::Edge> edges;
  for (const plan::Message *message : *planned.messages())
    if (message->kind() == plan::MessageKind::Forward ||
        message->kind() == plan::MessageKind::Backward)
      edges.push_back({int32_t(message->source_stage()),
                       int32_t(message->destination_stage()),
                       message->kind() == plan::MessageKind::Backward, 0});
  addLocalEdges(edges);
  job =
      timeline::makeJob(table, timeline::Communicators::Edge, std::move(edges));
  addMessages();
  addSlotUses();
  addDeferred(deferredWaits);
  addLines();
  job.waits = waitsOfWalk(job, waitsForSlots(table, job.slotUses));
  return std::move(job);
}

std::string findUnknownStage(const plan::Plan &plan, const plan::Entry &entry) {
  const std::string name = entry.name()->str();
  for (const Segment &segment : findSegments(plan, entry))
    if (!segment.action)
      return "the name of segment \"" + segment.entry->name()->str() +
             "\" does not say its stage, as \"" + name + ".2F\" does";
  return "";
}

timeline::Job jobOf(const plan::Plan &plan, const plan::Entry &entry,
                    const std::vector<timeline::Wait> &deferredWaits) {
  return JobMaker(plan, entry).run(deferredWaits);
}

} // namespace weft
