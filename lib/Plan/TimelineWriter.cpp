//===- TimelineWriter.cpp - An entry that roles execute together ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimelineWriter.h"

#include "PlanTypes.h"

#include "weft/IR/Segments.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Schedule/EntryBuffers.h"
#include "weft/Timeline/Table.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace weft {

using timeline::Action;

namespace {

/// The stages at both ends of a message, its kind and its level.
using MessageKey = std::tuple<std::string, int64_t, int64_t, int64_t>;

class TimelineWriter {
public:
  TimelineWriter(func::FuncOp entry, const ProgramStates &states,
                 const llvm::StringMap<uint32_t> &entries, PlanTables &tables)
      : entry(entry), attribute(getTimeline(entry)), states(states),
        entries(entries), tables(tables) {}

  FailureOr<std::unique_ptr<plan::EntryT>> write();

private:
  LogicalResult parseRows();
  std::string lineOf(MessageAttr message);
  void writeMessages();
  void writeRows();
  plan::Action toAction(const Action &action) const;
  void writeBindings();
  std::unique_ptr<plan::BindingT> bind(std::string name,
                                       std::unique_ptr<plan::TensorTypeT> type,
                                       plan::BufferKind kind);
  uint32_t stateOf(int64_t role, StringRef name) const;

  func::FuncOp entry;
  TimelineAttr attribute;
  const ProgramStates &states;
  const llvm::StringMap<uint32_t> &entries;
  PlanTables &tables;
  timeline::Table table;
  std::map<int64_t, uint32_t> roleOfStage;
  std::map<MessageKey, uint32_t> messages;
  std::unique_ptr<plan::EntryT> result = std::make_unique<plan::EntryT>();
};

} // namespace

LogicalResult TimelineWriter::parseRows() {
  std::string text;
  for (auto row : attribute.getRows().getAsRange<StringAttr>())
    text += row.getValue().str() + "\n";
  timeline::ParsedTable parsed = timeline::parseCsv(text, "timeline");
  for (const std::string &error : parsed.errors)
    entry.emitError() << error;
  table = std::move(parsed.table);
  for (auto [role, row] : llvm::enumerate(table.rows))
    for (const Action &action : row)
      roleOfStage[action.stage] = role;
  return success(parsed.errors.empty());
}

uint32_t TimelineWriter::stateOf(int64_t role, StringRef name) const {
  const ProgramState *state =
      llvm::find_if(states.states(), [&](const ProgramState &state) {
        return (state.role == role || state.role < 0) && state.name == name;
      });
  return state - states.states().begin();
}

/// "activations of stage 0 for stage 1".
static std::string labelOf(MessageAttr message) {
  StringRef kind = message.getKind();
  std::string what =
      kind == "F"   ? "activations"
      : kind == "B" ? "gradients"
                    : llvm::formatv("level {0} of the {1}", message.getLevel(),
                                    kind == "P" ? "prologue" : "update")
                          .str();
  return llvm::formatv("{0} of stage {1} for stage {2}", what,
                       message.getSource(), message.getDestination());
}

static plan::MessageKind kindOf(StringRef kind) {
  return kind == "F"   ? plan::MessageKind::Forward
         : kind == "B" ? plan::MessageKind::Backward
         : kind == "P" ? plan::MessageKind::Prologue
                       : plan::MessageKind::Update;
}

/// Of the first value that is sent.
std::string TimelineWriter::lineOf(MessageAttr message) {
  if (message.getValues().empty())
    return "";
  std::string name =
      entry.getSymName().str() + "." + std::to_string(message.getSource());
  StringRef value = cast<StringAttr>(message.getValues()[0]).getValue();
  for (func::FuncOp segment : findEntries(entry->getParentOfType<ModuleOp>()))
    if (segment.getSymName().starts_with(name))
      for (OpOperand &result : segment.front().getTerminator()->getOpOperands())
        if (getResultName(segment, result.getOperandNumber()) == value)
          return toSourcePosition(result.get().getLoc());
  return "";
}

void TimelineWriter::writeMessages() {
  for (auto message : attribute.getMessages().getAsRange<MessageAttr>()) {
    messages[{message.getKind().str(), message.getSource(),
              message.getDestination(), message.getLevel()}] =
        result->timeline->messages.size();
    auto out = std::make_unique<plan::MessageT>();
    out->label = labelOf(message);
    out->location = lineOf(message);
    out->source_role = roleOfStage.at(message.getSource());
    out->destination_role = roleOfStage.at(message.getDestination());
    out->queue = message.getQueue();
    out->kind = kindOf(message.getKind());
    out->level = message.getLevel();
    out->source_stage = message.getSource();
    out->destination_stage = message.getDestination();
    for (auto name : message.getValues().getAsRange<StringAttr>()) {
      out->source_states.push_back(stateOf(out->source_role, name.getValue()));
      out->destination_states.push_back(
          stateOf(out->destination_role, name.getValue()));
    }
    result->timeline->messages.push_back(std::move(out));
  }
}

