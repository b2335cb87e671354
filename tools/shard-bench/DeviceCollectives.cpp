//===- DeviceCollectives.cpp - Times collectives of GPUs ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCollectives.h"

#include "CompilePlan.h"
#include "ExpectedValues.h"

#include "weft/runtime/Bootstrap.h"
#include "weft/runtime/Session.h"

#include <fmt/format.h>

#include <algorithm>

using namespace weft::runtime;
using weft::cost::CollectiveKind;

namespace weft::tools {

static constexpr CollectiveKind kinds[] = {
    CollectiveKind::AllReduce, CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter, CollectiveKind::AllToAll};

DeviceCollectives::DeviceCollectives() = default;
DeviceCollectives::~DeviceCollectives() = default;

static std::string entryOf(const CollectiveCase &run) {
  return fmt::format("{}_{}", nameOf(run.kind), run.bytes);
}

/// What the ranks have before and behind a collective: partial sums, a shard
/// or all of it. An all-to-all splits another dimension afterwards.
struct Layouts {
  const char *before, *after;
};
static Layouts layoutsOf(CollectiveKind kind) {
  static constexpr const char *sums = "[{}], unreduced={\"x\"}",
                              *shard = "[{\"x\"}]", *whole = "[{}]";
  switch (kind) {
  case CollectiveKind::AllGather:
    return {shard, whole};
  case CollectiveKind::ReduceScatter:
    return {sums, shard};
  case CollectiveKind::AllToAll:
    return {"[{\"x\"}, {}]", "[{}, {\"x\"}]"};
  default:
    return {sums, whole};
  }
}

/// An all-to-all moves a matrix with a row for each rank: each holds a row
/// before and a block of columns afterwards.
static std::string typeOf(const CollectiveCase &run) {
  return run.kind == CollectiveKind::AllToAll
             ? fmt::format("tensor<{}x{}xf32>", run.ranks, run.elements())
             : fmt::format("tensor<{}xf32>", run.elements());
}

static std::string printEntry(const CollectiveCase &run) {
  const std::string entry = entryOf(run), type = typeOf(run);
  const Layouts layouts = layoutsOf(run.kind);
  const auto value = [&](const char *suffix, const char *layout) {
    return fmt::format("{} {{weft.name = \"{}{}\", weft.sharding = "
                       "#weft.sharding<@mesh, {}>}}",
                       type, entry, suffix, layout);
  };
  return fmt::format("func.func @{0}(%x: {1}, %y: {2}) -> ({1}, {2}) {{\n"
                     "  return %x, %x : {3}, {3}\n}}\n",
                     entry, value(".from", layouts.before),
                     value(".to", layouts.after), type);
}

Status DeviceCollectives::connect(int mostRanks) {
  WEFT_ASSIGN_OR_RETURN(const Launch launch, detectLaunch());
  ranks = mostRanks;
  if (launch.world == 1)
    return {};
  ranks = launch.world;
  WEFT_ASSIGN_OR_RETURN(bootstrap,
                        Bootstrap::connect(launch, std::chrono::minutes(5)));
  return {};
}

Status DeviceCollectives::load(const std::string &target) {
  std::string text = fmt::format("weft.mesh @mesh = <[\"x\"={}]>\n", ranks);
  for (const CollectiveCase &run : all)
    text += printEntry(run);
  WEFT_ASSIGN_OR_RETURN(Plan plan, compilePlan(text, target));
  SessionOptions options;
  options.bootstrap = bootstrap;
  WEFT_ASSIGN_OR_RETURN(session, Session::create(std::move(plan), options));
  return {};
}

Result<std::unique_ptr<DeviceCollectives>>
DeviceCollectives::create(const std::string &target, int mostRanks,
                          int64_t largestBytes) {
  std::unique_ptr<DeviceCollectives> made(new DeviceCollectives());
  WEFT_RETURN_IF_ERROR(made->connect(mostRanks));
  constexpr int64_t smallest = 1024, step = 8;
  for (CollectiveKind kind : kinds)
    for (int64_t bytes = smallest; bytes <= largestBytes; bytes *= step) {
      const int64_t unit = made->ranks * int64_t(sizeof(float));
      made->all.push_back(
          {kind, made->ranks, DType::F32, (bytes + unit - 1) / unit * unit});
    }
  WEFT_RETURN_IF_ERROR(made->load(target));
  return made;
}

bool DeviceCollectives::isFirstProcess() const {
  return !bootstrap || bootstrap->launch().rank == 0;
}

std::string DeviceCollectives::describe() const {
  return bootstrap ? fmt::format("NCCL, {} processes", ranks)
                   : fmt::format("{} ranks on one GPU", ranks);
}

/// Elements that a rank has before, or after.
static int64_t elementsOf(const CollectiveCase &run, bool isBefore) {
  const bool isShard = (run.kind == CollectiveKind::AllGather && isBefore) ||
                       (run.kind == CollectiveKind::ReduceScatter && !isBefore);
  return isShard ? run.elements() / run.ranks : run.elements();
}

static std::vector<int64_t> shapeOf(const CollectiveCase &run, bool isBefore) {
  const int64_t elements = elementsOf(run, isBefore);
  if (run.kind != CollectiveKind::AllToAll)
    return {elements};
  return isBefore ? std::vector<int64_t>{1, elements}
                  : std::vector<int64_t>{run.ranks, elements / run.ranks};
}

Status DeviceCollectives::fill(const CollectiveCase &run) {
  for (const bool isBefore : {true, false}) {
    std::vector<Array> parts;
    for (int rank = 0; rank < ranks; ++rank) {
      Array &part = parts.emplace_back(DType::F32, shapeOf(run, isBefore));
      if (isBefore)
        for (int64_t i = 0; i < part.size(); ++i)
          part.as<float>()[i] = static_cast<float>(valueOf(rank, i));
    }
    const std::vector<ArrayView> views(parts.begin(), parts.end());
    WEFT_RETURN_IF_ERROR(session->setInputShards(
        entryOf(run), entryOf(run) + (isBefore ? ".from" : ".to"), views));
  }
  return {};
}

Result<int64_t> DeviceCollectives::countErrors(const CollectiveCase &run) {
  int64_t errors = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (bootstrap && rank != bootstrap->launch().rank)
      continue;
    WEFT_ASSIGN_OR_RETURN(const Array found,
                          session->getShard(entryOf(run) + ".to", rank));
    const ExpectedValues expected(run, rank);
    for (int64_t i = 0; i < found.size(); ++i)
      errors += found.as<float>()[i] != static_cast<float>(expected.at(i));
  }
  return errors;
}

/// As many calls in every process.
Result<CollectiveTiming> DeviceCollectives::time(const CollectiveCase &run) {
  constexpr int batches = 5, calls = 20, warmUp = 3;
  WEFT_RETURN_IF_ERROR(fill(run));
  std::vector<double> times;
  for (int i = 0; i < warmUp; ++i)
    WEFT_RETURN_IF_ERROR(session->run(entryOf(run)));
  for (int batch = 0; batch < batches; ++batch) {
    const double begin = wallSeconds();
    for (int i = 0; i < calls; ++i)
      WEFT_RETURN_IF_ERROR(session->run(entryOf(run)));
    times.push_back((wallSeconds() - begin) / calls);
  }
  const double best = *std::ranges::min_element(times);
  CollectiveTiming timing{best, medianOf(times), best, 0};
  WEFT_ASSIGN_OR_RETURN(timing.errors, countErrors(run));
  return timing;
}

} // namespace weft::tools
