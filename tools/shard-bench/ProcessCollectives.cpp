//===- ProcessCollectives.cpp - Collectives over MPI ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessCollectives.h"

#include "comm/mpi/MpiEngine.h"
#include "comm/mpi/MpiWorld.h"

#include <fmt/format.h>

#include <numeric>
#include <optional>

using namespace weft::runtime;
using weft::cost::CollectiveKind;

namespace weft::tools {

ProcessCollectives::ProcessCollectives() = default;
ProcessCollectives::~ProcessCollectives() = default;

Result<std::unique_ptr<ProcessCollectives>>
ProcessCollectives::create(const Launch &launch, int ranks) {
  std::unique_ptr<ProcessCollectives> made(new ProcessCollectives());
  made->ranks = ranks;
  WEFT_ASSIGN_OR_RETURN(made->bootstrap,
                        Bootstrap::connect(launch, std::chrono::minutes(5)));
  WEFT_ASSIGN_OR_RETURN(made->engine, MpiEngine::ofProcess(*made->bootstrap));
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  WEFT_ASSIGN_OR_RETURN(
      made->world,
      MpiWorld::create(*made->bootstrap, ranks, "shard-bench", {{all}, {all}}));
  return made;
}

std::string ProcessCollectives::describe() const {
  return fmt::format("{}, {} processes, {} ranks", engine->version(),
                     engine->processes(), ranks);
}

static std::optional<MpiLibrary::Own> ownKind(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return MpiLibrary::Own::AllReduce;
  case CollectiveKind::AllGather:
    return MpiLibrary::Own::AllGather;
  case CollectiveKind::ReduceScatter:
    return MpiLibrary::Own::ReduceScatter;
  case CollectiveKind::AllToAll:
    return MpiLibrary::Own::AllToAll;
  default:
    return std::nullopt;
  }
}

Result<CollectiveTiming> ProcessCollectives::time(const CollectiveCase &run,
                                                  double seconds) const {
  const auto kind = ownKind(run.kind);
  if (!kind || ranks != engine->processes() || run.dtype != DType::F32)
    return timeCollective(run, *world, seconds);
  return timeCollective(
      run, *world, seconds,
      [&](const float *from, float *to, int64_t count, int64_t calls) {
        return engine->call(
            [=](MpiLibrary &library) {
              std::string problem;
              for (int64_t i = 0; i < calls && problem.empty(); ++i)
                problem = library.ownCollective(*kind, from, to,
                                                static_cast<int>(count));
              return problem;
            },
            [] { return Status(); });
      });
}

} // namespace weft::tools
