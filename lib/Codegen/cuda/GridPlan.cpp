//===- GridPlan.cpp - How a kernel is laid out on a GPU -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlan.h"
#include "../ElementEmitter.h"

#include "weft/IR/WeftOps.h"

#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace weft;

/// Bytes of one access of a thread.
static constexpr int64_t vectorBytes = 16;
/// The most blocks that several of are of use: some for each multiprocessor.
static constexpr int64_t manyBlocks = 528;
/// The most threads of a block, so that each may have 128 registers.
static constexpr int64_t mostThreads = 512;
/// Side of a square of elements.
static constexpr int64_t tileSide = 32;

int64_t weft::countSteps(int64_t columns, int64_t threads, int64_t lanes) {
  return llvm::divideCeil(columns, threads * lanes);
}

std::vector<std::pair<const ColumnLoop *, KernelRoot>>
weft::accumulationsOf(const KernelNest &nest) {
  std::vector<std::pair<const ColumnLoop *, KernelRoot>> found;
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass)
      for (const KernelRoot &root : loop.accumulations)
        found.push_back({&loop, root});
  return found;
}

bool GridJob::hasAccumulations() const {
  return !accumulationsOf(*nest).empty();
}

static int64_t elementBytes(Value tensor) {
  Type storage = getStorageType(getElementTypeOrSelf(tensor.getType()));
  return storage.getIntOrFloatBitWidth() / 8;
}

int64_t weft::partialBytes(const KernelRoot &accumulation, int64_t columns) {
  return llvm::alignTo(columns * elementBytes(accumulation.value), 64);
}

int64_t weft::countScatterRowDims(Operation *op) {
  GatherDims dims = cast<ScatterAddOp>(op).getGatherDims();
  int64_t count = dims.dim;
  for (int64_t takenDim : dims.getTakenDimsOfIndices())
    count = std::max(count, takenDim + 1);
  return count;
}

/// The widest element among the values that are read or written along `columns`
/// columns to compute `value`.
static void findWidest(Value value, int64_t columns, int64_t &bytes,
                       DenseSet<Value> &seen) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !seen.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op) {
    if (type.getNumElements() >= columns)
      bytes = std::max(bytes, elementBytes(value));
    return;
  }
  for (Value operand : op->getOperands())
    findWidest(operand, columns, bytes, seen);
}

/// The widest vectors of 16 bytes that divide the columns of all loops.
static int64_t chooseLanes(ArrayRef<const ColumnLoop *> loops) {
  int64_t columns = 0, bytes = 1;
  for (const ColumnLoop *loop : loops)
    if (loop->columns > 1)
      columns = std::gcd(columns, loop->columns);
  DenseSet<Value> seen;
  for (const ColumnLoop *loop : loops) {
    for (linalg::GenericOp reduction : loop->reductions)
      for (Value result : reduction->getResults())
        findWidest(result, loop->columns, bytes, seen);
    for (const auto &roots : {loop->writes, loop->accumulations})
      for (const KernelRoot &root : roots) {
        bytes = std::max(bytes, elementBytes(root.value));
        findWidest(root.value, loop->columns, bytes, seen);
      }
  }
  return std::gcd(columns == 0 ? 1 : columns,
                  std::min<int64_t>(vectorBytes / bytes, 8));
}

static int64_t longestRow(const KernelNest &nest) {
  int64_t columns = 1;
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass)
      columns = std::max(columns, loop.columns);
  return columns;
}

namespace {

class GridPlanner {
public:
  explicit GridPlanner(GridPlan &plan) : plan(plan) {}
  void run();

private:
  void addLoops(const KernelNest &nest, unsigned number);
  void addRows(const KernelNest &nest, unsigned number);
  void addScatter(const KernelNest &nest, unsigned number);
  void layElements(GridJob &job);
  void layColumnSums(GridJob &job);
  void layRows(GridJob &job);
  void layRowSums(GridJob &job);
  bool canSplitRows(const KernelNest &nest);
  void laySplitRows(GridJob &job);
  void layScatter(GridJob &job);
  bool hasCounters(int64_t count) { return counters + count <= counterCount; }
  void reserve(GridJob &job, int64_t count, int64_t bytes);

  GridPlan &plan;
  int64_t wantedThreads = 0, counters = 0;
};

} // namespace

void GridPlanner::reserve(GridJob &job, int64_t count, int64_t bytes) {
  job.counter = counters;
  counters += count;
  if (plan.workspaceBytes == 0)
    plan.workspaceBytes = counterCount * counterBytes;
  job.partials = plan.workspaceBytes;
  plan.workspaceBytes += llvm::alignTo(bytes, 64);
}

