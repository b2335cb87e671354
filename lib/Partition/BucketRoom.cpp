//===- BucketRoom.cpp - What may be held until it is sent -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketRoom.h"

#include "StoredValues.h"

#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace weft;

/// As much more than the block and its arguments hold may be held, and one sum
/// that is under way, as for the sake of overlap (--weft-start-collectives).
static constexpr double shareOfGrowth = 0.05;

namespace {

struct LastUse {
  size_t number;
  bool isReturned;
};

/// Of the results of a block's ops, from its end: views come before what they
/// are of.
class LastUses {
public:
  explicit LastUses(Block &block);

  size_t numberOf(Operation *op) const { return numbers.at(op); }
  LastUse of(Value value) const { return uses.at(value); }

private:
  DenseMap<Operation *, size_t> numbers;
  DenseMap<Value, LastUse> uses;
};

} // namespace

LastUses::LastUses(Block &block) {
  for (Operation &op : block)
    numbers.try_emplace(&op, numbers.size());
  for (Operation &op : llvm::reverse(block))
    for (Value result : op.getResults()) {
      LastUse last{numbers.at(&op), false};
      for (OpOperand &use : result.getUses()) {
        Operation *user = block.findAncestorOpInBlock(*use.getOwner());
        Value view = user == use.getOwner() ? viewOf(use) : Value();
        const LastUse behind =
            view ? uses.at(view)
                 : LastUse{numbers.at(user),
                           user->hasTrait<OpTrait::IsTerminator>()};
        last.number = std::max(last.number, behind.number);
        last.isReturned |= behind.isReturned;
      }
      uses.try_emplace(result, last);
    }
}

/// Before each op, of all but what is sent.
static std::vector<int64_t>
findHeldBytes(Block &block, const DenseSet<Operation *> &senders) {
  const LastUses uses(block);
  const StoredValues stored(block);
  std::vector<int64_t> bytes(block.getOperations().size() + 1);
  for (Operation &op : block) {
    if (senders.contains(&op) || isView(&op) ||
        op.hasTrait<OpTrait::ConstantLike>())
      continue;
    for (Value result : op.getResults()) {
      // What is only sent is counted as that.
      if (!stored.contains(result) ||
          llvm::all_of(result.getUsers(),
                       [&](Operation *user) { return senders.contains(user); }))
        continue;
      const LastUse last = uses.of(result);
      if (last.isReturned)
        continue;
      bytes[uses.numberOf(&op)] += bytesOf(result);
      bytes[last.number + 1] -= bytesOf(result);
    }
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  return bytes;
}

BucketRoom::BucketRoom(Block &block, const DenseSet<Operation *> &senders,
                       std::vector<HeldSpan> spans, bool grows)
    : sent(std::move(spans)) {
  const std::vector<int64_t> others = findHeldBytes(block, senders);
  places = {0, others.size()};
  for (const HeldSpan &span : sent)
    places.insert(places.end(), {span.begin, span.end});
  llvm::sort(places);
  places.erase(llvm::unique(places), places.end());
  std::vector<int64_t> changes(places.size());
  for (const HeldSpan &span : sent) {
    changes[placeOf(span.begin)] += span.bytes;
    changes[placeOf(span.end)] -= span.bytes;
  }
  int64_t ofSent = 0;
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    ofSent += changes[i];
    held.push_back(ofSent + *std::max_element(others.begin() + places[i],
                                              others.begin() + places[i + 1]));
    most = std::max(most, held.back());
  }
  if (!grows)
    return;
  int64_t all = most, largest = 0;
  for (BlockArgument argument : block.getArguments())
    all += bytesOf(argument);
  for (const HeldSpan &span : sent)
    largest = std::max(largest, span.bytes);
  most += int64_t(shareOfGrowth * double(all)) + largest;
}

size_t BucketRoom::placeOf(size_t number) const {
  return llvm::lower_bound(places, number) - places.begin();
}

bool BucketRoom::fits(size_t from, size_t to) const {
  const ArrayRef<HeldSpan> together = ArrayRef(sent).slice(from, to - from);
  size_t begin = SIZE_MAX, end = 0;
  int64_t early = 0, late = 0;
  for (const HeldSpan &span : together) {
    begin = std::min(begin, span.begin);
    end = std::max(end, span.end);
    early += span.bytes;
  }
  const size_t first = placeOf(begin), last = placeOf(end);
  std::vector<int64_t> begun(last - first + 1), ended(last - first + 1);
  for (const HeldSpan &span : together) {
    begun[placeOf(span.begin) - first] += span.bytes;
    ended[placeOf(span.end) - first] += span.bytes;
  }
  for (size_t place = first; place < last; ++place) {
    early -= begun[place - first];
    late += ended[place - first];
    // What waits for its call is under way while the next call's is made.
    if (held[place] + early + 2 * late > most)
      return false;
  }
  return true;
}
