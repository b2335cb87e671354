//===- Launch.cpp - How the processes of a job were started -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Launch.h"

#include "launch/Number.h"
#include "launch/SlurmNodes.h"
#include "plan/Text.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace weft::runtime {

/// A number of ranks beyond this is a mistake.
static constexpr int64_t maxWorld = 1 << 20;
/// Ports that are tried from the one that a launcher names.
static constexpr int triedPorts = 8;

std::string MeetingPoint::toString() const {
  return fmt::format("tcp://{}:{}", host, port);
}

namespace {

/// Reads variables and remembers all that are wrong.
class Variables {
public:
  explicit Variables(const Environment &environment)
      : environment(environment) {}

  bool has(const char *name) const { return environment(name) != nullptr; }
  std::string text(const char *name) const {
    const char *value = environment(name);
    return value ? value : "";
  }
  int number(const char *name, int64_t least, int64_t most, int otherwise) {
    const char *value = environment(name);
    if (!value)
      return otherwise;
    const auto parsed = parseNumber(value, least, most);
    if (!parsed)
      problems.push_back(
          fmt::format("the variable {} is \"{}\", need an integer from {} to "
                      "{}",
                      name, escaped(value), least, most));
    return parsed ? static_cast<int>(*parsed) : otherwise;
  }
  /// Rank and world, and their like among the processes of a host.
  void ranks(Launch &launch, const char *rank, const char *world,
             const char *localRank, const char *localWorld) {
    const size_t before = problems.size();
    launch.world = number(world, 1, maxWorld, 1);
    // Of a wrong number of ranks nothing else can be told.
    const int64_t most = problems.size() == before ? launch.world : maxWorld;
    launch.rank = number(rank, 0, most - 1, 0);
    launch.localWorld = number(localWorld, 1, most, -1);
    launch.localRank = number(localRank, 0, most - 1, -1);
  }
  void check(const Status &status) {
    if (!status.ok())
      problems.push_back(status.message());
  }

  std::vector<std::string> problems;

private:
  const Environment &environment;
};

} // namespace