/// Nothing of a nest without reductions depends on another of its loops.
void GridPlanner::addLoops(const KernelNest &nest, unsigned number) {
  for (const ColumnLoop &loop : nest.passes.front()) {
    GridJob job{JobKind::Elements, &nest, number, &loop};
    job.lanes = chooseLanes(&loop);
    if (!loop.accumulations.empty()) {
      job.kind = JobKind::ColumnSums;
    } else if (nest.blocked && nest.rows > 1 && loop.columns > 1) {
      job.kind = JobKind::Tiles;
      job.lanes = 1;
    }
    plan.jobs.push_back(job);
  }
}

bool GridPlanner::canSplitRows(const KernelNest &nest) {
  if (nest.rows > 64 || !accumulationsOf(nest).empty() ||
      nest.passes.front().size() != 1 ||
      nest.passes.front().front().columns < 8192)
    return false;
  // What needs the sums is done by one block.
  return llvm::all_of(ArrayRef(nest.passes).drop_front(), [](const auto &pass) {
    return llvm::all_of(
        pass, [](const ColumnLoop &loop) { return loop.columns == 1; });
  });
}

void GridPlanner::addRows(const KernelNest &nest, unsigned number) {
  GridJob job{JobKind::Rows, &nest, number};
  SmallVector<const ColumnLoop *> loops;
  int64_t columns = longestRow(nest);
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass)
      loops.push_back(&loop);
  job.lanes = chooseLanes(loops);
  auto threadsFor = [&](int64_t numbers) {
    int64_t threads = llvm::alignTo(llvm::divideCeil(columns, numbers), 32);
    return std::min(threads, mostThreads);
  };
  if (canSplitRows(nest)) {
    job.kind = JobKind::SplitRows;
  } else if (job.hasAccumulations()) {
    // A thread adds up its own columns of all rows.
    job.rowThreads = threadsFor(job.lanes);
    wantedThreads = std::max(wantedThreads, job.rowThreads);
  } else if (columns > warpThreads * heldNumbers ||
             (nest.rows < 1024 && columns > 512)) {
    job.rowThreads = threadsFor(heldNumbers / 2);
    wantedThreads = std::max(wantedThreads, job.rowThreads);
  }
  plan.jobs.push_back(job);
}

void GridPlanner::addScatter(const KernelNest &nest, unsigned number) {
  auto op = nest.scatter->value.getDefiningOp<ScatterAddOp>();
  ArrayRef<int64_t> taken = op.getUpdates().getType().getShape();
  int64_t columns = countElements(taken.drop_front(countScatterRowDims(op)));
  int64_t bytes = elementBytes(op.getResult()), all = 1;
  DenseSet<Value> seen;
  findWidest(op.getUpdates(), columns, all, seen);
  GridJob job{JobKind::Scatter, &nest, number};
  job.lanes = std::gcd(columns, vectorBytes / std::max(bytes, all));
  plan.jobs.push_back(job);
}

void GridPlanner::layElements(GridJob &job) {
  int64_t elements = job.nest->rows * job.loop->columns;
  job.blocks = llvm::divideCeil(elements / job.lanes, plan.threads);
  if (job.kind == JobKind::Tiles)
    job.blocks = llvm::divideCeil(job.nest->rows, tileSide) *
                 llvm::divideCeil(job.loop->columns, tileSide);
}

void GridPlanner::layColumnSums(GridJob &job) {
  // In shared memory each thread has a vector for each sum.
  constexpr int64_t sharedBytes = 40 * 1024;
  auto bytesOf = [&](int64_t lanes) {
    int64_t sum = 0;
    for (const KernelRoot &root : job.loop->accumulations)
      sum += partialBytes(root, plan.threads * lanes);
    return sum;
  };
  while (job.lanes > 1 && bytesOf(job.lanes) > sharedBytes)
    job.lanes /= 2;
  int64_t vectors = job.loop->columns / job.lanes;
  job.rowThreads = std::min<int64_t>(warpThreads, llvm::PowerOf2Ceil(vectors));
  job.tiles = llvm::divideCeil(vectors, job.rowThreads);
  int64_t rowsAtOnce = plan.threads / job.rowThreads;
  int64_t useful = llvm::divideCeil(job.nest->rows, rowsAtOnce * 4);
  job.sharers =
      std::min<int64_t>(useful, llvm::divideCeil(manyBlocks, job.tiles));
  if (!hasCounters(job.tiles))
    job.sharers = 1;
  job.blocks = job.tiles * job.sharers;
  if (job.sharers == 1)
    return;
  int64_t bytes = 0;
  for (const KernelRoot &root : job.loop->accumulations)
    bytes += partialBytes(root, job.rowThreads * job.lanes);
  reserve(job, job.tiles, job.blocks * bytes);
}