plan::Action TimelineWriter::toAction(const Action &action) const {
  bool isOnce = timeline::isOnce(action.kind);
  int64_t number = action.microbatch;
  if (!timeline::isTransfer(action.kind)) {
    std::string name = llvm::formatv("{0}.{1}{2}", result->name, action.stage,
                                     nameOf(action.kind));
    if (isOnce)
      name += std::to_string(number);
    return {plan::ActionKind::Run, entries.lookup(name),
            uint32_t(timeline::isOfMicrobatch(action.kind) ? number : 0)};
  }
  bool isSend = timeline::isSend(action.kind);
  int64_t source = action.stage, destination = timeline::peerOf(action);
  if (!isSend)
    std::swap(source, destination);
  // "SEND_F", "RECV_U".
  std::string kind(1, nameOf(action.kind).back());
  return {isSend ? plan::ActionKind::Send : plan::ActionKind::Receive,
          messages.at({kind, source, destination, isOnce ? number : 0}),
          uint32_t(isOnce ? 0 : number)};
}

void TimelineWriter::writeRows() {
  for (const timeline::Row &row : table.rows) {
    auto out = std::make_unique<plan::TimelineRowT>();
    for (const Action &action : row)
      out->actions.push_back(toAction(action));
    result->timeline->rows.push_back(std::move(out));
  }
}

/// The buffers that hold an argument or result: each of another role, or one of
/// all roles where an entry without a pipeline has the state as well.
std::unique_ptr<plan::BindingT>
TimelineWriter::bind(std::string name, std::unique_ptr<plan::TensorTypeT> type,
                     plan::BufferKind kind) {
  auto binding = std::make_unique<plan::BindingT>();
  std::vector<uint32_t> buffers;
  for (const ProgramState &state : states.states()) {
    if (state.name != name)
      continue;
    buffers.push_back(result->buffers.size());
    auto out = std::make_unique<plan::BufferT>();
    out->kind = state.role < 0 ? plan::BufferKind::State : kind;
    out->dtype = type->dtype;
    out->shape = type->local_shape;
    out->offset = state.offset;
    out->bytes = byteSize(state.type);
    out->name = name;
    if (state.role >= 0)
      out->role = state.role;
    result->buffers.push_back(std::move(out));
  }
  binding->buffer = buffers.front();
  binding->copies.assign(buffers.begin() + 1, buffers.end());
  binding->name = std::move(name);
  binding->type = std::move(type);
  return binding;
}

void TimelineWriter::writeBindings() {
  // A state is an argument of one entry and a result of one.
  llvm::StringSet<> arguments, results;
  for (func::FuncOp each : findTimelines(entry->getParentOfType<ModuleOp>())) {
    for (unsigned i = 0; i < each.getNumArguments(); ++i)
      arguments.insert(getArgumentName(each, i));
    for (unsigned i = 0; i < each.getNumResults(); ++i)
      results.insert(getResultName(each, i));
  }
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    std::string name = getArgumentName(entry, i);
    result->inputs.push_back(bind(name, argumentType(tables.mesh, entry, i),
                                  results.contains(name)
                                      ? plan::BufferKind::State
                                      : plan::BufferKind::Input));
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    std::string name = getResultName(entry, i);
    result->outputs.push_back(bind(name, resultType(tables.mesh, entry, i),
                                   arguments.contains(name)
                                       ? plan::BufferKind::State
                                       : plan::BufferKind::Output));
  }
}

static int32_t findAxis(const PlanTables &tables, StringRef name) {
  auto axis =
      llvm::find_if(tables.mesh.axes(), [&](const sharding::MeshAxis &each) {
        return each.name == name;
      });
  return axis - tables.mesh.axes().begin();
}

FailureOr<std::unique_ptr<plan::EntryT>> TimelineWriter::write() {
  if (failed(parseRows()))
    return failure();
  int32_t axis = findAxis(tables, attribute.getAxis().getValue());
  result->name = entry.getName();
  result->timeline = std::make_unique<plan::TimelineT>();
  result->timeline->microbatches = attribute.getMicrobatches();
  result->timeline->group =
      tables.groupOf({{axis, 1, tables.mesh.axes()[axis].size}});
  writeMessages();
  writeRows();
  writeBindings();
  result->observed = toObserved(entry);
  return std::move(result);
}

FailureOr<std::unique_ptr<plan::EntryT>>
writeTimeline(func::FuncOp entry, const ProgramStates &states,
              const llvm::StringMap<uint32_t> &entries, PlanTables &tables) {
  return TimelineWriter(entry, states, entries, tables).write();
}

std::unique_ptr<plan::PipelineT> writePipeline(ModuleOp module,
                                               const PlanTables &tables) {
  SmallVector<func::FuncOp> timelines = findTimelines(module);
  if (timelines.empty())
    return {};
  auto pipeline = std::make_unique<plan::PipelineT>();
  pipeline->axis =
      findAxis(tables, getTimeline(timelines.front()).getAxis().getValue());
  for (size_t role = 0; role < getTimeline(timelines.front()).getRows().size();
       ++role) {
    auto out = std::make_unique<plan::RoleT>();
    for (func::FuncOp entry : findEntries(module))
      if (weft::roleOf(entry) < 0 || weft::roleOf(entry) == int64_t(role))
        out->arena_bytes = std::max<uint64_t>(
            out->arena_bytes,
            entry->getAttrOfType<IntegerAttr>(arenaBytesAttrName).getInt());
    pipeline->roles.push_back(std::move(out));
  }
  return pipeline;
}

} // namespace weft
