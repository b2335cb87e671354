//===- GridRows.cpp - Jobs of reductions of rows --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlanner.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

/// The most threads of a block, so that each may have 128 registers.
static constexpr int64_t mostThreads = 512;

/// The most threads of a block for a nest: numbers of f64 take two registers.
static int64_t mostThreadsOf(const KernelNest &nest) {
  auto isWide = [](Value value) {
    return getElementTypeOrSelf(value.getType()).isF64();
  };
  bool formsWideSums =
      llvm::any_of(nest.reductions,
                   [&](Operation *op) { return isWide(op->getResult(0)); }) ||
      llvm::any_of(accumulationsOf(nest),
                   [&](const auto &sum) { return isWide(sum.second.value); });
  return formsWideSums ? mostThreads / 2 : mostThreads;
}

/// Threads of a block that walk a row: as many as are idle least, and of these
/// the number that gives each about half of what it may hold.
static int64_t threadsOfLongRow(int64_t columns, int64_t lanes,
                                int64_t mostThreads) {
  int64_t vectors = llvm::divideCeil(columns, lanes);
  int64_t mostSteps = heldNumbers / lanes, best = mostThreads, leastIdle = -1;
  for (int64_t steps = 1, last = 0; steps <= mostSteps; ++steps) {
    int64_t threads =
        llvm::alignTo(llvm::divideCeil(vectors, steps), warpThreads);
    if (threads > mostThreads || threads == last)
      continue;
    last = threads;
    int64_t idle = countSteps(columns, threads, lanes) * threads - vectors;
    bool isFewer = idle == leastIdle && steps * 2 <= mostSteps;
    if (leastIdle >= 0 && idle >= leastIdle && !isFewer)
      continue;
    best = threads;
    leastIdle = idle;
  }
  return best;
}

void GridPlanner::addRows(const KernelNest &nest) {
  GridJob job{JobKind::Rows, &nest};
  SmallVector<const ColumnLoop *> loops = loopsOf(nest);
  int64_t columns = longestRow(nest), wide = wideLanes(nest.rows, loops);
  job.lanes = chooseLanes(nest.rows, loops);
  job.hasEdges = wantsEdges(nest, job.lanes, wide);
  if (job.hasEdges)
    job.lanes = wide;
  if (canSplitRows(nest)) {
    job.kind = JobKind::SplitRows;
  } else if (job.hasAccumulations()) {
    // A thread adds up its own columns of all rows.
    int64_t threads =
        llvm::alignTo(llvm::divideCeil(columns, job.lanes), warpThreads);
    job.rowThreads = std::min(threads, mostThreadsOf(nest));
    wantedThreads = std::max(wantedThreads, job.rowThreads);
  } else if (columns > warpThreads * heldNumbers ||
             (nest.rows < 1024 && columns > 512)) {
    job.rowThreads = threadsOfLongRow(columns, job.lanes, mostThreadsOf(nest));
    wantedThreads = std::max(wantedThreads, job.rowThreads);
  }
  plan.jobs.push_back(job);
}

/// Threads of a warp that walk a row: as many as are idle least, and of these
/// the fewest that have up to two vectors each and keep memory busy.
static int64_t threadsOfShortRow(const GridJob &job) {
  /// So many vectors are a cache line.
  constexpr int64_t lineVectors = 8;
  int64_t vectors = llvm::divideCeil(longestRow(*job.nest), job.lanes);
  int64_t best = warpThreads, leastIdle = -1;
  for (int64_t threads = warpThreads; threads >= 1; threads /= 2) {
    int64_t steps = llvm::divideCeil(vectors, threads);
    // Of what is beside the vectors, a thread has one number.
    bool hasRoom = !job.hasEdges || threads >= 2 * job.lanes;
    bool isLong = steps > 1 && (threads < lineVectors ||
                                steps * job.lanes > heldNumbers / 2 ||
                                job.nest->rows * threads < manyThreads);
    if (threads < warpThreads && (!hasRoom || isLong))
      break;
    int64_t idle = steps * threads - vectors;
    if (leastIdle >= 0 &&
        (idle > leastIdle || (idle == leastIdle && steps > 2)))
      continue;
    best = threads;
    leastIdle = idle;
  }
  return best;
}

