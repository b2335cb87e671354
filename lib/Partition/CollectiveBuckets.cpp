//===- CollectiveBuckets.cpp - Which collectives become one ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveBuckets.h"

#include "weft/Cost/Buckets.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;

/// Of all bytes that are summed in the same way, what may be held until it is
/// sent whatever the block holds.
static constexpr double heldShare = 0.125;
/// Of all bytes that are sent alike, what no bucket ends within: finer cuts
/// gain nothing.
static constexpr double leastShare = 1.0 / 256;

/// By how much of the block's time calls must end sooner for memory to grow.
static constexpr double leastGain = 0.01;

namespace {

/// Candidates one after another that are not cut.
struct Run {
  size_t begin, end;
  size_t earliest = 0, latest = SIZE_MAX;
  int64_t wireBytes = 0, callBytes = 0;
  int64_t copiedBytes = 0;
  HeldSpan held{SIZE_MAX, 0, 0};
  double ready = 0;

  bool add(const Candidate &candidate, double when);
};

class BucketChoice {
public:
  BucketChoice(Block &block, SmallVector<Candidate> &candidates,
               const BlockTimes &times, int64_t latencies,
               const cost::CostModel &model);

  std::vector<Bucket> run(double wholeSeconds);

private:
  void removeExposed();
  void sort();
  void findRuns(double wholeSeconds);
  void findRoom(Block &block, const BlockTimes &times);
  double mostWireBytes(int64_t latencies) const;
  double copySeconds(int64_t bytes) const;
  double secondsOf(size_t begin, size_t end) const;
  std::vector<size_t> findEnds(double wholeSeconds);
  bool isWorthIt(const Bucket &bucket) const;

  SmallVector<Candidate> &candidates;
  const cost::CostModel &model;
  const bool gathers, sums;
  const cost::Link link;
  std::vector<Run> runs;
  double mostBytes = 0;
  /// Of runs: as sums are held, and as they are if links are the slow part, and
  /// a little more.
  std::optional<BucketRoom> room, largerRoom;
  bool grows = false;
};

} // namespace

/// What is copied to be sent with others, and behind the call. Sums need no
/// copies, but of what has a buffer already.
static int64_t copiedBytesOf(CommunicationOpInterface op) {
  return !op.isAllReduce() || isa<BlockArgument>(op->getOperand(0))
             ? bytesOf(op->getOperand(0)) + bytesOf(op->getResult(0))
             : 0;
}

/// Returns false, and changes nothing, if the candidate has no place in common
/// with the run.
bool Run::add(const Candidate &candidate, double when) {
  const size_t first = std::max(earliest, candidate.earliest),
               last = std::min(latest, candidate.latest);
  if (end > begin && first > last)
    return false;
  ++end;
  earliest = first;
  latest = last;
  wireBytes += candidate.wireBytes;
  callBytes += candidate.call.bytes;
  copiedBytes += copiedBytesOf(candidate.op);
  held = {std::min(held.begin, candidate.held.begin),
          std::max(held.end, candidate.held.end),
          held.bytes + candidate.held.bytes};
  ready = std::max(ready, when);
  return true;
}

static CommunicationOpInterface opOf(const Candidate &candidate) {
  return candidate.op;
}

BucketChoice::BucketChoice(Block &block, SmallVector<Candidate> &candidates,
                           const BlockTimes &times, int64_t latencies,
                           const cost::CostModel &model)
    : candidates(candidates), model(model),
      gathers(opOf(candidates.front()).isAllGather()),
      sums(opOf(candidates.front()).isAllReduce()),
      link(model.links().link(findGroups(candidates.front().op).span)) {
  sort();
  removeExposed();
  findRuns(times.whole());
  mostBytes = mostWireBytes(latencies);
  if (sums)
    findRoom(block, times);
}

void BucketChoice::sort() {
  llvm::sort(candidates, [&](const Candidate &a, const Candidate &b) {
    return gathers
               ? std::pair(a.latest, a.number) > std::pair(b.latest, b.number)
               : std::tuple(a.earliest, a.ready, a.number) <
                     std::tuple(b.earliest, b.ready, b.number);
  });
}

/// What is needed before the last one is ready, and is not hidden until then,
/// waits for no other one.
void BucketChoice::removeExposed() {
  double last = 0;
  for (const Candidate &each : candidates)
    last = std::max(last, each.ready);
  llvm::erase_if(candidates, [&](const Candidate &each) {
    return each.isExposed && each.needed < last;
  });
}

/// For all-gathers time runs backwards.
void BucketChoice::findRuns(double wholeSeconds) {
  double all = 0;
  for (const Candidate &candidate : candidates)
    all += double(candidate.wireBytes);
  const double least = leastShare * all;
  double ready = 0;
  for (auto [number, candidate] : llvm::enumerate(candidates)) {
    ready = std::max(ready, !candidate.canBeHidden ? 0
                            : gathers ? wholeSeconds - candidate.needed
                                      : candidate.ready);
    Run own{number, number};
    own.add(candidate, ready);
    const bool joins = !runs.empty() && double(runs.back().wireBytes) < least &&
                       // What is copied is small together.
                       (runs.back().copiedBytes + own.copiedBytes == 0 ||
                        double(runs.back().wireBytes + own.wireBytes) < least);
    if (!joins || !runs.back().add(candidate, ready))
      runs.push_back(own);
  }
}

