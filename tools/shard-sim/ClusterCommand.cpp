//===- ClusterCommand.cpp - shard-sim cluster -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "ClusterReport.h"
#include "Files.h"

#include "weft/Cost/ClusterFile.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <memory>

using namespace weft::cost;

namespace weft::tools {
namespace {

struct ClusterOptions {
  std::string cluster;
  bool lists = false;
  /// Empty: none.
  std::string gemm, collective;
  std::string dtype = "bf16";
  std::string bytes;
  int64_t ranks = 0, stride = 1;
  std::string format = "text";
};

constexpr int64_t most = int64_t(1) << 40;

/// A number from 1 to `most`, and what follows it.
std::optional<int64_t> readCount(std::string_view &text) {
  int64_t value = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 1 || value > most)
    return std::nullopt;
  text.remove_prefix(stop - text.data());
  return value;
}

/// "4096x12288x1536".
std::optional<Gemm> readGemm(std::string_view text) {
  Gemm gemm;
  for (int64_t *size : {&gemm.m, &gemm.n, &gemm.k}) {
    const std::optional<int64_t> value = readCount(text);
    const bool isLast = size == &gemm.k;
    // Products of two sizes are counted.
    if (!value || *value > (int64_t(1) << 30) ||
        (isLast ? !text.empty() : !text.starts_with('x')))
      return std::nullopt;
    if (!isLast)
      text.remove_prefix(1);
    *size = *value;
  }
  return gemm;
}

/// "64MiB", "1000".
std::optional<double> readBytes(std::string_view text) {
  const std::optional<int64_t> value = readCount(text);
  if (!value)
    return std::nullopt;
  double factor = 1;
  for (std::string_view unit : {"", "KiB", "MiB", "GiB"}) {
    if (text == unit)
      return static_cast<double>(*value) * factor;
    factor *= 1024;
  }
  return std::nullopt;
}

int listClusters() {
  for (const ShippedFile &shipped : shippedClusters())
    fmt::print("{:<28} {}\n", shipped.name,
               loadCluster(std::string(shipped.name)).cluster->name);
  fmt::print("software\n");
  for (const ShippedFile &shipped : shippedSoftware())
    fmt::print("{:<28} {}\n", shipped.name,
               loadSoftware(std::string(shipped.name)).software->name);
  return exitSuccess;
}

/// What is wrong in the options for one row, or nothing.
std::vector<std::string> checkOptions(const ClusterOptions &options,
                                      const Cluster &cluster) {
  std::vector<std::string> errors;
  if (!options.gemm.empty() && !readGemm(options.gemm))
    errors.push_back(fmt::format("--gemm must be MxNxK, three numbers from 1 "
                                 "to 1073741824, got \"{}\"",
                                 options.gemm));
  if (options.collective.empty()) {
    if (!options.bytes.empty() || options.ranks != 0 || options.stride != 1)
      errors.push_back("--bytes, --ranks and --stride need --collective");
    return errors;
  }
  if (options.bytes.empty() || options.ranks == 0)
    errors.push_back("--collective needs --bytes and --ranks");
  if (!options.bytes.empty() && !readBytes(options.bytes))
    errors.push_back(fmt::format("--bytes must be a number of bytes, KiB, MiB "
                                 "or GiB such as 64MiB, got \"{}\"",
                                 options.bytes));
  const double needed = static_cast<double>(options.ranks - 1) *
                            static_cast<double>(options.stride) +
                        1;
  if (needed > static_cast<double>(cluster.devices()))
    errors.push_back(fmt::format(
        "{} ranks with a stride of {} need {:.0f} devices, {} has {}",
        options.ranks, options.stride, needed, cluster.name,
        cluster.devices()));
  return errors;
}

ClusterReport makeReport(const ClusterOptions &options,
                         const CostModel &model) {
  if (options.gemm.empty() && options.collective.empty())
    return usualReport(model);
  ClusterReport report{model.cluster(), model.usableBytes(), {}, {}, false};
  if (!options.collective.empty())
    report.collectives.push_back(
        price(model, {*findCollectiveKind(options.collective),
                      *readBytes(options.bytes),
                      model.place({{options.ranks, options.stride}})}));
  if (!options.gemm.empty()) {
    Gemm gemm = *readGemm(options.gemm);
    gemm.precision = *findPrecision(options.dtype);
    report.gemms.push_back(price(model, gemm));
  }
  return report;
}

int runCluster(const ClusterOptions &options) {
  if (options.lists)
    return listClusters();
  if (options.cluster.empty())
    return report(exitBadInput, {"expected the name of a cluster, a cluster "
                                 "file or --list"});
  if (options.format == "toml") {
    const std::optional<std::string_view> text =
        findShippedCluster(options.cluster);
    if (!text)
      return report(exitBadInput,
                    {fmt::format("--format=toml prints a shipped cluster, "
                                 "got {}; --list names them",
                                 options.cluster)});
    fmt::print("{}", *text);
    return exitSuccess;
  }
  ParsedCluster parsed = loadCluster(options.cluster);
  if (!parsed.cluster)
    return report(exitBadInput, parsed.problems);
  const std::vector<std::string> errors =
      checkOptions(options, *parsed.cluster);
  if (!errors.empty())
    return report(exitBadInput, errors);
  const ClusterReport made =
      makeReport(options, CostModel(std::move(*parsed.cluster)));
  fmt::print("{}",
             options.format == "json" ? printJson(made) : printText(made));
  return exitSuccess;
}

} // namespace

void addClusterCommand(CLI::App &app, Command &chosen) {
  CLI::App *command = app.add_subcommand(
      "cluster",
      "Print a cluster, and what kernels and collectives take on it");
  auto options = std::make_shared<ClusterOptions>();
  command->add_option("cluster", options->cluster,
                      "Name of a shipped cluster, or a TOML file");
  command->add_flag("--list", options->lists,
                    "Print the names of the shipped clusters and "
                    "software profiles");
  command->add_option("--gemm", options->gemm, "Price this GEMM only: MxNxK");
  command->add_option("--dtype", options->dtype, "Format of its operands")
      ->check(CLI::IsMember(
          {"f64", "f32", "tf32", "bf16", "f16", "f8", "f4", "i8"}))
      ->capture_default_str();
  command
      ->add_option("--collective", options->collective,
                   "Price this collective only")
      ->check(CLI::IsMember({"all_reduce", "all_gather", "reduce_scatter",
                             "all_to_all", "permute", "exchange"}));
  command->add_option("--bytes", options->bytes,
                      "The larger of its operand and result on one device, "
                      "such as 64MiB");
  command->add_option("--ranks", options->ranks, "Ranks of its group")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  command
      ->add_option("--stride", options->stride,
                   "Devices from one rank of the group to the next")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->capture_default_str();
  command
      ->add_option("--format", options->format,
                   "text, json or toml (the file of a shipped cluster)")
      ->check(CLI::IsMember({"text", "json", "toml"}))
      ->capture_default_str();
  command->callback([options, &chosen] {
    chosen = [options] { return runCluster(*options); };
  });
}

} // namespace weft::tools
