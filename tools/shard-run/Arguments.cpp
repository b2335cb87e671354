//===- Arguments.cpp - The command line of shard-run ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "weft/runtime/PlanFormat.h"
#include "weft/runtime/Session.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace weft::tools {

/// Accepts decimal integers from `least` to `most` only. CLI11 alone clamps
/// what is too large.
template <typename Integer>
static CLI::Validator
integer(Integer least, Integer most = std::numeric_limits<Integer>::max()) {
  return {[=](std::string &text) -> std::string {
            Integer value = 0;
            const char *end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, value);
            const bool isInteger =
                stop == end && error != std::errc::invalid_argument;
            const bool isTooLarge =
                isInteger && text[0] != '-' &&
                (error == std::errc::result_out_of_range || value > most);
            if (isTooLarge)
              return fmt::format("must be an integer of at most {}, got \"{}\"",
                                 most, text);
            if (!isInteger || error != std::errc() || value < least)
              return fmt::format(
                  "must be an integer of at least {}, got \"{}\"", least, text);
            // CLI11 would read a leading zero as octal.
            text = fmt::format("{}", value);
            return "";
          },
          ""};
}

static std::string checkSeconds(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && runtime::deadlineOf(value).ok())
    return "";
  return fmt::format("must be from 0.001 to 1e9 seconds or inf, got \"{}\"",
                     text);
}

static std::string checkHeartbeat(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) &&
      runtime::heartbeatOf(value).ok())
    return "";
  return fmt::format("must be 0 or from 1 to 1e9 seconds, got \"{}\"", text);
}

static std::string checkPositive(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value > 0 &&
      value < std::numeric_limits<double>::infinity())
    return "";
  return fmt::format("must be a positive number, got \"{}\"", text);
}

/// Splits NAME=FILE; CLI11 shows the message when there is no "=".
static std::vector<NamedFile> split(const std::vector<std::string> &pairs,
                                    const char *option) {
  std::vector<NamedFile> files;
  for (const std::string &pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == pair.size())
      throw CLI::ValidationError(option,
                                 "must be NAME=FILE, got '" + pair + "'");
    files.push_back({pair.substr(0, equals), pair.substr(equals + 1)});
  }
  return files;
}

static void addSteps(CLI::App &app, Arguments &arguments) {
  app.option_defaults()->group("Steps");
  app.add_option("--entry", arguments.entry,
                 "Entry to run; default: train_step, or the only entry "
                 "besides --init");
  app.add_option("--steps", arguments.steps, "Number of times to run the entry")
      ->transform(integer<int64_t>(0))
      ->capture_default_str();
  app.add_option("--init", arguments.init,
                 "Entry to run once before the first step; its results set "
                 "states");
  app.add_option("--threads", arguments.threads,
                 "Compute threads of a rank on a CPU")
      ->transform(integer(1, 1024))
      ->capture_default_str();
  app.add_option("--deadline", arguments.deadlineSeconds,
                 "Fail when a rank waits longer than this for the others, in "
                 "seconds; inf: never")
      ->check(checkSeconds)
      ->capture_default_str();
}