/// What a shell has left of torchrun, or was told by hand, must not hide what
/// mpirun says; torchrun itself may be what mpirun started.
static void checkAgainstMpi(Variables &variables) {
  if (variables.has("TORCHELASTIC_RUN_ID"))
    return;
  const std::pair<const char *, const char *> pairs[] = {
      {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"},
      {"RANK", "OMPI_COMM_WORLD_RANK"},
      {"WORLD_SIZE", "PMI_SIZE"},
      {"RANK", "PMI_RANK"}};
  for (const auto &[torchrun, mpi] : pairs)
    if (variables.has(mpi) && variables.text(mpi) != variables.text(torchrun))
      variables.problems.push_back(fmt::format(
          "{}={}, but {}={} by mpirun; unset RANK, WORLD_SIZE and "
          "MASTER_ADDR, or give all processes the same by both",
          torchrun, variables.text(torchrun), mpi, variables.text(mpi)));
}

static bool readTorchrun(Variables &variables, Launch &launch) {
  if (!variables.has("RANK") || !variables.has("WORLD_SIZE") ||
      !variables.has("MASTER_ADDR"))
    return false;
  checkAgainstMpi(variables);
  launch.launcher = "the variables of torchrun";
  variables.ranks(launch, "RANK", "WORLD_SIZE", "LOCAL_RANK",
                  "LOCAL_WORLD_SIZE");
  launch.restart =
      variables.number("TORCHELASTIC_RESTART_COUNT", 0, maxWorld, 0);
  launch.job = variables.text("TORCHELASTIC_RUN_ID");
  launch.meeting.host = variables.text("MASTER_ADDR");
  launch.meeting.port =
      static_cast<uint16_t>(variables.number("MASTER_PORT", 1, 65535, 29500));
  // The agent of torchrun may listen on MASTER_PORT itself.
  launch.meeting.ports = triedPorts;
  return true;
}

static std::string contentsOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The process that has started the ranks of this host: the nearest ancestor
/// without the variable that says which rank it is. In between there may be
/// wrappers (`mpirun timeout 60 python ...`).
static uint32_t launcherOf(const char *rankVariable) {
  const std::string assigned = fmt::format("{}{}=", '\0', rankVariable);
  auto process = static_cast<uint32_t>(getppid());
  while (('\0' + contentsOf(fmt::format("/proc/{}/environ", process)))
             .find(assigned) != std::string::npos) {
    // "PID (NAME) STATE PARENT ..."
    const std::string stat = contentsOf(fmt::format("/proc/{}/stat", process));
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string state;
    if (!(fields >> state >> process))
      break;
  }
  return process;
}

/// Where ranks started by mpirun meet: where the variables of torchrun say, or,
/// when all are on one host, on a port that they derive from the process that
/// has started them.
static void setMpiMeeting(Variables &variables, const char *rankVariable,
                          Launch &launch) {
  launch.meeting.ports = triedPorts;
  if (variables.has("MASTER_ADDR")) {
    launch.meeting.host = variables.text("MASTER_ADDR");
    launch.meeting.port =
        static_cast<uint16_t>(variables.number("MASTER_PORT", 1, 65535, 29500));
  } else if (launch.localWorld == launch.world) {
    const uint32_t launcher = launcherOf(rankVariable);
    launch.job = fmt::format("mpirun-{}", launcher);
    launch.meeting.host = "127.0.0.1";
    launch.meeting.port = static_cast<uint16_t>(61440 + launcher % 4032);
  }
}

static bool readOpenMpi(Variables &variables, Launch &launch) {
  if (!variables.has("OMPI_COMM_WORLD_SIZE"))
    return false;
  launch.launcher = "the variables of Open MPI";
  variables.ranks(launch, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                  "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE");
  setMpiMeeting(variables, "OMPI_COMM_WORLD_RANK", launch);
  return true;
}

/// Only inside a step that srun started: a batch script has the variables of
/// the job as well, but is one process.
static bool isStepOfSlurm(const Variables &variables) {
  return variables.has("SLURM_JOB_ID") && variables.has("SLURM_PROCID") &&
         variables.has("SLURM_STEP_NUM_TASKS");
}

static bool readMpich(Variables &variables, Launch &launch) {
  if (!variables.has("PMI_SIZE") || !variables.has("PMI_RANK"))
    return false;
  // srun --mpi=pmi2 sets these two as well, but knows the hosts by variables of
  // its own. Where mpirun starts its agents by srun, theirs are not the ranks.
  if (isStepOfSlurm(variables) && !variables.has("MPI_LOCALNRANKS"))
    return false;
  launch.launcher = "the variables of MPICH";
  variables.ranks(launch, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
                  "MPI_LOCALNRANKS");
  setMpiMeeting(variables, "PMI_RANK", launch);
  return true;
}

static bool readSlurm(Variables &variables, Launch &launch) {
  if (!isStepOfSlurm(variables))
    return false;
  launch.launcher = "the variables of Slurm";
  variables.ranks(launch, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                  "SLURM_LOCALID", "");
  launch.restart = variables.number("SLURM_RESTART_COUNT", 0, maxWorld, 0);
  const int jobId = variables.number("SLURM_JOB_ID", 0, INT32_MAX, 0);
  launch.job =
      fmt::format("slurm-{}.{}", jobId, variables.text("SLURM_STEP_ID"));
  const Result<std::string> host =
      firstSlurmNode(variables.text("SLURM_STEP_NODELIST"));
  variables.check(host.status());
  if (variables.has("SLURM_STEP_TASKS_PER_NODE")) {
    const Result<std::vector<int>> tasks =
        slurmTasksOfNodes(variables.text("SLURM_STEP_TASKS_PER_NODE"));
    const int node = variables.number("SLURM_NODEID", 0, maxWorld, 0);
    if (tasks.ok() && node < static_cast<int>(tasks->size()))
      launch.localWorld = (*tasks)[node];
    variables.check(tasks.status());
  }
  if (host.ok())
    launch.meeting.host = *host;
  launch.meeting.port = static_cast<uint16_t>(61440 + jobId % 4032);
  launch.meeting.ports = triedPorts;
  return true;
}

static Result<MeetingPoint> parseRendezvous(const std::string &text) {
  MeetingPoint meeting;
  if (text.starts_with("tcp://")) {
    const std::string address = text.substr(6);
    const size_t colon = address.rfind(':');
    const auto port = colon == std::string::npos
                          ? std::nullopt
                          : parseNumber(address.substr(colon + 1), 1, 65535);
    meeting.host = address.substr(0, colon);
    if (meeting.host.starts_with('[') && meeting.host.ends_with(']'))
      meeting.host = meeting.host.substr(1, meeting.host.size() - 2);
    if (port && !meeting.host.empty()) {
      meeting.port = static_cast<uint16_t>(*port);
      return meeting;
    }
  }
  return invalidArgument(fmt::format(
      "the rendezvous must be tcp://HOST:PORT, got \"{}\"", escaped(text)));
}

/// Puts what the caller says over what the launcher says.
static std::vector<std::string> applyOptions(const LaunchOptions &options,
                                             Launch &launch) {
  std::vector<std::string> problems;
  if (options.rendezvous.empty()) {
    if (options.rank || options.world)
      problems.push_back("rank and world are for a rendezvous, which is not "
                         "given; name one, or leave both to the launcher");
    return problems;
  }
  if (auto meeting = parseRendezvous(options.rendezvous); meeting.ok())
    launch.meeting = *std::move(meeting);
  else
    problems.push_back(meeting.status().message());
  if (options.rank.has_value() != options.world.has_value() ||
      (!options.rank && launch.launcher.empty()))
    problems.push_back(
        "a rendezvous needs both the rank of this process and the number of "
        "all; give both, or start the processes with a launcher that says "
        "them");
  if (!options.rank || !options.world)
    return problems;
  if (*options.world < 1 || *options.world > maxWorld || *options.rank < 0 ||
      *options.rank >= *options.world)
    problems.push_back(fmt::format("rank {} of {} processes does not exist",
                                   *options.rank, *options.world));
  launch.rank = *options.rank;
  launch.world = *options.world;
  launch.localRank = launch.localWorld = -1;
  launch.launcher = "the command line";
  return problems;
}

Result<Launch> detectLaunch(const LaunchOptions &options,
                            const Environment &environment) {
  Launch launch;
  Variables variables(environment);
  for (auto *read : {readTorchrun, readOpenMpi, readMpich, readSlurm})
    if (read(variables, launch))
      break;
  // A shell that srun started may have PMIX_RANK, whatever it starts itself.
  if (variables.has("OMPI_COMM_WORLD_SIZE"))
    launch.mpi = "openmpi";
  else if (variables.has("PMI_SIZE") && variables.has("PMI_RANK"))
    launch.mpi = "mpich";
  else if (variables.has("PMIX_RANK"))
    launch.mpi = "openmpi";
  std::vector<std::string> problems;
  for (const std::string &problem : variables.problems)
    problems.push_back(fmt::format("{}: {}", launch.launcher, problem));
  for (std::string &problem : applyOptions(options, launch))
    problems.push_back(std::move(problem));
  if (!problems.empty())
    return invalidArgument(fmt::format("{}", fmt::join(problems, "; ")));
  if (launch.world == 1)
    return launch;
  if (launch.meeting.host.empty())
    return failedPrecondition(fmt::format(
        "{} name {} ranks on several hosts, but no rendezvous; set MASTER_ADDR "
        "and MASTER_PORT to the host of rank 0 and a free port of it, or name "
        "one",
        launch.launcher, launch.world));
  return launch;
}

Result<Launch> detectLaunch(const LaunchOptions &options) {
  return detectLaunch(options,
                      [](const char *name) { return std::getenv(name); });
}

} // namespace weft::runtime
