//===- shard-bench.cpp - Measures this machine ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   shard-bench
//   shard-bench --only=collectives --ranks=4
//   mpirun -n 2 shard-bench --only=collectives
//   shard-bench --write-cluster=mine.toml
//
//===----------------------------------------------------------------------===//

#include "Fit.h"
#include "Sections.h"

#include "weft/runtime/PlanFormat.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

using namespace weft::tools;

namespace {

enum ExitCode : int { exitSuccess = 0, exitFailed = 1, exitBadInput = 2 };

struct Options {
  std::vector<std::string> only;
  double duration = 60;
  std::string cluster, name;
  SectionOptions section;
};

int fail(ExitCode code, const std::string &message) {
  fmt::print(stderr, "shard-bench: error: {}\n", message);
  return code;
}

/// CLI::Range takes what is no number.
std::string checkDuration(const std::string &text) {
  double value = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop == end && error == std::errc() && value >= 0 && value <= 86400)
    return "";
  return fmt::format("must be a number from 0 to 86400, got \"{}\"", text);
}

std::vector<std::string> sectionNames() {
  std::vector<std::string> names;
  for (const Section &section : sections())
    names.emplace_back(section.name);
  return names;
}

bool isWanted(const Options &options, const Section &section) {
  return options.only.empty() ||
         std::ranges::find(options.only, section.name) != options.only.end();
}

int cannotWrite(const Options &options) {
  return fail(exitFailed, fmt::format("cannot write {}: {}", options.cluster,
                                      std::strerror(errno)));
}

/// Before minutes of measuring. Leaves a file as it is, and no new one.
int checkWritable(const Options &options) {
  std::error_code error;
  const bool isNew = !std::filesystem::exists(
      std::filesystem::symlink_status(options.cluster, error));
  std::FILE *file = std::fopen(options.cluster.c_str(), "ab");
  if (!file)
    return cannotWrite(options);
  std::fclose(file);
  if (isNew)
    std::remove(options.cluster.c_str());
  return exitSuccess;
}

int writeCluster(const Options &options, const Results &results,
                 const Machine &machine) {
  const std::string text =
      printCluster(fitCluster(results, machine), results, machine,
                   options.name.empty() ? machine.processor : options.name);
  std::FILE *file = std::fopen(options.cluster.c_str(), "wb");
  bool isWritten =
      file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file)
    isWritten &= std::fclose(file) == 0;
  if (!isWritten)
    return cannotWrite(options);
  fmt::print("wrote {}\n", options.cluster);
  return exitSuccess;
}

/// The last line: whether the numbers are those of an idle machine.
void printLoad(const Results &results, const Machine &machine) {
  fmt::print("\nload {:.1f} on {} cores; others had the cores in {} of {} "
             "measurements{}\n",
             machine.load, machine.cores, results.busy, results.measured,
             results.busy * 4 > results.measured
                 ? ": the machine is busy, take the best times"
                 : "");
}

int64_t countErrors(const Results &results) {
  int64_t errors = 0;
  for (const CollectiveRow &row : results.collectives)
    errors += row.timing.errors;
  return errors;
}

int run(Options options) {
  if (!options.cluster.empty() && !options.only.empty())
    return fail(exitBadInput, "--write-cluster needs all measurements: leave "
                              "out --only");
  if (!options.cluster.empty() && options.section.ranks < 2)
    return fail(exitBadInput, "--write-cluster needs collectives: --ranks must "
                              "be at least 2");
  const bool isCpu = options.section.target == "cpu";
  if (!isCpu && options.only != std::vector<std::string>{"collectives"})
    return fail(exitBadInput, "--target is for collectives: add "
                              "--only=collectives");
  const weft::runtime::Launch &launch = options.section.launch;
  if (isCpu && launch.world > 1) {
    if (options.only != std::vector<std::string>{"collectives"})
      return fail(exitBadInput, "several processes measure collectives: add "
                                "--only=collectives");
    if (options.section.ranks % launch.world != 0)
      return fail(exitBadInput,
                  fmt::format("--ranks must be a multiple of the {} processes, "
                              "got {}",
                              launch.world, options.section.ranks));
    // One of them prints.
    if (launch.rank != 0 && !std::freopen("/dev/null", "w", stdout))
      return fail(exitFailed, "cannot open /dev/null");
  }
  if (!options.cluster.empty())
    if (const int code = checkWritable(options); code != exitSuccess)
      return code;
  const Machine machine = thisMachine();
  int measurements = 0;
  for (const Section &section : sections())
    if (isWanted(options, section))
      measurements += section.count(options.section);
  options.section.seconds = options.duration / std::max(1, measurements);
  if (isCpu)
    fmt::print("{}, {} cores, load {:.1f}\n\n", machine.processor,
               machine.cores, machine.load);
  Results results;
  for (const Section &section : sections()) {
    if (!isWanted(options, section))
      continue;
    if (const weft::runtime::Status status =
            section.run(options.section, results);
        !status.ok())
      return fail(exitFailed, status.message());
    std::fflush(stdout);
  }
  if (isCpu)
    printLoad(results, machine);
  if (const int64_t errors = countErrors(results))
    return fail(exitFailed,
                fmt::format("{} elements of collectives are wrong", errors));
  return options.cluster.empty() ? exitSuccess
                                 : writeCluster(options, results, machine);
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  const auto launch = weft::runtime::detectLaunch();
  if (!launch.ok())
    return fail(exitBadInput, launch.status().message());
  options.section.launch = *launch;
  options.section.ranks = std::max(2, 2 * thisMachine().cores);
  options.section.ranks = std::min(options.section.ranks, 8);
  if (launch->world > 1)
    options.section.ranks = launch->world;
  CLI::App app("Measures this machine through the runtime's own code: "
               "GEMMs,\nattention, memory, generated kernels and "
               "collectives; writes a cluster file.\n"
               "Exit status: 0 success, 1 failure, 2 bad input.",
               "shard-bench");
  app.set_version_flag("--version",
                       fmt::format("Weft {}, plan format {}", WEFT_VERSION,
                                   weft::runtime::planFormatVersion));
  app.add_option(
         "--only", options.only,
         fmt::format("Measure these only: {}", fmt::join(sectionNames(), ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(sectionNames()));
  app.add_option("--seconds", options.duration,
                 "Time for all measurements together, about")
      ->check(CLI::Validator(checkDuration, ""))
      ->capture_default_str();
  app.add_option("--ranks", options.section.ranks,
                 "The most ranks of collectives; default: twice the cores, at "
                 "most 8; under mpirun one for each process")
      ->check(CLI::Range(1, 1024));
  app.add_option("--largest-bytes", options.section.largestBytes,
                 "The largest array, and the most bytes of a GEMM and of a "
                 "collective")
      ->check(CLI::Range(int64_t(65536), int64_t(1) << 40))
      ->capture_default_str();
  app.add_option(
         "--target", options.section.target,
         "Where collectives run: cpu, ranks that are threads of this process "
         "or, over MPI, of those that mpirun or srun starts; "
         "or cuda:<processor>, as cuda:sm_90: NCCL between the "
         "processes that torchrun, mpirun or srun starts, otherwise "
         "ranks on one GPU")
      ->capture_default_str();
  app.add_option("--write-cluster", options.cluster,
                 "Write a cluster file for --cluster");
  app.add_option(
      "--name", options.name,
      "The name in the cluster file that is written; default: the processor's");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? exitSuccess : exitBadInput;
  }
  if (options.name.find_first_of("\"\\\n") != std::string::npos)
    return fail(exitBadInput, "--name must have no quotes, backslashes and "
                              "line breaks");
  return run(std::move(options));
}