static void addData(CLI::App &app, Arguments &arguments,
                    std::vector<std::string> &inputs,
                    std::vector<std::string> &outputs) {
  app.option_defaults()->group("Data");
  app.add_option("--input", inputs,
                 "Read an input or state: NAME=FILE.npy, or "
                 "NAME=FILE.safetensors with a tensor of that name. An array "
                 "with one dimension more than the input is a stack: step s "
                 "uses slice s modulo its length. Repeatable")
      ->allow_extra_args(false);
  app.add_option("--output", outputs,
                 "Write an output of the last step: NAME=FILE.npy or "
                 "NAME=FILE.safetensors. Repeatable")
      ->allow_extra_args(false);
  app.add_option("--load", arguments.load,
                 "Read all states from a safetensors file, after --init");
  app.add_option("--save", arguments.save,
                 "Write all states to a safetensors file at the end");
  CLI::Option *metrics =
      app.add_option("--metrics", arguments.metrics,
                     "Write the scalar outputs of every step to a CSV file, or "
                     "to FILE.jsonl as lines of JSON");
  CLI::Option *measure =
      app.add_flag("--measure", arguments.measure,
                   "Add to the lines of --metrics what was measured: times of "
                   "the step and of each rank, communication that nothing "
                   "hides, memory, and a rank that is slower than the others")
          ->needs(metrics);
  app.add_option("--tokens", arguments.tokens,
                 "Tokens of a step, for tokens per second")
      ->transform(integer<int64_t>(1))
      ->needs(measure);
  app.add_option("--peak-tflops", arguments.peakTeraflops,
                 "What a rank can compute, in 1e12 operations per second, for "
                 "the MFU")
      ->check(checkPositive)
      ->needs(measure);
  app.add_option("--times", arguments.times,
                 "Write the wall time of every step to a CSV file and, on "
                 "GPUs, the time spent enqueuing it");
  CLI::Option *trace = app.add_option(
      "--trace", arguments.trace,
      "Write a timeline of the first runs, JSON for ui.perfetto.dev");
  app.add_option("--trace-runs", arguments.traceRuns,
                 "Number of runs in the timeline, from the first")
      ->transform(integer(1))
      ->needs(trace)
      ->capture_default_str();
}

static void addCheckpoints(CLI::App &app, Arguments &arguments) {
  app.option_defaults()->group("Checkpoints");
  CLI::Option *folder = app.add_option(
      "--checkpoint", arguments.checkpoints,
      "Write checkpoints of all states to this folder, which all processes "
      "share: after the last step, as --every says, and when SIGINT, SIGTERM "
      "or SIGUSR1 ends the run after the step that is being made");
  app.add_option("--every", arguments.every, "Write a checkpoint every N steps")
      ->transform(integer<int64_t>(1))
      ->needs(folder);
  app.add_option("--keep", arguments.keep,
                 "Remove all but the last so many checkpoints; default: keep "
                 "all")
      ->transform(integer(1))
      ->needs(folder);
  CLI::Option *resume =
      app.add_flag("--resume", arguments.resume,
                   "Continue from the last checkpoint in the folder, if there "
                   "is one: --steps counts its steps as well, and what sets "
                   "states (--init, --load, --input) is not used")
          ->needs(folder);
  app.add_flag("--skip-damaged", arguments.skipDamaged,
               "With --resume: continue from the last checkpoint that is "
               "not damaged")
      ->needs(resume);
}

static void addProcesses(CLI::App &app, Arguments &arguments) {
  app.option_defaults()->group("Several processes");
  app.add_option("--rendezvous", arguments.launch.rendezvous,
                 "Where processes of one GPU each meet: tcp://HOST:PORT; "
                 "default: from the environment of torchrun, mpirun or srun");
  app.add_option("--rank", arguments.launch.rank,
                 "With --rendezvous: the rank of this process")
      ->transform(integer(0, (1 << 20) - 1));
  app.add_option("--world", arguments.launch.world,
                 "With --rendezvous: the number of processes")
      ->transform(integer(1, 1 << 20));
  app.add_option("--start-deadline", arguments.startDeadlineSeconds,
                 "Fail when the other processes have not started after this "
                 "time, in seconds")
      ->check(checkSeconds)
      ->capture_default_str();
  app.add_option("--heartbeat", arguments.heartbeatSeconds,
                 "Fail when another process has been stopped for so long, in "
                 "seconds, however long --deadline lets it compute; 0: never")
      ->check(checkHeartbeat)
      ->capture_default_str();
}