void GridPlanner::layRows(GridJob &job) {
  if (job.rowThreads != warpThreads || job.hasAccumulations())
    job.rowThreads = plan.threads;
  // Short rows: several in a warp, where no thread is without a row.
  auto fits = [&](int64_t threads) {
    return !job.hasAccumulations() && job.rowThreads <= warpThreads &&
           threads > 0 && longestRow(*job.nest) <= threads * job.lanes &&
           job.nest->rows % (plan.threads / threads) == 0;
  };
  while (fits(job.rowThreads / 2))
    job.rowThreads /= 2;
  int64_t together = plan.threads / job.rowThreads;
  job.blocks = llvm::divideCeil(job.nest->rows, together);
  if (job.hasAccumulations())
    layRowSums(job);
}

/// Sums over rows are made in up to two stages of `sumFanIn`.
void GridPlanner::layRowSums(GridJob &job) {
  constexpr int64_t rowsAtLeast = 4;
  int64_t blocks = std::max<int64_t>(1, job.nest->rows / rowsAtLeast);
  if (!hasCounters(sumFanIn + 1))
    blocks = 1;
  if (blocks > sumFanIn)
    blocks = std::min(blocks / sumFanIn, sumFanIn) * sumFanIn;
  job.blocks = job.sharers = blocks;
  int64_t bytes = 0, groups = blocks > sumFanIn ? blocks / sumFanIn : 0;
  for (auto &[loop, root] : accumulationsOf(*job.nest))
    bytes += partialBytes(root, loop->columns);
  reserve(job, groups + 1, (blocks + groups) * bytes);
}

void GridPlanner::laySplitRows(GridJob &job) {
  int64_t columns = job.nest->passes.front().front().columns;
  int64_t useful = columns / (plan.threads * job.lanes * 4);
  job.rowThreads = plan.threads;
  job.sharers = std::clamp<int64_t>(
      useful, 1, llvm::divideCeil(manyBlocks, job.nest->rows));
  if (!hasCounters(job.nest->rows))
    job.sharers = 1;
  job.blocks = job.nest->rows * job.sharers;
  if (job.sharers == 1)
    return;
  constexpr int64_t slotBytes = 8;
  reserve(job, job.nest->rows,
          job.blocks * job.nest->reductions.size() * slotBytes);
}

void GridPlanner::layScatter(GridJob &job) {
  auto op = job.nest->scatter->value.getDefiningOp<ScatterAddOp>();
  ArrayRef<int64_t> taken = op.getUpdates().getType().getShape();
  int64_t columns = countElements(taken.drop_front(countScatterRowDims(op)));
  int64_t rows = columns == 0 ? 0 : op.getType().getNumElements() / columns;
  job.tiles = llvm::divideCeil(columns, warpThreads * job.lanes);
  // A warp looks at all indices: few enough that this does not count.
  constexpr int64_t mostWarps = 4096;
  job.ownedRows =
      std::max<int64_t>(1, llvm::divideCeil(rows * job.tiles, mostWarps));
  int64_t warps = llvm::divideCeil(rows, job.ownedRows) * job.tiles;
  job.blocks = llvm::divideCeil(warps, plan.threads / warpThreads);
}

void GridPlanner::run() {
  for (auto [number, nest] : llvm::enumerate(plan.kernel.nests)) {
    if (nest.scatter)
      addScatter(nest, number);
    else if (nest.reductions.empty())
      addLoops(nest, number);
    else
      addRows(nest, number);
  }
  if (wantedThreads > 0)
    plan.threads = wantedThreads;
  for (GridJob &job : plan.jobs) {
    switch (job.kind) {
    case JobKind::Elements:
    case JobKind::Tiles:
      layElements(job);
      break;
    case JobKind::ColumnSums:
      layColumnSums(job);
      break;
    case JobKind::Rows:
      layRows(job);
      break;
    case JobKind::SplitRows:
      laySplitRows(job);
      break;
    case JobKind::Scatter:
      layScatter(job);
      break;
    }
    job.firstBlock = plan.blocks;
    plan.blocks += job.blocks;
  }
}

GridPlan weft::planGrid(KernelPlan kernel) {
  GridPlan plan;
  plan.kernel = std::move(kernel);
  GridPlanner(plan).run();
  // A grid has a block, also where all results are empty.
  plan.blocks = std::max<int64_t>(plan.blocks, 1);
  return plan;
}