/// Sums are held until they have been sent: at once, or one after another.
void BucketChoice::findRoom(Block &block, const BlockTimes &times) {
  DenseSet<Operation *> senders;
  for (const Candidate &candidate : candidates)
    senders.insert(candidate.op);
  double sent = 0;
  std::vector<HeldSpan> held, waiting;
  for (auto [number, run] : llvm::enumerate(runs)) {
    held.push_back(run.held);
    waiting.push_back(run.held);
    if (!candidates[run.begin].canBeHidden)
      continue;
    sent = std::max(sent, run.ready) + secondsOf(number, number + 1);
    waiting.back().end = std::max(run.held.end, times.numberAt(sent) + 1);
  }
  room.emplace(block, senders, std::move(held), /*grows=*/false);
  largerRoom.emplace(block, senders, std::move(waiting), /*grows=*/true);
}

/// The most that a bucket sends whatever the block holds. Sums are sent from
/// where they are made, and held until then. Anything else is copied to one
/// tensor, and what is gathered is all there at once: sharded parameters must
/// not become whole ones.
double BucketChoice::mostWireBytes(int64_t latencies) const {
  const double once = link.latencySeconds / link.secondsPerByte;
  double all = 0;
  for (const Run &run : runs)
    all += double(run.wireBytes);
  if (sums)
    return std::max(double(latencies) * once, heldShare * all);
  return std::min(double(latencies) * once, std::max(once, heldShare * all));
}

/// Seconds of one call for runs; infinite where they have no place in common,
/// or too many bytes.
double BucketChoice::secondsOf(size_t begin, size_t end) const {
  cost::CollectiveCall call = candidates[runs[begin].begin].call;
  call.bytes = 0;
  size_t earliest = 0, latest = SIZE_MAX;
  double wireBytes = 0;
  int64_t copiedBytes = 0;
  for (const Run &run : ArrayRef(runs).slice(begin, end - begin)) {
    earliest = std::max(earliest, run.earliest);
    latest = std::min(latest, run.latest);
    wireBytes += double(run.wireBytes);
    call.bytes += run.callBytes;
    copiedBytes += run.copiedBytes;
  }
  if (end - begin > 1 &&
      (earliest > latest || (wireBytes > mostBytes &&
                             !(sums && copiedBytes == 0 &&
                               (grows ? largerRoom : room)->fits(begin, end)))))
    return std::numeric_limits<double>::infinity();
  const bool isAlone = runs[end - 1].end - runs[begin].begin == 1;
  return model.collective(call).seconds +
         (isAlone ? 0 : copySeconds(copiedBytes));
}

/// Each byte is read and written.
double BucketChoice::copySeconds(int64_t bytes) const {
  return 2.0 * double(bytes) * model.secondsPerByte();
}

/// Whether the calls saved take longer than copying to one tensor and back.
bool BucketChoice::isWorthIt(const Bucket &bucket) const {
  int64_t copied = 0;
  for (const Candidate &member : bucket.members)
    copied += copiedBytesOf(member.op);
  return copySeconds(copied) <
         double(bucket.members.size() - 1) * link.latencySeconds;
}

/// Where buckets end: those that take no more memory, unless others end sooner.
std::vector<size_t> BucketChoice::findEnds(double wholeSeconds) {
  std::vector<double> ready;
  for (const Run &run : runs)
    ready.push_back(run.ready);
  auto seconds = [&](size_t begin, size_t end) {
    return secondsOf(begin, end);
  };
  auto choose = [&] {
    return cost::chooseBuckets(ready, seconds, model.launch());
  };
  std::vector<size_t> ends = choose();
  if (!sums)
    return ends;
  grows = true;
  std::vector<size_t> larger = choose();
  return cost::endOfBuckets(ready, seconds, ends) -
                     cost::endOfBuckets(ready, seconds, larger) >
                 leastGain * wholeSeconds
             ? larger
             : ends;
}

std::vector<Bucket> BucketChoice::run(double wholeSeconds) {
  std::vector<Bucket> buckets;
  size_t begin = 0;
  for (size_t end : findEnds(wholeSeconds)) {
    Bucket bucket;
    for (const Run &run : ArrayRef(runs).slice(begin, end - begin)) {
      bucket.members.append(candidates.begin() + run.begin,
                            candidates.begin() + run.end);
      bucket.earliest = std::max(bucket.earliest, run.earliest);
      bucket.latest = std::min(bucket.latest, run.latest);
    }
    begin = end;
    if (gathers)
      std::reverse(bucket.members.begin(), bucket.members.end());
    if (bucket.members.size() > 1 && isWorthIt(bucket))
      buckets.push_back(std::move(bucket));
  }
  if (gathers)
    std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

std::vector<Bucket> weft::chooseBuckets(Block &block,
                                        SmallVector<Candidate> candidates,
                                        const BlockTimes &times,
                                        int64_t latencies,
                                        const cost::CostModel &model) {
  if (candidates.size() < 2)
    return {};
  return BucketChoice(block, candidates, times, latencies, model)
      .run(times.whole());
}
