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
/// Threads that keep the memory of a large GPU busy, if each has a vector.
static constexpr int64_t manyThreads = 132 * 1536;
/// The most threads of a block, so that each may have 128 registers.
static constexpr int64_t mostThreads = 512;

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

/// The widest element among the tensors of at least `elements` elements that
/// are read to compute `value`. What is smaller is read for many of them, and
/// the caches have it.
static void findWidest(Value value, int64_t elements, int64_t &bytes,
                       DenseSet<Value> &seen) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !seen.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op) {
    if (type.getNumElements() >= elements)
      bytes = std::max(bytes, elementBytes(value));
    return;
  }
  for (Value operand : op->getOperands())
    findWidest(operand, elements, bytes, seen);
}

/// The numbers of 16 bytes, of the widest that memory has one for each row and
/// column of.
static int64_t wideLanes(int64_t rows, ArrayRef<const ColumnLoop *> loops) {
  int64_t bytes = 2;
  DenseSet<Value> seen;
  for (const ColumnLoop *loop : loops) {
    if (loop->columns == 1)
      continue;
    int64_t elements = rows * loop->columns;
    for (linalg::GenericOp reduction : loop->reductions)
      findWidest(reduction->getResult(0), elements, bytes, seen);
    for (const KernelRoot &root : loop->accumulations)
      findWidest(root.value, elements, bytes, seen);
    for (const KernelRoot &root : loop->writes) {
      bytes = std::max(bytes, elementBytes(root.value));
      findWidest(root.value, elements, bytes, seen);
    }
  }
  return vectorBytes / bytes;
}

/// The numbers of the widest vectors that divide the columns of all loops.
static int64_t chooseLanes(int64_t rows, ArrayRef<const ColumnLoop *> loops) {
  int64_t columns = 0;
  for (const ColumnLoop *loop : loops)
    if (loop->columns > 1)
      columns = std::gcd(columns, loop->columns);
  return std::gcd(columns == 0 ? 1 : columns, wideLanes(rows, loops));
}

/// Whether rows of this number of columns are worth a way of their own to have
/// wide vectors: all loops have them, and nothing is added up by columns.
static bool wantsEdges(const KernelNest &nest, int64_t lanes, int64_t wide) {
  constexpr int64_t fewColumns = 256;
  if (lanes * 4 > wide)
    return false;
  int64_t columns = 1;
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass) {
      if (loop.columns == 1)
        continue;
      if (loop.columns < fewColumns || !loop.accumulations.empty() ||
          (columns > 1 && columns != loop.columns))
        return false;
      columns = loop.columns;
    }
  return columns > 1;
}

static SmallVector<const ColumnLoop *> loopsOf(const KernelNest &nest) {
  SmallVector<const ColumnLoop *> loops;
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass)
      loops.push_back(&loop);
  return loops;
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
  GridPlanner(GridPlan &plan, int64_t sharedBytes)
      : plan(plan), sharedBytes(sharedBytes) {}
  void run();

private:
  void addLoops(const KernelNest &nest, unsigned number);
  void addRows(const KernelNest &nest, unsigned number);
  void addScatter(const KernelNest &nest, unsigned number);
  void layElements(GridJob &job);
  void layColumnSums(GridJob &job);
  void layRows(GridJob &job);
  void layRowSums(GridJob &job);
  void keepRow(GridJob &job);
  bool canSplitRows(const KernelNest &nest);
  void laySplitRows(GridJob &job);
  void layScatter(GridJob &job);
  bool hasCounters(int64_t count) { return counters + count <= counterCount; }
  void reserve(GridJob &job, int64_t count, int64_t bytes);

  GridPlan &plan;
  const int64_t sharedBytes;
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
  SmallVector<const ColumnLoop *> loops = loopsOf(nest);
  // Many rows are walked each by threads of its own.
  if (nest.rows >= manyBlocks && !nest.blocked &&
      accumulationsOf(nest).empty() &&
      wantsEdges(nest, chooseLanes(nest.rows, loops),
                 wideLanes(nest.rows, loops)))
    return addRows(nest, number);
  for (const ColumnLoop &loop : nest.passes.front()) {
    GridJob job{JobKind::Elements, &nest, number, &loop};
    job.lanes = chooseLanes(nest.rows, &loop);
    // Without rows, what is left behind the last vector is no trouble.
    int64_t wide = wideLanes(nest.rows, &loop);
    if (nest.rows == 1 && loop.columns >= wide && loop.accumulations.empty())
      job.lanes = wide;
    if (!loop.accumulations.empty()) {
      job.kind = JobKind::ColumnSums;
    } else if (nest.blocked && nest.rows > 1 && loop.columns > 1) {
      // Four bytes a lane, whichever way it counts.
      job.kind = JobKind::Tiles;
      job.lanes = std::gcd(std::gcd(nest.rows, loop.columns),
                           std::max<int64_t>(wide / 4, 1));
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
  if (nest.reductions.empty())
    return false;
  return llvm::all_of(ArrayRef(nest.passes).drop_front(), [](const auto &pass) {
    return llvm::all_of(
        pass, [](const ColumnLoop &loop) { return loop.columns == 1; });
  });
}

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

void GridPlanner::addRows(const KernelNest &nest, unsigned number) {
  GridJob job{JobKind::Rows, &nest, number};
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
  // A vector that is not full at the end is of a thread more for each number.
  job.blocks = llvm::divideCeil(elements / job.lanes + elements % job.lanes,
                                plan.threads);
  if (job.kind == JobKind::Tiles)
    job.blocks = llvm::divideCeil(job.nest->rows, warpThreads * job.lanes) *
                 llvm::divideCeil(job.loop->columns, warpThreads * job.lanes);
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

/// Sums over rows are made in up to two stages of `sumFanIn`.
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

GridPlan weft::planGrid(KernelPlan kernel, int64_t sharedBytes) {
  GridPlan plan;
  plan.kernel = std::move(kernel);
  GridPlanner(plan, sharedBytes).run();
  // A grid has a block, also where all results are empty.
  plan.blocks = std::max<int64_t>(plan.blocks, 1);
  return plan;
}