/// Returns the options that mean nothing to a CPU. Its runs give the same bits,
/// as --deterministic asks.
static std::vector<CLI::Option *> addDevice(CLI::App &app,
                                            Arguments &arguments) {
  app.option_defaults()->group("GPU");
  std::vector<CLI::Option *> options;
  options.push_back(app.add_option("--device", arguments.device,
                                   "Index of the GPU that one process uses, as "
                                   "the driver counts")
                        ->transform(integer(0))
                        ->capture_default_str());
  options.push_back(app.add_flag(
      "--cuda-graphs,!--no-cuda-graphs", arguments.cudaGraphs,
      "Run an entry as one CUDA graph from its third run on; default: on"));
  options.push_back(
      app.add_option("--processors-for-collectives",
                     arguments.processorsForCollectives,
                     "Multiprocessors that GEMMs leave to concurrent "
                     "collectives")
          ->transform(integer(0))
          ->capture_default_str());
  app.add_flag("--deterministic", arguments.deterministic,
               "Same bits in every run, also of GEMMs and of collectives "
               "between processes");
  options.push_back(app.add_flag(
      "--serialize-collectives", arguments.serializeCollectives,
      "Run collectives one after the other, also where the plan lets one "
      "overtake another"));
  options.push_back(app.add_flag("--register-arena", arguments.registerArena,
                                 "Register the arena with NCCL"));
  return options;
}

/// As it was given: a flag has a second name, which turns it off.
static std::string nameOf(const CLI::Option &option) {
  const std::vector<std::string> &names = option.get_lnames();
  const bool isOff = names.size() > 1 && !option.as<bool>();
  return "--" + (isOff ? names.back() : names.front());
}

std::optional<int> parseArguments(int argc, char **argv, Arguments &arguments) {
  CLI::App app(
      "Runs a plan. A plan for CPUs runs all ranks as threads of this process, "
      "or of several under mpirun or srun; a plan for GPUs runs all ranks on "
      "one GPU, or one rank a process and "
      "GPU under torchrun, mpirun or srun.\n"
      "Exit status: 0 success, 1 the run failed, 2 bad input, 3 stopped by a "
      "signal after a checkpoint.");
  std::vector<std::string> inputs, outputs;
  std::string dump;
  app.add_option("plan", arguments.plan, "Plan file")->required();
  app.set_version_flag("--version",
                       fmt::format("Weft {}, plan format {}", WEFT_VERSION,
                                   weft::runtime::planFormatVersion));
  CLI::Option *dumpOption =
      app.add_option("--dump", dump,
                     "Print the plan, or one section of it (header, groups, "
                     "states, kernels or an entry), instead of running it")
          ->expected(0, 1);
  app.add_option("--verify", arguments.verify,
                 "Compare every value of one step with what one device makes "
                 "of the same operands: the reference that shard-compile "
                 "--reference wrote with the plan. Exit status 1 if any is "
                 "wrong");
  app.add_flag("--quiet", arguments.quiet, "Print errors only");
  addSteps(app, arguments);
  addData(app, arguments, inputs, outputs);
  addCheckpoints(app, arguments);
  addProcesses(app, arguments);
  const std::vector<CLI::Option *> gpuOptions = addDevice(app, arguments);
  try {
    // In reverse order, as CLI11 wants it. "--dump" alone takes no value even
    // when the plan follows it.
    std::vector<std::string> words;
    for (int i = argc - 1; i > 0; --i)
      words.push_back(std::string_view(argv[i]) == "--dump" ? "--dump="
                                                            : argv[i]);
    app.name(argc > 0 ? argv[0] : "shard-run");
    app.parse(words);
    arguments.inputs = split(inputs, "--input");
    arguments.outputs = split(outputs, "--output");
    for (const CLI::Option *option : gpuOptions)
      if (option->count() != 0)
        arguments.gpuOptions.push_back(nameOf(*option));
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? exitSuccess : exitBadInput;
  }
  if (dumpOption->count() != 0)
    arguments.dump = dump;
  return std::nullopt;
}

} // namespace weft::tools
