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

namespace {

/// Candidates one after another that are not cut.
struct Run {
  size_t begin, end;
  size_t earliest = 0, latest = SIZE_MAX;
  int64_t wireBytes = 0, callBytes = 0;
  /// Of sums of what has a buffer already: it is copied to be sent with others,
  /// and back.
  int64_t copiedBytes = 0;
  HeldSpan held{SIZE_MAX, 0, 0};
  double ready = 0;

  bool add(const Candidate &candidate, double when);
};

class BucketChoice {
public:
  BucketChoice(Block &block, SmallVector<Candidate> &candidates,
               double wholeSeconds, int64_t latencies,
               const cost::CostModel &model);

  std::vector<Bucket> run() const;

private:
  void removeExposed();
  void sort();
  void findRuns(double wholeSeconds);
  double mostWireBytes(int64_t latencies) const;
  double secondsOf(size_t begin, size_t end) const;
  bool isWorthIt(const Bucket &bucket) const;

  SmallVector<Candidate> &candidates;
  const cost::CostModel &model;
  const bool gathers, sums;
  const cost::Link link;
  std::vector<Run> runs;
  /// By run.
  std::vector<HeldSpan> held;
  double mostBytes = 0;
  std::optional<BucketRoom> room;
};

} // namespace

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
  CommunicationOpInterface op = candidate.op;
  if (op.isAllReduce() && isa<BlockArgument>(op->getOperand(0)))
    copiedBytes += candidate.call.bytes;
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
                           double wholeSeconds, int64_t latencies,
                           const cost::CostModel &model)
    : candidates(candidates), model(model),
      gathers(opOf(candidates.front()).isAllGather()),
      sums(opOf(candidates.front()).isAllReduce()),
      link(model.links().link(findGroups(candidates.front().op).span)) {
  sort();
  removeExposed();
  findRuns(wholeSeconds);
  mostBytes = mostWireBytes(latencies);
  if (!sums)
    return;
  DenseSet<Operation *> senders;
  for (const Candidate &candidate : candidates)
    senders.insert(candidate.op);
  for (const Run &run : runs)
    held.push_back(run.held);
  room.emplace(block, senders, held);
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
      (earliest > latest ||
       (wireBytes > mostBytes &&
        !(sums && copiedBytes == 0 &&
          room->fits(ArrayRef(held).slice(begin, end - begin))))))
    return std::numeric_limits<double>::infinity();
  // Each byte is read and written, before the call and behind it.
  const double copying =
      runs[end - 1].end - runs[begin].begin > 1
          ? 4.0 * double(copiedBytes) * model.secondsPerByte()
          : 0;
  return model.collective(call).seconds + copying;
}

/// Whether the calls saved take longer than copying to one tensor and back.
/// Sums need no copies, but for small ones whose parts have no place of theirs.
bool BucketChoice::isWorthIt(const Bucket &bucket) const {
  if (sums)
    return true;
  int64_t copied = 0;
  for (const Candidate &member : bucket.members)
    copied += bytesOf(opOf(member)->getOperand(0)) +
              bytesOf(opOf(member)->getResult(0));
  // Each byte is read and written.
  return 2.0 * double(copied) * model.secondsPerByte() <
         double(bucket.members.size() - 1) * link.latencySeconds;
}

std::vector<Bucket> BucketChoice::run() const {
  std::vector<double> ready;
  for (const Run &run : runs)
    ready.push_back(run.ready);
  std::vector<Bucket> buckets;
  size_t begin = 0;
  for (size_t end : cost::chooseBuckets(
           ready,
           [&](size_t first, size_t last) { return secondsOf(first, last); },
           model.launch())) {
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
                                        double wholeSeconds, int64_t latencies,
                                        const cost::CostModel &model) {
  if (candidates.size() < 2)
    return {};
  return BucketChoice(block, candidates, wholeSeconds, latencies, model).run();
}
