//===- Run.cpp - The run of shard-run ---------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Run.h"

#include "Checkpoints.h"
#include "Inputs.h"
#include "Measurements.h"
#include "Outputs.h"
#include "Printable.h"
#include "Progress.h"
#include "weft/runtime/CompareValues.h"
#include "weft/runtime/OutputFiles.h"
#include "weft/runtime/plan_generated.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <sstream>

namespace weft::tools {

using namespace weft::runtime;

static int report(ExitCode code, const std::string &message) {
  const std::string line =
      fmt::format("shard-run: error: {}\n", printable(message));
  std::fputs(line.c_str(), stderr);
  return code;
}

/// What the session tells beside what was asked for.
static void showNote(const Launch &launch, const std::string &text) {
  const std::string line =
      fmt::format("shard-run: note: {}{}\n",
                  launch.world > 1 ? fmt::format("rank {}: ", launch.rank) : "",
                  printable(text));
  std::fputs(line.c_str(), stderr);
}

static int dump(const Plan &plan, const std::string &section) {
  const Result<std::string> text =
      section.empty() ? plan.dump() : plan.dump(section);
  if (!text.ok())
    return report(exitBadInput, text.status().message());
  std::fwrite(text->data(), 1, text->size(), stdout);
  return exitSuccess;
}

static std::string seconds(std::chrono::duration<double> duration) {
  return fmt::format("{:.9f}", duration.count());
}

static std::vector<std::string> joined(std::vector<std::string> texts,
                                       const std::vector<std::string> &more) {
  texts.insert(texts.end(), more.begin(), more.end());
  return texts;
}

/// With several processes, all read what is written, because each has a part of
/// it; rank 0 writes. Adds to `failures` what could not be written.
static Status stepAll(Session &session, const Inputs &inputs,
                      Checkpoints &checkpoints, const Arguments &arguments,
                      const Launch &launch, std::vector<Status> &failures) {
  const Scalars scalars(inputs.entry());
  const Measurements measurements(arguments, session.plan(), inputs.entry());
  StepsFile metrics, times;
  const int64_t first = checkpoints.firstStep();
  const bool hasMetrics = !arguments.metrics.empty();
  if (hasMetrics && launch.rank == 0)
    WEFT_RETURN_IF_ERROR(
        metrics.open(arguments.metrics,
                     joined(scalars.names(), measurements.columns()), first));
  if (!arguments.times.empty() && launch.rank == 0)
    WEFT_RETURN_IF_ERROR(
        times.open(arguments.times, {"seconds", "enqueue_seconds"}, first));
  Progress progress(first, arguments.steps, arguments.quiet, scalars, launch);
  WEFT_RETURN_IF_ERROR(checkpoints.beforeSteps(session));
  int64_t step = first;
  for (; step < arguments.steps && !checkpoints.isStopped(); ++step) {
    const auto begin = std::chrono::steady_clock::now();
    WEFT_RETURN_IF_ERROR(inputs.setInputs(session, step, step == first));
    WEFT_RETURN_IF_ERROR(session.run(inputs.entry().name));
    const auto taken = std::chrono::steady_clock::now() - begin;
    if (times.isOpen())
      times.write(step,
                  {seconds(taken), seconds(session.lastRunTimes().enqueue)});
    const bool isShown = progress.wants(step);
    if (isShown || hasMetrics) {
      WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> values,
                            scalars.read(session));
      WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> measured,
                            measurements.read(session, taken));
      metrics.write(step, joined(values, measured));
      if (isShown)
        progress.show(step, values);
    }
    // After the line of the step, which a run that is resumed keeps.
    WEFT_RETURN_IF_ERROR(checkpoints.afterStep(session, step + 1));
  }
  progress.finish(step);
  WEFT_RETURN_IF_ERROR(checkpoints.finish());
  if (checkpoints.isStopped() && launch.rank == 0 && !arguments.quiet)
    showNote(launch, fmt::format("stopped by a signal after step {} of {}, "
                                 "which is saved in {}; --resume continues "
                                 "from there",
                                 step, arguments.steps, arguments.checkpoints));
  failures.push_back(times.close());
  failures.push_back(metrics.close());
  return {};
}

static Status saveStates(const Session &session, const std::string &path,
                         const Launch &launch) {
  std::vector<Array> arrays;
  for (const ValueSpec &state : session.plan().states()) {
    WEFT_ASSIGN_OR_RETURN(Array array, session.getState(state.name));
    if (launch.rank == 0)
      arrays.push_back(std::move(array));
  }
  if (launch.rank != 0)
    return {};
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < arrays.size(); ++i)
    tensors.push_back({session.plan().states()[i].name, arrays[i]});
  return writeSafetensors(
      path, tensors,
      {{"weft.plan", fmt::format("{:016x}", session.plan().hash())}});
}

