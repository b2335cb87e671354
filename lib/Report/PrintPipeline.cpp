//===- PrintPipeline.cpp - The stages of an entry as tables ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineReport.h"

#include "weft/Cost/Bytes.h"
#include "weft/Report/TextTable.h"
#include "weft/Timeline/Counted.h"
#include "weft/Timeline/Draw.h"

#include <algorithm>
#include <utility>

namespace weft {

static std::string percent(double fraction) {
  return format("%.1f %%", 100 * fraction);
}

/// Idle time of a rank, as a share of the makespan.
static std::string printBubble(const PipelineReport &pipeline, int64_t role) {
  if (!pipeline.schedule || pipeline.schedule->timing.makespan == 0)
    return "-";
  return percent(pipeline.schedule->timing.bubbleFraction(int32_t(role)));
}

static std::string printStages(const EntryReport &entry) {
  const PipelineReport &pipeline = *entry.pipeline;
  const bool hasHalves =
      std::ranges::any_of(pipeline.stages, [](const StageRecord &stage) {
        return stage.inputGradientFlops + stage.weightGradientFlops > 0;
      });
  TextTable table;
  auto add = [&](const char *heading, const char *above = "") {
    table.addColumn(heading, TextTable::Align::Right, above);
  };
  add("stage");
  add("rank");
  add("parameters");
  add("FLOPs", "forward");
  add("FLOPs", "backward");
  if (hasHalves) {
    add("FLOPs", "input-gradient");
    add("FLOPs", "weight-gradient");
  }
  add("FLOPs", "once a step");
  add("stages", "sent to");
  add("collectives", "sent in");
  add("bubble");
  add("memory");
  std::vector<char> isKnown(entry.memory.size());
  for (const StageRecord &stage : pipeline.stages) {
    std::vector<std::string> row = {
        std::to_string(stage.stage), std::to_string(stage.role),
        printBytes(stage.parameterBytes), printCount(stage.forwardFlops),
        printCount(stage.backwardFlops)};
    if (hasHalves)
      row.insert(row.end(), {printCount(stage.inputGradientFlops),
                             printCount(stage.weightGradientFlops)});
    const std::string once = printCount(stage.onceFlops),
                      arena = printBytes(entry.memory[stage.role].arenaBytes);
    // What is of the rank stands at its first stage.
    const bool isFirst = !std::exchange(isKnown[stage.role], true);
    row.insert(row.end(), {isFirst ? once : "", printBytes(stage.sentBytes),
                           printBytes(stage.collectiveBytes),
                           isFirst ? printBubble(pipeline, stage.role) : "",
                           isFirst ? arena : ""});
    table.addRow(std::move(row));
  }
  return table.print();
}

/// Costs of a unit for each pass that there is, and no transfers.
static timeline::Costs
withEqualPasses(const timeline::TimedSchedule &schedule) {
  timeline::Costs costs;
  for (const timeline::StageCosts &stage : schedule.costs.stages) {
    double backward = schedule.extent.splitsBackward ? 1 : 2;
    costs.stages.push_back({stage.forward > 0 ? 1. : 0.,
                            stage.inputGradient > 0 ? backward : 0,
                            stage.weightGradient > 0 ? 1. : 0.});
  }
  return costs;
}

/// Whether there are micro-batches: entries without a loop compute once.
static bool computes(const timeline::TimedSchedule &schedule) {
  return std::ranges::any_of(
      schedule.timing.ranks,
      [](const timeline::RankTiming &rank) { return rank.busy > 0; });
}

/// When the passes run, by the estimates of the compiler.
static std::string printSchedule(const PipelineReport &pipeline) {
  const timeline::TimedSchedule &schedule = *pipeline.schedule;
  const double makespan = schedule.timing.makespan;
  if (!computes(schedule))
    return {};
  double once = 0;
  for (const StageRecord &stage : pipeline.stages)
    once = std::max(once, stage.onceSeconds);
  std::string text = "  estimated for the micro-batches: makespan " +
                     printSeconds(makespan * 1e-6) +
                     format(" (%.3fx the lower bound), bubble ",
                            makespan / schedule.lowerBound) +
                     percent(schedule.timing.bubbleFraction()) +
                     " of the makespan; before and behind them " +
                     printSeconds(once) + "\n";
  // Little could be seen of passes that are short beside transfers.
  timeline::Timing drawn = schedule.timing;
  constexpr double mostDrawn = 0.75;
  if (drawn.bubbleFraction() > mostDrawn) {
    drawn = *timeTable(schedule.table, withEqualPasses(schedule));
    text += "  transfers take most of the time; drawn without them, forward "
            "passes, input and weight gradients equally long\n";
  }
  for (char c : "  " + drawText(schedule.table, drawn))
    text += c == '\n' ? "\n  " : std::string(1, c);
  text.resize(text.size() - 2);
  return text;
}

/// The largest ones of a step first.
static std::string printMessages(std::vector<MessageRecord> messages) {
  if (messages.empty())
    return {};
  constexpr size_t shown = 8;
  std::ranges::stable_sort(messages, std::ranges::greater(),
                           [](const MessageRecord &message) {
                             return message.count * message.bytes;
                           });
  TextTable table;
  table.addColumn("message", TextTable::Align::Left);
  for (const char *heading : {"bytes sent", "count", "queue"})
    table.addColumn(heading);
  uint64_t bytes = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const MessageRecord &message = messages[i];
    bytes += message.count * message.bytes;
    if (i < shown)
      table.addRow({message.label, printBytes(message.bytes),
                    std::to_string(message.count),
                    std::to_string(message.queue)});
  }
  if (messages.size() > shown)
    table.addRow(
        {std::to_string(messages.size() - shown) + " more", "", "", ""});
  return table.print() + "  " + exactBytes(bytes) +
         " sent from stage to stage per call\n";
}

static std::string printRoles(const std::vector<int64_t> &roles) {
  std::string text = roles.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < roles.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == roles.size() ? " and "
                                     : ", ") +
            std::to_string(roles[i]);
  return text;
}

/// Who updates what several ranks have.
static std::string printShared(const std::vector<SharedParameter> &shared) {
  std::string text;
  for (const SharedParameter &parameter : shared) {
    if (parameter.updatedBy.empty())
      continue;
    text += "  " + parameter.name + " (" + printBytes(parameter.bytes) +
            ") is updated by " + printRoles(parameter.updatedBy);
    if (parameter.updatedBy.size() > 1)
      text += ", a copy each";
    if (!parameter.sentTo.empty())
      text += " and sent to " + printRoles(parameter.sentTo);
    text += "\n";
  }
  return text;
}

std::string printPipeline(const EntryReport &entry) {
  const PipelineReport &pipeline = *entry.pipeline;
  std::string text = "  ";
  if (pipeline.schedule && computes(*pipeline.schedule))
    text += pipeline.schedule->title();
  else
    text += "pipeline of " + timeline::counted(entry.memory.size(), "rank");
  text += ", along \"" + pipeline.axis + "\"\n";
  if (!pipeline.stages.empty())
    text += printStages(entry);
  if (pipeline.schedule)
    text += printSchedule(pipeline);
  return text + printMessages(pipeline.messages) + printShared(pipeline.shared);
}

} // namespace weft