void GridPlanner::layRows(GridJob &job) {
  if (job.rowThreads != warpThreads || job.hasAccumulations())
    job.rowThreads = plan.threads;
  if (!job.hasAccumulations() && job.rowThreads <= warpThreads)
    job.rowThreads = threadsOfShortRow(job);
  int64_t together = plan.threads / job.rowThreads;
  job.blocks = llvm::divideCeil(job.nest->rows, together);
  if (job.hasAccumulations())
    layRowSums(job);
  if (job.rowThreads == plan.threads)
    keepRow(job);
}

/// The operands that have an element for each of `elements`, and that `value`
/// is computed from where the nest's row reductions are known.
static void findOperands(Value value, const KernelNest &nest, int64_t elements,
                         DenseSet<Value> &seen,
                         llvm::SmallSetVector<BlockArgument, 4> &found) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !seen.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (type.getNumElements() == elements)
      found.insert(argument);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (nest.reductions.contains(op))
    return;
  for (Value operand : op->getOperands())
    findOperands(operand, nest, elements, seen, found);
}

static auto operandsOf(const ColumnLoop &loop, const KernelNest &nest) {
  DenseSet<Value> seen;
  llvm::SmallSetVector<BlockArgument, 4> found;
  auto add = [&](Value value) {
    findOperands(value, nest, nest.rows * loop.columns, seen, found);
  };
  for (linalg::GenericOp reduction : loop.reductions)
    llvm::for_each(reduction->getOperands(), add);
  for (const KernelRoot &root : loop.accumulations)
    add(root.value);
  for (const KernelRoot &root : loop.writes)
    add(root.value);
  return found;
}

/// The numbers of a row in shared memory, as RowColumns finds them: vectors
/// aligned to their size, and behind them an edge for each thread.
static int64_t countKept(const GridJob &job, int64_t columns) {
  return columns / job.lanes * job.lanes + (job.hasEdges ? job.rowThreads : 0);
}

/// Keeps operands of rows too long for registers as long as two blocks find
/// room on a processor: one computes while the other loads.
void GridPlanner::keepRow(GridJob &job) {
  // For what a block declares, and what the system takes of each.
  constexpr int64_t besidesBytes = 2048, blocksAtOnce = 2, alignment = 16;
  int64_t columns = longestRow(*job.nest);
  if (countSteps(columns, job.rowThreads, job.lanes) * job.lanes <= heldNumbers)
    return;
  llvm::MapVector<BlockArgument, int> passes;
  for (const auto &pass : job.nest->passes)
    for (const ColumnLoop &loop : pass)
      if (loop.columns == columns)
        for (BlockArgument argument : operandsOf(loop, *job.nest))
          ++passes[argument];
  int64_t used = 0, room = sharedBytes / blocksAtOnce - besidesBytes;
  for (auto [argument, count] : passes) {
    int64_t bytes = llvm::alignTo(
        countKept(job, columns) * elementBytes(argument), alignment);
    if (count < 2 || used + bytes > room)
      continue;
    job.kept.push_back({argument, used});
    used += bytes;
  }
  plan.launchSharedBytes = std::max(plan.launchSharedBytes, used);
}

/// Sums over rows are made in up to two levels of `sumFanIn`.
void GridPlanner::layRowSums(GridJob &job) {
  constexpr int64_t rowsAtLeast = 4;
  // Twice as many as run at once, so that none waits long for the last.
  int64_t useful = llvm::divideCeil(2 * manyThreads, plan.threads);
  int64_t blocks = std::clamp<int64_t>(job.nest->rows / rowsAtLeast, 1, useful);
  if (!hasCounters(mostSumGroups + 1))
    blocks = 1;
  if (blocks > sumFanIn)
    blocks = std::min(blocks / sumFanIn, mostSumGroups) * sumFanIn;
  job.blocks = job.sharers = blocks;
  int64_t bytes = 0, groups = blocks > sumFanIn ? blocks / sumFanIn : 0;
  for (auto &[loop, root] : accumulationsOf(*job.nest))
    bytes += partialBytes(root, loop->columns);
  reserve(job, groups + 1, (blocks + groups) * bytes);
}
