//===- StepJson.cpp - A predicted step for programs -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/Sweep.h"

#include <nlohmann/json.hpp>

using nlohmann::ordered_json;

namespace weft::simulate {

static ordered_json toJson(const Prediction &prediction,
                           const RolePrediction &role) {
  const Usage &usage = role.usage;
  ordered_json json;
  for (size_t i = 0; i < kernelClasses; ++i)
    json[kernelClassKeys[i]] = toSeconds(usage.kernels[i]);
  json["contention_seconds"] = toSeconds(usage.contention);
  json["bubble_seconds"] = toSeconds(role.bubble);
  json["host_seconds"] = toSeconds(usage.host);
  json["model_flops"] = usage.modelFlops;
  json["executed_flops"] = usage.executedFlops;
  json["sent_bytes"] = usage.sentBytes;
  json["communication"] = ordered_json::array();
  for (size_t i = 0; i < prediction.axes.size(); ++i)
    json["communication"].push_back(
        {{"axes", prediction.axes[i]},
         {"exposed_seconds", toSeconds(usage.communication[i].exposed)},
         {"hidden_seconds", toSeconds(usage.communication[i].hidden())}});
  return json;
}

static ordered_json toJson(const Prediction &prediction, const RankRow &row) {
  ordered_json json = {{"rank", row.rank},
                       {"device", row.device},
                       {"ranks", row.ranks},
                       {"step_seconds", toSeconds(row.step)},
                       {"exposed_seconds", toSeconds(row.exposed)},
                       {"groups", ordered_json::array()}};
  for (size_t i = 0; i < row.placements.size(); ++i)
    json["groups"].push_back(
        {{"axes", prediction.axes[i]},
         {"level", row.placements[i].level},
         {"nodes", row.placements[i].nodes},
         {"ranks_per_node", row.placements[i].ranksPerNode}});
  return json;
}

static ordered_json toJson(const std::vector<cost::MeshAxis> &mesh) {
  ordered_json json = ordered_json::object();
  for (const cost::MeshAxis &axis : mesh)
    json[axis.name] = axis.size;
  return json;
}

static ordered_json toJson(const PlanRow &row) {
  return {{"mesh", toJson(row.mesh)},
          {"devices", row.devices},
          {"step_seconds", toSeconds(row.step)},
          {"mfu", row.modelUtilization},
          {"communication_seconds", toSeconds(row.communication.total)},
          {"exposed_seconds", toSeconds(row.communication.exposed)},
          {"bubble_seconds", toSeconds(row.bubble)},
          {"arena_bytes", row.memory.arenaBytes},
          {"fits", row.fits},
          {"efficiency", row.efficiency}};
}

static void addRates(double samples, double tokens, Picoseconds step,
                     ordered_json &json) {
  if (samples > 0)
    json["samples_per_second"] = samples / toSeconds(step);
  if (tokens > 0)
    json["tokens_per_second"] = tokens / toSeconds(step);
}

ordered_json toJson(const SweepRequest &request, const Sweep &sweep) {
  const cost::CostModel &cost = request.machine.cost;
  ordered_json rows = ordered_json::array();
  for (const SweepRow &row : sweep.rows) {
    ordered_json json = {{"plan", row.name},
                         {"settings", ordered_json::object()}};
    for (const auto &[name, value] : row.settings)
      json["settings"][name] = value;
    json.update(toJson(row));
    addRates(request.samples, request.tokens, row.step, json);
    json["choices"] = row.choices;
    rows.push_back(std::move(json));
  }
  return {{"entry", request.entry.name()->str()},
          {"cluster", cost.cluster().name},
          {"cluster_reason", request.machine.reason},
          {"usable_bytes", cost.usableBytes()},
          {"rows", std::move(rows)}};
}

static ordered_json memoryJson(const StepReport &report) {
  ordered_json purposes = ordered_json::object();
  for (const PurposeRecord &record : report.memory.purposes)
    purposes[record.purpose] = record.peakBytes;
  const cost::CostModel &cost = report.machine.cost;
  const double needed = static_cast<double>(report.memory.arenaBytes);
  return {{"role", report.memoryRole},
          {"peak_bytes", std::move(purposes)},
          {"arena_bytes", report.memory.arenaBytes},
          {"usable_bytes", cost.usableBytes()},
          {"device_bytes", cost.cluster().device.memoryBytes},
          {"fits", needed <= cost.usableBytes()}};
}

ordered_json toJson(const StepReport &report) {
  const Prediction &prediction = report.prediction;
  const cost::Cluster &cluster = report.machine.cost.cluster();
  ordered_json json = {
      {"entry", prediction.entry},
      {"cluster", cluster.name},
      {"cluster_reason", report.machine.reason},
      {"cluster_devices", cluster.devices()},
      {"mesh", toJson(prediction.mesh)},
      {"devices", prediction.devices()},
      {"step_seconds", toSeconds(prediction.step)},
      {"step_picoseconds", prediction.step},
      {"mfu", prediction.modelUtilization()},
      {"hfu", prediction.hardwareUtilization()},
      {"exposed_seconds", toSeconds(prediction.communication().exposed)},
      {"bubble_seconds", toSeconds(prediction.bubble())}};
  addRates(report.samples, report.tokens, prediction.step, json);
  for (const RolePrediction &role : prediction.roles)
    json["roles"].push_back(toJson(prediction, role));
  json["memory"] = memoryJson(report);
  for (const ScaleRow &row : report.scale)
    json["scale"].push_back(
        {{report.scaledAxis, row.size},
         {"devices", row.devices},
         {"step_seconds", toSeconds(row.step)},
         {"communication_seconds", toSeconds(row.communication.total)},
         {"exposed_seconds", toSeconds(row.communication.exposed)},
         {"efficiency", row.efficiency}});
  for (const PlanRow &row : report.strong)
    json["strong"].push_back(toJson(row));
  for (const RankRow &row : report.ranks)
    json["ranks"].push_back(toJson(prediction, row));
  return json;
}

} // namespace weft::simulate
