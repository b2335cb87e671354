//===- StepText.cpp - A predicted step as tables --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPrint.h"

#include "weft/Cost/Bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

using namespace weft::simulate;

namespace weft::tools {

static std::string shown(Picoseconds time) {
  return printSeconds(toSeconds(time));
}

std::string printMesh(const std::vector<cost::MeshAxis> &axes) {
  std::string mesh;
  for (const cost::MeshAxis &axis : axes)
    mesh +=
        fmt::format("{}{}={}", mesh.empty() ? "" : " x ", axis.name, axis.size);
  return mesh;
}

static std::string printHead(const StepReport &report) {
  const Prediction &prediction = report.prediction;
  const std::string mesh = printMesh(prediction.mesh);
  const int64_t devices = prediction.devices();
  std::string text = fmt::format(
      "{} on {} ({})\n{}{} device{}", prediction.entry,
      report.machine.cost.cluster().name, report.machine.reason,
      mesh.empty() ? "" : mesh + ", ", devices, devices == 1 ? "" : "s");
  if (prediction.pipelineAxes)
    text += fmt::format(", {} roles along {}", prediction.roles.size(),
                        prediction.axes[*prediction.pipelineAxes]);
  return text + "\n";
}

static std::string printSummary(const StepReport &report) {
  const Prediction &prediction = report.prediction;
  const Usage total = prediction.total();
  const double roles = static_cast<double>(prediction.roles.size());
  const auto flops = [&](int64_t sum) {
    return printCount(static_cast<uint64_t>(static_cast<double>(sum) / roles));
  };
  std::string text =
      fmt::format("  {:<20} {:>11}\n", "step time", shown(prediction.step));
  text += fmt::format("  {:<20} {:>9.1f} %  {}flop of the model on a device\n",
                      "MFU", 100 * prediction.modelUtilization(),
                      flops(total.modelFlops));
  text += fmt::format("  {:<20} {:>9.1f} %  {}flop executed\n", "HFU",
                      100 * prediction.hardwareUtilization(),
                      flops(total.executedFlops));
  const auto rate = [&](const char *name, double perStep) {
    if (perStep > 0 && prediction.step > 0)
      text += fmt::format("  {:<20} {:>11.5g}\n", name,
                          perStep / toSeconds(prediction.step));
  };
  rate("samples per second", report.samples);
  rate("tokens per second", report.tokens);
  return text;
}

namespace {

/// A row of the table of times, of every role.
struct TimeRow {
  std::string name;
  std::vector<Picoseconds> times;
};

} // namespace

static std::vector<TimeRow> timeRows(const Prediction &prediction) {
  std::vector<TimeRow> rows;
  const auto add =
      [&](const std::string &name,
          const std::function<Picoseconds(const RolePrediction &)> &timeOf) {
        TimeRow row{name, {}};
        for (const RolePrediction &role : prediction.roles)
          row.times.push_back(timeOf(role));
        if (std::ranges::any_of(row.times, [](auto time) { return time > 0; }))
          rows.push_back(std::move(row));
      };
  for (size_t i = 0; i < kernelClasses; ++i)
    add(kernelClassNames[i],
        [i](const RolePrediction &role) { return role.usage.kernels[i]; });
  for (size_t i = 0; i < prediction.axes.size(); ++i)
    add("exposed, " + prediction.axes[i], [i](const RolePrediction &role) {
      return role.usage.communication[i].exposed;
    });
  add("bubble", [](const RolePrediction &role) { return role.bubble; });
  add("host", [](const RolePrediction &role) { return role.usage.host; });
  add("sum", [](const RolePrediction &role) { return role.sum(); });
  for (size_t i = 0; i < prediction.axes.size(); ++i)
    add("hidden, " + prediction.axes[i], [i](const RolePrediction &role) {
      return role.usage.communication[i].hidden();
    });
  add("contention in kernels",
      [](const RolePrediction &role) { return role.usage.contention; });
  return rows;
}

static std::string printTimes(const Prediction &prediction) {
  const bool hasRoles = prediction.roles.size() > 1;
  std::string text = fmt::format("{:<24} {:>11}  {:>7}", "time of a rank",
                                 hasRoles ? "mean" : "", "of step");
  text += hasRoles ? fmt::format("  {:>11}  {:>11}\n", "least", "most") : "\n";
  for (const TimeRow &row : timeRows(prediction)) {
    double sum = 0;
    for (Picoseconds time : row.times)
      sum += toSeconds(time);
    const double mean = sum / static_cast<double>(row.times.size());
    text +=
        fmt::format("  {:<22} {:>11}  {:>5.1f} %", row.name, printSeconds(mean),
                    100 * mean / toSeconds(prediction.step));
    text += hasRoles ? fmt::format("  {:>11}  {:>11}\n",
                                   shown(std::ranges::min(row.times)),
                                   shown(std::ranges::max(row.times)))
                     : "\n";
  }
  return text;
}

static std::string levelName(const cost::Cluster &cluster, size_t level) {
  return level == 0
             ? "in a node, " + std::string(nameOf(cluster.node.link.kind))
             : cluster.network->levels[level - 1].name;
}

static std::string printSent(const StepReport &report) {
  const Usage total = report.prediction.total();
  const uint64_t roles = report.prediction.roles.size();
  std::string text = "sent by a rank\n";
  for (size_t level = 0; level < total.sentBytes.size(); ++level)
    if (total.sentBytes[level] > 0)
      text += fmt::format("  {:<22} {:>11}\n",
                          levelName(report.machine.cost.cluster(), level),
                          printBytes(total.sentBytes[level] / roles));
  return text.find(' ', text.find('\n')) == std::string::npos ? "" : text;
}

static std::string printVerdict(const StepReport &report) {
  const double usable = report.machine.cost.usableBytes(),
               needed = static_cast<double>(report.memory.arenaBytes);
  const cost::Cluster &cluster = report.machine.cost.cluster();
  const bool fits = needed <= usable;
  const auto bytes = [](double number) {
    return printBytes(static_cast<uint64_t>(std::max(0.0, number)));
  };
  return fmt::format("  {} {} of {} ({} less {} of reserves)\n",
                     fits ? "fits, leaves" : "exceeds by",
                     bytes(fits ? usable - needed : needed - usable),
                     bytes(usable), bytes(cluster.device.memoryBytes),
                     bytes(cluster.reserves.bytes()));
}

static std::string printMemory(const StepReport &report) {
  const bool hasRoles = report.prediction.roles.size() > 1;
  std::string text =
      fmt::format("memory of a rank{}\n",
                  hasRoles ? fmt::format(" of role {}, which has the most",
                                         report.memoryRole)
                           : "");
  const auto add = [&](const std::string &name, uint64_t bytes) {
    if (bytes > 0)
      text += fmt::format("  {:<22} {:>11}\n", name, printBytes(bytes));
  };
  for (const PurposeRecord &record : report.memory.purposes)
    add(record.purpose, record.peakBytes);
  add("free at the peak", report.memory.arenaBytes - report.memory.peakBytes);
  text += fmt::format("  {:<22} {:>11}\n", "arena",
                      printBytes(report.memory.arenaBytes));
  return text + printVerdict(report);
}

static std::string printScale(const StepReport &report) {
  if (report.scale.empty())
    return "";
  int64_t planned = 1;
  for (const cost::MeshAxis &axis : report.prediction.mesh)
    if (axis.name == report.scaledAxis)
      planned = axis.size;
  std::string text = fmt::format(
      "weak scaling along {}, efficiency relative to the plan's {}\n"
      "  {:>8}  {:>8}  {:>11}  {:>13}  {:>11}  {:>10}",
      report.scaledAxis, planned, report.scaledAxis.substr(0, 8), "devices",
      "step time", "communication", "exposed", "efficiency");
  const bool hasTokens = report.tokens > 0;
  const double items = hasTokens ? report.tokens : report.samples;
  if (items > 0)
    text += hasTokens ? "     tokens/s" : "    samples/s";
  text += "\n";
  for (const ScaleRow &row : report.scale) {
    text += fmt::format("  {:>8}  {:>8}  {:>11}  {:>13}  {:>11}  {:>8.1f} %",
                        row.size, row.devices, shown(row.step),
                        shown(row.communication.total),
                        shown(row.communication.exposed), 100 * row.efficiency);
    if (items > 0)
      text += fmt::format("  {:>11.5g}", items * static_cast<double>(row.size) /
                                             static_cast<double>(planned) /
                                             toSeconds(row.step));
    text += "\n";
  }
  return text;
}

static std::string printStrong(const StepReport &report) {
  if (report.strong.empty())
    return "";
  size_t width = std::string_view("mesh").size();
  for (const PlanRow &row : report.strong)
    width = std::max(width, printMesh(row.mesh).size());
  const bool hasTokens = report.tokens > 0;
  const double items = hasTokens ? report.tokens : report.samples;
  std::string text = fmt::format(
      "strong scaling, efficiency relative to the first plan's {} devices\n"
      "  {:>8}  {:>{}}  {:>11}  {:>13}  {:>11}  {:>10}{}  {:>11}\n",
      report.strong.front().devices, "devices", "mesh", width, "step time",
      "communication", "exposed", "efficiency",
      items > 0 ? hasTokens ? "     tokens/s" : "    samples/s" : "", "memory");
  for (const PlanRow &row : report.strong) {
    text += fmt::format("  {:>8}  {:>{}}  {:>11}  {:>13}  {:>11}  {:>8.1f} %",
                        row.devices, printMesh(row.mesh), width,
                        shown(row.step), shown(row.communication.total),
                        shown(row.communication.exposed), 100 * row.efficiency);
    if (items > 0)
      text += fmt::format("  {:>11.5g}", items / toSeconds(row.step));
    text += fmt::format("  {:>11}  {}\n", printBytes(row.memory.arenaBytes),
                        row.fits ? "fits" : "exceeds the device");
  }
  return text;
}

/// Where a group lies; of a pipeline, what is between its roles.
static std::string printPlacement(const StepReport &report, size_t axes,
                                  const cost::Placement &placement) {
  const cost::Cluster &cluster = report.machine.cost.cluster();
  std::string text = levelName(cluster, placement.level);
  if (axes != report.prediction.pipelineAxes && placement.level > 0)
    text += fmt::format(", {} nodes", placement.nodes);
  return fmt::format("{}: {}", report.prediction.axes[axes], text);
}

static std::string printRanks(const StepReport &report) {
  if (report.ranks.empty())
    return "";
  std::string text = fmt::format("ranks of a role by where their groups lie\n"
                                 "  {:>8}  {:>8}  {:>8}  {:>11}  {:>11}  {}\n",
                                 "rank", "device", "like it", "step time",
                                 "exposed", "groups");
  for (const RankRow &row : report.ranks) {
    std::string groups;
    for (size_t axes = 0; axes < row.placements.size(); ++axes)
      groups += (groups.empty() ? "" : "; ") +
                printPlacement(report, axes, row.placements[axes]);
    text += fmt::format("  {:>8}  {:>8}  {:>8}  {:>11}  {:>11}  {}\n", row.rank,
                        row.device, row.ranks - 1, shown(row.step),
                        shown(row.exposed), groups);
  }
  return text;
}

std::string printText(const StepReport &report) {
  return printHead(report) + printSummary(report) +
         printTimes(report.prediction) + printSent(report) +
         printMemory(report) + printRanks(report) + printScale(report) +
         printStrong(report);
}

} // namespace weft::tools