static Status writeOutput(const Session &session, const NamedFile &file,
                          const Launch &launch) {
  WEFT_ASSIGN_OR_RETURN(const Array array, session.getOutput(file.name));
  return launch.rank == 0 ? writeTensor(file, array) : Status();
}

/// All that failed. What was trained is written first, and whatever the other
/// files have come to. A run that a signal ended leaves its checkpoint alone.
static std::vector<Status> runAndWrite(Session &session, const Inputs &inputs,
                                       Checkpoints &checkpoints,
                                       const Arguments &arguments,
                                       const Launch &launch) {
  std::vector<Status> failures;
  Status status = inputs.setStates(session);
  if (status.ok())
    status = stepAll(session, inputs, checkpoints, arguments, launch, failures);
  failures.insert(failures.begin(), status);
  if (status.ok() && !checkpoints.isStopped()) {
    if (!arguments.save.empty())
      failures.push_back(saveStates(session, arguments.save, launch));
    for (const NamedFile &file : arguments.outputs)
      failures.push_back(writeOutput(session, file, launch));
    if (!arguments.trace.empty())
      failures.push_back(session.writeTrace(arguments.trace));
  }
  std::erase_if(failures, [](const Status &each) { return each.ok(); });
  return failures;
}

/// What is wrong with a plan and the reference that it is compared with.
static void checkVerified(const Plan &plan, const Inputs &inputs,
                          const Result<Plan> &reference,
                          const Arguments &arguments, int64_t processes,
                          Problems &problems) {
  const std::pair<bool, const char *> others[] = {
      {arguments.steps != 1, "--steps"},
      {!arguments.outputs.empty(), "--output"},
      {!arguments.save.empty(), "--save"},
      {!arguments.metrics.empty(), "--metrics"},
      {!arguments.times.empty(), "--times"},
      {!arguments.trace.empty(), "--trace"}};
  for (const auto &[isGiven, option] : others)
    if (isGiven)
      problems.push_back(fmt::format("--verify runs one step and writes "
                                     "nothing: leave out {}",
                                     option));
  if (!reference.ok())
    problems.push_back(
        fmt::format("--verify: {}", reference.status().message()));
  else if (const Status status =
               checkReference(plan, *reference, inputs.entry().name);
           !status.ok())
    problems.push_back(fmt::format("--verify: {}", status.message()));
  if (processes > 1)
    problems.push_back("--verify: all ranks must be in one process");
}

static void showComparison(const Comparison &comparison) {
  std::istringstream lines(print(comparison));
  for (std::string line; std::getline(lines, line);)
    fmt::print("{}\n", printable(line));
}

/// One step, compared with the reference.
static Result<Comparison> compareStep(Session &session, const Plan &reference,
                                      const SessionOptions &options,
                                      const Inputs &inputs) {
  WEFT_RETURN_IF_ERROR(inputs.setStates(session));
  WEFT_ASSIGN_OR_RETURN(const auto arrays, inputs.readInputs());
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<Session> device,
                        Session::create(reference, options));
  return compareValues(session, *device, inputs.entry().name, arrays);
}

/// Opens their folder, and sets the states of a run that is resumed.
static Status openCheckpoints(Checkpoints &checkpoints, Session &session,
                              const Arguments &arguments, const Launch &launch,
                              const std::shared_ptr<Bootstrap> &bootstrap) {
  WEFT_RETURN_IF_ERROR(checkpoints.open(bootstrap));
  return checkpoints.restore(session, [&](const std::string &text) {
    if (launch.rank == 0 && !arguments.quiet)
      showNote(launch, text);
  });
}

static Result<std::unique_ptr<Bootstrap>> connect(const Launch &launch,
                                                  const Arguments &arguments) {
  return Bootstrap::connect(launch, *deadlineOf(arguments.startDeadlineSeconds),
                            *heartbeatOf(arguments.heartbeatSeconds));
}

/// What is wrong in this process alone, with a file on its host say: the others
/// would wait for it.
static void tellOthers(const Launch &launch, const std::string &problem,
                       const Arguments &arguments) {
  if (launch.world == 1)
    return;
  const Result<std::unique_ptr<Bootstrap>> bootstrap =
      connect(launch, arguments);
  if (bootstrap.ok())
    (*bootstrap)->failHere(problem);
}

static void checkTarget(const Plan &plan, const Arguments &arguments,
                        Problems &problems) {
  const std::string target = plan.contents().target()->kind()->str();
  if (target != "cuda")
    for (const std::string &option : arguments.gpuOptions)
      problems.push_back(
          fmt::format("{} is for plans for GPUs, but the plan is for \"{}\"",
                      option, target));
}

