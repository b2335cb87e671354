//===- Fit.cpp - Fits the calibration to measured rows --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fit.h"

#include <cmath>
#include <map>
#include <random>

using namespace weft;
using namespace weft::cost;

static std::vector<Field> makeFields() {
  std::vector<Field> fields;
  const auto add = [&](const char *table, const char *name,
                       double Calibration::*member) {
    fields.push_back(
        {table, name, [=](Calibration &c) -> double & { return c.*member; }});
  };
  // Of the generations that rows are of.
  const auto addEach = [&](const char *table, const char *name,
                           ByGeneration Calibration::*member,
                           std::initializer_list<Generation> generations) {
    for (Generation generation : generations)
      fields.push_back({table, name,
                        [=](Calibration &c) -> double & {
                          return (c.*member)[static_cast<size_t>(generation)];
                        },
                        static_cast<int>(generation)});
  };
  constexpr Generation ampere = Generation::Ampere, hopper = Generation::Hopper,
                       blackwell = Generation::Blackwell;
  addEach("gemm", "gemmRate", &Calibration::gemmRate,
          {ampere, hopper, blackwell});
  add("gemm", "gemmFillDepth", &Calibration::gemmFillDepth);
  add("gemm", "gemmTileEdge", &Calibration::gemmTileEdge);
  add("gemm", "gemmStartSeconds", &Calibration::gemmStartSeconds);
  addEach("attention", "flashAttention2Rate", &Calibration::flashAttention2Rate,
          {ampere, hopper});
  addEach("attention", "flashAttention3Rate", &Calibration::flashAttention3Rate,
          {hopper});
  addEach("attention", "cudnnAttentionRate", &Calibration::cudnnAttentionRate,
          {hopper});
  add("attention", "attentionBackwardRate",
      &Calibration::attentionBackwardRate);
  add("attention", "attentionBackwardTraffic",
      &Calibration::attentionBackwardTraffic);
  add("attention", "causalImbalance", &Calibration::causalImbalance);
  add("attention", "causalBlock", &Calibration::causalBlock);
  add("memory", "readRate", &Calibration::readRate);
  add("memory", "copyRate", &Calibration::copyRate);
  add("memory", "megabyteRate", &Calibration::megabyteRate);
  add("memory", "decadeRate", &Calibration::decadeRate);
  add("memory", "hostRate", &Calibration::hostRate);
  add("memory", "pairRate", &Calibration::pairRate);
  add("nccl", "nvlinkRate", &Calibration::nvlinkRate);
  add("nccl", "pcieRate", &Calibration::pcieRate);
  add("nccl", "networkRate", &Calibration::networkRate);
  add("nccl", "pairwiseRate", &Calibration::pairwiseRate);
  addEach("nccl", "inSwitchRate", &Calibration::inSwitchRate,
          {hopper, blackwell});
  addEach("nccl", "lowLatencyRate", &Calibration::lowLatencyRate,
          {ampere, hopper});
  add("nccl", "callSeconds", &Calibration::callSeconds);
  add("nccl", "nodeHopFactor", &Calibration::nodeHopFactor);
  add("nccl", "networkHopFactor", &Calibration::networkHopFactor);
  add("nccl", "fillBytes", &Calibration::fillBytes);
  return fields;
}

const std::vector<Field> &cost::fittedFields() {
  static const std::vector<Field> fields = makeFields();
  return fields;
}

/// Round numbers: what one would write down without having seen a row.
static Calibration start() {
  Calibration c;
  c.gemmRate = {1, 0.8, 0.8, 0.8};
  c.gemmFillDepth = 64;
  c.gemmStartSeconds = 1e-6;
  c.gemmTileEdge = 8;
  c.flashAttention2Rate = c.flashAttention3Rate =
      c.cudnnAttentionRate = {0.5, 0.6, 0.6, 0.6};
  c.attentionBackwardRate = 0.9;
  c.attentionBackwardTraffic = 2;
  c.causalImbalance = 1;
  c.causalBlock = 128;
  c.readRate = c.copyRate = c.hostRate = c.pairRate = 0.9;
  c.megabyteRate = 0.5;
  c.decadeRate = 0.2;
  c.nvlinkRate = c.pcieRate = c.pairwiseRate = 0.8;
  c.networkRate = 0.95;
  c.inSwitchRate = {0, 0.6, 0.6, 0.6};
  c.lowLatencyRate = {1, 1, 1, 1};
  c.callSeconds = 10e-6;
  c.nodeHopFactor = c.networkHopFactor = 1;
  c.fillBytes = 4e6;
  return c;
}

