//===- Collectives.cpp - Times and checks collectives ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include "ExpectedValues.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <thread>

using namespace weft::runtime;
using weft::cost::CollectiveKind;

namespace weft::tools {
namespace {

/// One rank's end and buffers.
class Rank {
public:
  Rank(const CollectiveCase &run, const World &world, int rank,
       const OwnCollective &own)
      : run(run), rank(rank), group(*world.communicator(rank, 0)),
        control(*world.communicator(rank, 1)), own(own),
        source(run.elements() * byteSize(run.dtype)),
        destination(source.size()) {}

  bool hasOwn() const { return own != nullptr; }
  /// A batch: so many calls, or, where negative, of the library's own.
  Status call(int64_t calls);
  /// Fills the source; what must be in the destination is known.
  void fill();
  int64_t countErrors() const;
  /// The batch that rank 0 says; 0 for the end.
  Result<int32_t> agree(int32_t calls);
  /// Of all ranks.
  Result<int64_t> sumOf(int64_t errors);

private:
  Status call();
  int64_t shard() const { return run.elements() / run.ranks; }

  const CollectiveCase &run;
  const int rank;
  Communicator &group, &control;
  const OwnCollective &own;
  std::vector<std::byte> source, destination;
};

} // namespace

static double read(const std::vector<std::byte> &data, DType dtype,
                   int64_t index) {
  const std::byte *at = data.data() + index * byteSize(dtype);
  switch (dtype) {
  case DType::BF16:
    return toFloat(*reinterpret_cast<const BFloat16 *>(at));
  case DType::F16:
    return toFloat(*reinterpret_cast<const Float16 *>(at));
  case DType::I32:
    return *reinterpret_cast<const int32_t *>(at);
  default:
    return *reinterpret_cast<const float *>(at);
  }
}

static void write(std::vector<std::byte> &data, DType dtype, int64_t index,
                  double value) {
  std::byte *at = data.data() + index * byteSize(dtype);
  const auto number = static_cast<float>(value);
  switch (dtype) {
  case DType::BF16:
    *reinterpret_cast<BFloat16 *>(at) = toBFloat16(number);
    break;
  case DType::F16:
    *reinterpret_cast<Float16 *>(at) = toFloat16(number);
    break;
  case DType::I32:
    *reinterpret_cast<int32_t *>(at) = static_cast<int32_t>(value);
    break;
  default:
    *reinterpret_cast<float *>(at) = number;
  }
}

int64_t CollectiveCase::elements() const {
  return bytes / static_cast<int64_t>(byteSize(dtype));
}

int64_t CollectiveCase::count() const {
  const bool isWhole =
      kind == CollectiveKind::AllReduce || kind == CollectiveKind::Permute;
  return isWhole ? elements() : elements() / ranks;
}

Status Rank::call() {
  const CallContext context{.cause = "shard-bench"};
  const void *from = source.data();
  void *to = destination.data();
  switch (run.kind) {
  case CollectiveKind::AllReduce:
    return group.allReduce(from, to, run.elements(), run.dtype, Reduction::Sum,
                           context);
  case CollectiveKind::ReduceScatter:
    return group.reduceScatter(from, to, 1, shard(), run.dtype, Reduction::Sum,
                               context);
  case CollectiveKind::AllGather:
    return group.allGather(from, to, 1, shard(), run.dtype, context);
  case CollectiveKind::AllToAll:
    return group.allToAll(from, to, 1, 1, shard(), true, run.dtype, context);
  case CollectiveKind::Permute:
    return group.permute(from, to, run.elements(), run.dtype,
                         senderOf(run, rank), context);
  case CollectiveKind::Exchange:
    break;
  }
  return unimplemented(
      "an exchange depends on its map"); // no test: not offered
}

Status Rank::call(int64_t calls) {
  if (calls < 0)
    return own(reinterpret_cast<const float *>(source.data()),
               reinterpret_cast<float *>(destination.data()), run.count(),
               -calls);
  for (int64_t i = 0; i < calls; ++i)
    WEFT_RETURN_IF_ERROR(call());
  return {};
}

void Rank::fill() {
  for (int64_t i = 0; i < run.elements(); ++i)
    write(source, run.dtype, i, valueOf(rank, i));
  // No result looks like this.
  std::ranges::fill(destination, std::byte(0x55));
}

int64_t Rank::countErrors() const {
  const int64_t results =
      run.kind == CollectiveKind::ReduceScatter ? shard() : run.elements();
  const ExpectedValues expected(run, rank);
  int64_t errors = 0;
  for (int64_t i = 0; i < results; ++i)
    errors += read(destination, run.dtype, i) != expected.at(i);
  return errors;
}

/// The others say 0.
Result<int32_t> Rank::agree(int32_t calls) {
  WEFT_RETURN_IF_ERROR(control.allReduce(
      &calls, &calls, 1, DType::I32, Reduction::Sum, {.cause = "shard-bench"}));
  return calls;
}

Result<int64_t> Rank::sumOf(int64_t errors) {
  WEFT_RETURN_IF_ERROR(control.allReduce(&errors, &errors, 1, DType::I64,
                                         Reduction::Sum,
                                         {.cause = "shard-bench"}));
  return errors;
}

/// Batches for as long as rank 0, which keeps time, says.
static Status follow(Rank &rank) {
  while (true) {
    WEFT_ASSIGN_OR_RETURN(const int32_t calls, rank.agree(0));
    if (calls == 0)
      return {};
    WEFT_RETURN_IF_ERROR(rank.call(calls));
  }
}

namespace {

/// Batches of ours, and of the library's own beside them.
struct Batches {
  std::vector<Batch> ours, own;
};

} // namespace

static Result<Batches> lead(Rank &rank, double seconds) {
  constexpr size_t leastBatches = 3;
  const auto batchOf = [&](int64_t calls) -> Result<Batch> {
    WEFT_RETURN_IF_ERROR(rank.agree(static_cast<int32_t>(calls)).status());
    const double wall = wallSeconds(), cpu = processSeconds();
    WEFT_RETURN_IF_ERROR(rank.call(calls));
    return Batch{std::abs(calls), wallSeconds() - wall, processSeconds() - cpu};
  };
  const double end = wallSeconds() + seconds;
  if (rank.hasOwn())
    WEFT_RETURN_IF_ERROR(batchOf(-1).status());
  WEFT_RETURN_IF_ERROR(batchOf(1).status());
  WEFT_ASSIGN_OR_RETURN(const Batch probe, batchOf(1));
  const int64_t calls = callsOfBatch(probe.wall);
  Batches batches;
  while (batches.ours.size() < leastBatches || wallSeconds() < end) {
    if (rank.hasOwn()) {
      WEFT_ASSIGN_OR_RETURN(const Batch batch, batchOf(-calls));
      batches.own.push_back(batch);
    }
    WEFT_ASSIGN_OR_RETURN(const Batch batch, batchOf(calls));
    batches.ours.push_back(batch);
  }
  // What is checked is ours.
  WEFT_RETURN_IF_ERROR(batchOf(1).status());
  WEFT_RETURN_IF_ERROR(rank.agree(0).status());
  return batches;
}

static CollectiveTiming summarize(const Batches &batches, int ranks) {
  const int cores = std::max(
      1,
      std::min(ranks, static_cast<int>(std::thread::hardware_concurrency())));
  std::vector<double> wall, cpu, own;
  for (const Batch &batch : batches.ours) {
    const auto calls = static_cast<double>(batch.calls);
    wall.push_back(batch.wall / calls);
    cpu.push_back(batch.cpu / calls / cores);
  }
  CollectiveTiming timing{.best = *std::ranges::min_element(wall),
                          .median = medianOf(wall),
                          .cpu = *std::ranges::min_element(cpu)};
  for (const Batch &batch : batches.own)
    own.push_back(batch.wall / static_cast<double>(batch.calls));
  if (!own.empty())
    timing.ownBest = *std::ranges::min_element(own);
  return timing;
}

Result<CollectiveTiming> timeCollective(const CollectiveCase &run,
                                        const World &world, double seconds,
                                        const OwnCollective &own) {
  std::vector<Status> failures(run.ranks);
  std::vector<int64_t> errors(run.ranks);
  Batches batches;
  const auto work = [&](int number) -> Status {
    Rank rank(run, world, number, own);
    rank.fill();
    if (number == 0) {
      WEFT_ASSIGN_OR_RETURN(batches, lead(rank, seconds));
    } else {
      WEFT_RETURN_IF_ERROR(follow(rank));
    }
    WEFT_ASSIGN_OR_RETURN(errors[number], rank.sumOf(rank.countErrors()));
    return {};
  };
  std::vector<int> here;
  for (int number = 0; number < run.ranks; ++number)
    if (world.communicator(number, 0))
      here.push_back(number);
  std::vector<std::thread> threads;
  for (int number : std::span(here).subspan(1))
    threads.emplace_back([&, number] { failures[number] = work(number); });
  failures[here[0]] = work(here[0]);
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &failure : failures)
    WEFT_RETURN_IF_ERROR(failure);
  CollectiveTiming timing;
  if (!batches.ours.empty())
    timing = summarize(batches, run.ranks);
  timing.errors = errors[here[0]];
  return timing;
}

} // namespace weft::tools