static SessionOptions optionsOf(const Arguments &arguments,
                                const Launch &launch) {
  SessionOptions options;
  options.threads = arguments.threads;
  options.deadline = *deadlineOf(arguments.deadlineSeconds);
  options.device = arguments.device;
  options.cudaGraphs = arguments.cudaGraphs;
  options.processorsForCollectives = arguments.processorsForCollectives;
  options.traceRuns = arguments.trace.empty() ? 0 : arguments.traceRuns;
  options.deterministic = arguments.deterministic;
  options.serializeCollectives = arguments.serializeCollectives;
  options.registerArena = arguments.registerArena;
  if (!arguments.quiet)
    options.note = [&](const std::string &text) { showNote(launch, text); };
  return options;
}

/// Meets the other processes of the job, into `bootstrap`.
static int meetOthers(const Launch &launch, const Arguments &arguments,
                      std::shared_ptr<Bootstrap> &bootstrap) {
  if (launch.world == 1)
    return exitSuccess;
  const auto deadline = *deadlineOf(arguments.startDeadlineSeconds);
  Result<std::unique_ptr<Bootstrap>> met = connect(launch, arguments);
  if (!met.ok())
    return report(exitRunFailed, met.status().message());
  bootstrap = *std::move(met);
  // Before they wait for each other in a library: one may have bad input.
  const Status status =
      bootstrap->barrier("whether their input is right", deadline);
  if (status.ok())
    return exitSuccess;
  // As the process that has it: mpirun may join their codes.
  return report(bootstrap->failure().ok() ? exitRunFailed : exitBadInput,
                status.message());
}

static int runPlan(const Arguments &arguments) {
  const Result<Plan> plan = Plan::load(arguments.plan);
  if (!plan.ok())
    return report(exitBadInput, plan.status().message());
  if (arguments.dump)
    return dump(*plan, *arguments.dump);

  Problems problems;
  const Result<Launch> launch = detectLaunch(arguments.launch);
  Checkpoints checkpoints = Checkpoints::find(arguments, problems);
  const Inputs inputs =
      Inputs::open(arguments, *plan, checkpoints.isResumed(), problems);
  if (Status status =
          launch.ok() ? checkLaunch(*plan, *launch) : launch.status();
      !status.ok())
    problems.insert(problems.begin(), status.message());
  if (!launch.ok() || launch->rank == 0)
    checkOutputs(arguments, problems);
  checkTarget(*plan, arguments, problems);
  std::optional<Result<Plan>> reference;
  if (!arguments.verify.empty() && problems.empty()) {
    reference = Plan::load(arguments.verify);
    checkVerified(*plan, inputs, *reference, arguments, launch->world,
                  problems);
  }
  for (const std::string &problem : problems)
    report(exitBadInput, problem);
  if (!problems.empty()) {
    if (launch.ok() && checkLaunch(*plan, *launch).ok())
      tellOthers(*launch, problems.front(), arguments);
    return exitBadInput;
  }

  SessionOptions options = optionsOf(arguments, *launch);
  if (const int code = meetOthers(*launch, arguments, options.bootstrap);
      code != exitSuccess)
    return code;
  const Result<std::unique_ptr<Session>> session =
      Session::create(*plan, options);
  if (!session.ok())
    return report(exitRunFailed, session.status().message());
  // A full disk, say, of which the other processes know nothing.
  const auto fail = [&](ExitCode code, const Status &failure) {
    if (options.bootstrap)
      options.bootstrap->failHere(failure.message());
    return report(code, failure.message());
  };
  if (Status status = openCheckpoints(checkpoints, **session, arguments,
                                      *launch, options.bootstrap);
      !status.ok()) {
    const bool isOfAnother =
        options.bootstrap && !options.bootstrap->failure().ok();
    return fail(isOfAnother ? exitRunFailed : exitBadInput, status);
  }
  if (reference) {
    const Result<Comparison> compared =
        compareStep(**session, **reference, options, inputs);
    if (!compared.ok())
      return fail(exitRunFailed, compared.status());
    showComparison(*compared);
    return compared->wrong.empty() ? exitSuccess : exitRunFailed;
  }
  const std::vector<Status> failures =
      runAndWrite(**session, inputs, checkpoints, arguments, *launch);
  for (const Status &failure : failures)
    fail(exitRunFailed, failure);
  if (!failures.empty())
    return exitRunFailed;
  return checkpoints.isStopped() ? exitStopped : exitSuccess;
}

int run(const Arguments &arguments) {
  removeUnfinishedFilesOnSignals();
  try {
    return runPlan(arguments);
  } catch (const std::bad_alloc &) {
    return report(exitRunFailed, "out of memory");
  }
}

int finish(int code) {
  const bool isWritten = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (!isWritten && code == exitSuccess)
    code = report(exitRunFailed, "cannot write to standard output");
  // What libraries do at the end of a process could wait for a device that
  // hangs. Everything of ours is done.
  if (code == exitRunFailed)
    ::_exit(code);
  return code;
}

} // namespace weft::tools