/// How strongly a constant is held at its start, and generations together.
static constexpr double toStart = 1e-4, toOthers = 1e-3;

static double penalty(Calibration &values, Calibration &starts,
                      const std::string &table) {
  double sum = 0;
  std::map<std::string, std::pair<double, int>> means;
  for (const Field &field : fittedFields())
    if (field.table == table) {
      const double value = std::log(field.value(values));
      // No kernel is faster than the data sheet.
      if (field.name == "gemmRate")
        sum += std::pow(std::max(0.0, value), 2);
      sum += toStart * std::pow(value - std::log(field.value(starts)), 2);
      means[field.name].first += value;
      ++means[field.name].second;
    }
  for (const Field &field : fittedFields())
    if (field.table == table && field.generation >= 0 &&
        field.name != "lowLatencyRate") {
      const auto &[total, count] = means[field.name];
      sum +=
          toOthers * std::pow(std::log(field.value(values)) - total / count, 2);
    }
  return sum;
}

/// The mean over sets, so that a long table does not outweigh a short one.
static double loss(const std::vector<Row> &rows,
                   const std::set<std::string> &leftOut,
                   const std::string &table, Calibration &values,
                   Calibration &starts) {
  std::map<std::string, std::pair<double, int>> sets;
  for (const Row &row : rows) {
    if (!row.isFitted || row.table != table ||
        leftOut.count(row.table + "/" + row.set))
      continue;
    auto &[sum, count] = sets[row.set];
    sum += std::pow(
        std::log(row.predictedSeconds(values) / row.measuredSeconds), 2);
    ++count;
  }
  double sum = 0, weight = 0;
  for (const auto &[set, total] : sets) {
    const double rowsOfSet = std::sqrt(total.second);
    sum += total.first / total.second * rowsOfSet;
    weight += rowsOfSet;
  }
  return sum / std::max(1.0, weight) + penalty(values, starts, table);
}

static constexpr int attempts = 12;

/// Goes from `values` downhill along one constant at a time.
static double descend(const std::vector<Row> &rows,
                      const std::set<std::string> &leftOut,
                      const std::string &table, Calibration &values,
                      Calibration &starts) {
  double best = loss(rows, leftOut, table, values, starts);
  for (double step = 0.3; step > 0.002;) {
    bool isBetter = false;
    for (const Field &field : fittedFields()) {
      if (field.table != table)
        continue;
      for (double factor : {1 + step, 1 / (1 + step)}) {
        double &value = field.value(values);
        const double old = value;
        value = old * factor;
        const double now = loss(rows, leftOut, table, values, starts);
        if (now < best * (1 - 1e-6)) {
          best = now;
          isBetter = true;
          break;
        }
        value = old;
      }
    }
    if (!isBetter)
      step /= 2;
  }
  return best;
}

Calibration cost::fit(const std::vector<Row> &rows,
                      const std::set<std::string> &leftOut) {
  Calibration starts = start(), fitted = starts;
  // Attention uses the rates of memory.
  for (const std::string table : {"memory", "gemm", "attention", "nccl"}) {
    // The way down depends on where it begins: from several places, drawn by
    // a generator that gives the same ones everywhere.
    std::minstd_rand random(1);
    double best = -1;
    Calibration nearest = fitted;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      Calibration values = fitted;
      for (const Field &field : fittedFields())
        if (field.table == table && attempt > 0) {
          const double far = field.name.ends_with("Rate") ? 0.2 : 2;
          const double draw =
              static_cast<double>(random()) / static_cast<double>(random.max());
          field.value(values) *= std::exp(far * (2 * draw - 1));
        }
      const double now = descend(rows, leftOut, table, values, starts);
      if (best < 0 || now < best) {
        best = now;
        nearest = values;
      }
    }
    for (const Field &field : fittedFields())
      if (field.table == table)
        field.value(fitted) = field.value(nearest);
  }
  return fitted;
}
