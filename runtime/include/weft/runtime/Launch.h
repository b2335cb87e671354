//===- Launch.h - How the processes of a job were started -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A job with several processes has one process a rank of a plan for GPUs, or a
// process for several ranks of a plan for CPUs: the rank of a launch is the
// number of the process. Who starts them says
// through environment variables which rank a process is and where the ranks
// meet; without variables the caller says it:
//
//   torchrun --nproc-per-node 8 --no-python shard-run gpt.plan ...
//   srun -n 8 shard-run gpt.plan ...
//   mpirun -n 8 shard-run gpt.plan ...
//   shard-run gpt.plan --rendezvous tcp://node1:29500 --rank 3 --world 8 ...
//
// Bootstrap.h lets the ranks meet.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_LAUNCH_H
#define WEFT_RUNTIME_LAUNCH_H

#include "weft/runtime/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weft::runtime {

/// Where the ranks of a job meet: a port of the host of rank 0. Without one the
/// job has one rank.
struct MeetingPoint {
  std::string host;
  /// The first of the ports that rank 0 may listen on, and how many there are:
  /// the port that a launcher names may be taken, by itself among others.
  uint16_t port = 0;
  int ports = 1;

  /// "tcp://node1:29500".
  std::string toString() const;
};

/// One process of a job.
struct Launch {
  int rank = 0;
  int world = 1;
  /// Among the processes of this host; -1 when the launcher does not say, and
  /// Bootstrap::connect finds it out.
  int localRank = -1;
  int localWorld = -1;
  /// How often the job was started again.
  int restart = 0;
  /// Sets the job apart from others that meet at the same address; may be
  /// empty.
  std::string job;
  /// Who said all this, for messages: "the variables of torchrun".
  std::string launcher;
  /// The MPI that the processes were started by, "openmpi" or "mpich"; empty
  /// where they were started by none.
  std::string mpi;
  MeetingPoint meeting;
};

/// What the caller says about the launch.
struct LaunchOptions {
  /// "tcp://HOST:PORT", or nothing: the launcher says it.
  std::string rendezvous = {};
  /// Beside `rendezvous`, where no launcher says them.
  std::optional<int> rank = std::nullopt;
  std::optional<int> world = std::nullopt;
};

/// The value of a variable, or null.
using Environment = std::function<const char *(const char *)>;

/// This process in its job: by `options`, else by the variables of torchrun,
/// Open MPI, MPICH or Slurm, the first that are there; else a job of one rank.
Result<Launch> detectLaunch(const LaunchOptions &options,
                            const Environment &environment);
/// The same with the variables of this process.
Result<Launch> detectLaunch(const LaunchOptions &options = {});

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LAUNCH_H
