//===- ShiftedOrder.cpp - An order with fewer waits -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// List scheduling never leaves links idle, so what is sent may be in the way of
// what is ready a moment later, and it decides about one step at a time. Where
// a rank waits, a few steps are moved past others, again and again, as long as
// the end comes no later (hill climbing over neighbouring orders). What follows
// a move can only be as late as what the move leaves: once nothing of that is
// later than before, the rest need not be looked at.
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OverlapOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <utility>

using namespace weft;

/// How far steps are moved.
static constexpr size_t reach = 48;

/// Of the end, what is worth another quarter of the moves.
static constexpr double leastGain = 0.0005;

namespace {

/// What an order leaves at a place: when computing goes on, and behind that
/// when each link is free.
using Front = llvm::MutableArrayRef<int64_t>;
using ConstFront = llvm::ArrayRef<int64_t>;

static bool isNoLater(ConstFront front, ConstFront other) {
  const int64_t now = front.front(), otherNow = other.front();
  for (size_t link = 1; link < front.size(); ++link)
    if (std::max(front[link], now) > std::max(other[link], otherNow))
      return false;
  return now <= otherNow;
}

class Shifter {
public:
  Shifter(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions);

  /// Tries so many moves, fewer where a quarter of them gains next to nothing.
  void run(size_t tries);
  std::vector<Action> actions() const;

private:
  using Sequence = llvm::SmallVector<int32_t, 128>;

  /// Does a step at a front, with the ends of others; returns the collective
  /// that is waited for, or -1.
  int32_t pass(Front front, int32_t index, llvm::ArrayRef<int64_t> ends,
               int64_t &end) const;
  /// Does all from a place up to another, or until, behind those that changed,
  /// the rest is as it was; returns where that is.
  size_t passFrom(size_t place, size_t changed, size_t until);
  /// Of some places, and of those that were looked at since the last time.
  void findStalls(size_t begin, size_t end);

  Front frontAt(size_t place) {
    return Front(fronts).slice(place * width, width);
  }
  int64_t lastEnd() { return *llvm::max_element(frontAt(order.size())); }

  void move(size_t place);
  /// A range with what its last step needs of it in front of all else; and with
  /// its first step, and what needs that, behind all else.
  Sequence lastToFront(size_t first, size_t last) const;
  Sequence firstToBack(size_t first, size_t last) const;
  void tryRange(size_t first, const Sequence &moved);
  bool freesOperand(int32_t collective) const;

  /// The same numbers in every run, on every machine.
  size_t draw(size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return size_t(state >> 33) % below;
  }

  /// Of a step what its time depends on: its link, -1 if it is no collective,
  /// and the collectives among its operands, up to where those of the next one
  /// begin.
  struct Timed {
    int64_t picoseconds = 0;
    int32_t link = -1;
    uint32_t firstAwaited = 0;
  };

  llvm::ArrayRef<Step> steps;
  std::vector<Timed> timed;
  std::vector<int32_t> awaitedBy;
  std::vector<int32_t> order, userCount;
  std::vector<size_t> placeOf;
  /// Before each place, and behind the last one, so many numbers each.
  std::vector<int64_t> fronts;
  size_t width = 1;
  /// Of steps; and as a move would have them.
  std::vector<int64_t> ends, movedEnds;
  /// By place, the collective that is waited for, or -1.
  std::vector<int32_t> awaited;
  std::vector<size_t> stalls;
  /// Places where they may have changed since they were found.
  size_t firstUnseen = 0, lastUnseen = 0;
  uint64_t state = 1;
};

} // namespace

Shifter::Shifter(llvm::ArrayRef<Step> steps, llvm::ArrayRef<Action> actions)
    : steps(steps), timed(steps.size() + 1), userCount(steps.size()),
      placeOf(steps.size()), ends(steps.size()), awaited(steps.size(), -1) {
  for (const Action &action : actions)
    if (!action.isWait) {
      placeOf[action.step] = order.size();
      order.push_back(action.step);
    }
  std::map<int32_t, int32_t> links;
  for (auto [index, step] : llvm::enumerate(steps)) {
    timed[index].picoseconds = step.picoseconds;
    if (step.isCollective)
      timed[index].link =
          links.try_emplace(step.link, int32_t(links.size())).first->second;
    for (int32_t operand : step.operands) {
      ++userCount[operand];
      if (steps[operand].isCollective)
        awaitedBy.push_back(operand);
    }
    timed[index + 1].firstAwaited = awaitedBy.size();
  }
  width = 1 + links.size();
  fronts.resize((steps.size() + 1) * width);
  passFrom(0, order.size(), order.size());
  movedEnds = ends;
  findStalls(0, order.size());
}

int32_t Shifter::pass(Front front, int32_t index, llvm::ArrayRef<int64_t> ends,
                      int64_t &end) const {
  const Timed &step = timed[index];
  int64_t &now = front.front();
  int32_t awaited = -1;
  for (uint32_t i = step.firstAwaited; i < timed[index + 1].firstAwaited; ++i)
    if (const int32_t operand = awaitedBy[i]; ends[operand] > now) {
      now = ends[operand];
      awaited = operand;
    }
  if (step.link >= 0) {
    int64_t &link = front[1 + step.link];
    end = link = std::max(link, now) + step.picoseconds;
  } else {
    end = now += step.picoseconds;
  }
  return awaited;
}

size_t Shifter::passFrom(size_t place, size_t changed, size_t until) {
  llvm::SmallVector<int64_t, 8> front(frontAt(place));
  // Of collectives that end at another time, then or now.
  int64_t lastChange = 0;
  while (place < until) {
    const int32_t index = order[place];
    const int64_t before = ends[index];
    awaited[place] = pass(front, index, ends, ends[index]);
    if (timed[index].link >= 0 && ends[index] != before)
      lastChange = std::max({lastChange, before, ends[index]});
    ++place;
    const Front old = frontAt(place);
    const bool isAsBefore = place >= changed && place < until &&
                            lastChange <= front.front() &&
                            ConstFront(front) == ConstFront(old);
    if (isAsBefore)
      break;
    llvm::copy(front, old.begin());
  }
  return place;
}

void Shifter::findStalls(size_t begin, size_t end) {
  begin = std::min(begin, std::exchange(firstUnseen, order.size()));
  end = std::max(end, std::exchange(lastUnseen, 0));
  const auto first = llvm::lower_bound(stalls, begin),
             last = std::lower_bound(first, stalls.end(), end);
  llvm::SmallVector<size_t, 64> found;
  for (size_t place = begin; place < end; ++place)
    if (awaited[place] >= 0)
      found.push_back(place);
  const size_t kept = first - stalls.begin();
  stalls.erase(first, last);
  stalls.insert(stalls.begin() + int64_t(kept), found.begin(), found.end());
}

Shifter::Sequence Shifter::lastToFront(size_t first, size_t last) const {
  llvm::SmallVector<bool, 128> isNeeded(last - first);
  isNeeded.back() = true;
  for (size_t place = last; place-- > first;)
    if (isNeeded[place - first])
      for (int32_t operand : steps[order[place]].operands)
        if (placeOf[operand] >= first)
          isNeeded[placeOf[operand] - first] = true;
  Sequence moved;
  for (bool front : {true, false})
    for (size_t place = first; place < last; ++place)
      if (isNeeded[place - first] == front)
        moved.push_back(order[place]);
  return moved;
}

Shifter::Sequence Shifter::firstToBack(size_t first, size_t last) const {
  llvm::SmallVector<bool, 128> follows(last - first);
  follows.front() = true;
  for (size_t place = first + 1; place < last; ++place)
    follows[place - first] =
        llvm::any_of(steps[order[place]].operands, [&](int32_t operand) {
          return placeOf[operand] >= first && placeOf[operand] < place &&
                 follows[placeOf[operand] - first];
        });
  Sequence moved;
  for (bool back : {false, true})
    for (size_t place = first; place < last; ++place)
      if (follows[place - first] == back)
        moved.push_back(order[place]);
  return moved;
}

/// Keeps the range if nothing behind it, or not the end, is later for it.
void Shifter::tryRange(size_t first, const Sequence &moved) {
  llvm::SmallVector<int64_t, 8> front(frontAt(first));
  const size_t last = first + moved.size();
  size_t place = first;
  // Collectives that end at another time, until nobody can wait for them.
  llvm::SmallVector<int32_t, 16> later, earlier;
  bool isGood = false, isSame = false, isDecided = false;
  // What is later at first may end no later: seldom, as it takes a look at all.
  const bool isPatient = draw(std::max<size_t>(4, order.size() / 500)) == 0;
  for (; place < order.size() && !isDecided; ++place) {
    const int32_t index = place < last ? moved[place - first] : order[place];
    pass(front, index, movedEnds, movedEnds[index]);
    if (timed[index].link >= 0 && movedEnds[index] != ends[index])
      (movedEnds[index] > ends[index] ? later : earlier).push_back(index);
    if (place + 1 < last)
      continue;
    const ConstFront before = frontAt(place + 1);
    llvm::erase_if(
        later, [&](int32_t each) { return movedEnds[each] <= front.front(); });
    llvm::erase_if(earlier,
                   [&](int32_t each) { return ends[each] <= before.front(); });
    const bool noneLater = later.empty() && isNoLater(front, before),
               noneEarlier = earlier.empty() && isNoLater(before, front);
    isDecided = noneLater || (noneEarlier && !isPatient);
    isGood = noneLater;
    isSame = noneLater && noneEarlier;
  }
  if (!isDecided)
    isGood = *llvm::max_element(front) <= lastEnd();
  if (isGood) {
    for (size_t at = first; at < last; ++at) {
      order[at] = moved[at - first];
      placeOf[order[at]] = at;
    }
    const size_t until = isSame ? passFrom(first, place, place)
                                : passFrom(first, last, order.size());
    if (isSame) {
      firstUnseen = std::min(firstUnseen, first);
      lastUnseen = std::max(lastUnseen, until);
    } else {
      findStalls(first, until);
    }
    place = std::max(place, until);
  }
  for (size_t at = first; at < place; ++at)
    movedEnds[order[at]] = ends[order[at]];
}

/// Around a wait that the step at a place begins with.
void Shifter::move(size_t place) {
  const int32_t collective = awaited[place];
  const size_t at = placeOf[collective];
  const size_t distance = 1 + draw(reach);
  switch (draw(3)) {
  case 0: { // It starts earlier.
    const size_t first = at - std::min(at, distance);
    return tryRange(first, lastToFront(first, at + 1));
  }
  case 1: { // What is before it on its links starts later.
    for (size_t other = at; other-- > 0 && at - other <= 2 * reach;)
      if (timed[order[other]].link == timed[collective].link)
        return tryRange(
            other, firstToBack(other, std::min(order.size(), at + distance)));
    return;
  }
  default: { // Something else is computed meanwhile.
    const size_t last = std::min(order.size(), place + 1 + distance);
    return tryRange(place, lastToFront(place, last));
  }
  }
}

void Shifter::run(size_t tries) {
  for (int quarter = 0; quarter < 4; ++quarter) {
    const int64_t before = lastEnd();
    for (size_t i = 0; i < tries / 4 && !stalls.empty(); ++i)
      if (const size_t place = stalls[draw(stalls.size())]; awaited[place] >= 0)
        move(place);
    if (double(lastEnd()) > (1 - leastGain) * double(before))
      break;
  }
}

/// Whether the operand of a collective is gone with the wait for it.
bool Shifter::freesOperand(int32_t collective) const {
  const Step &step = steps[collective];
  return !step.enlarges && !step.isView &&
         llvm::all_of(step.operands,
                      [&](int32_t operand) { return userCount[operand] == 1; });
}

std::vector<Action> Shifter::actions() const {
  std::vector<Action> result;
  std::vector<int32_t> underWay;
  auto wait = [&](auto isAwaited) {
    for (size_t i = 0; i < underWay.size();)
      if (isAwaited(underWay[i])) {
        result.push_back({underWay[i], /*isWait=*/true});
        underWay.erase(underWay.begin() + int64_t(i));
      } else {
        ++i;
      }
  };
  for (auto [place, index] : llvm::enumerate(order)) {
    const Step &step = steps[index];
    wait([&, &step = step](int32_t collective) {
      return llvm::is_contained(step.operands, collective);
    });
    result.push_back({index});
    if (step.isCollective)
      underWay.push_back(index);
    else
      wait([&, now = fronts[(place + 1) * width]](int32_t collective) {
        return ends[collective] <= now && freesOperand(collective);
      });
  }
  wait([](int32_t) { return true; });
  return result;
}

std::vector<Action> weft::shiftedOrder(llvm::ArrayRef<Step> steps,
                                       llvm::ArrayRef<Action> actions) {
  constexpr size_t triesOfStep = 16, mostTries = 1 << 16;
  Shifter shifter(steps, actions);
  shifter.run(std::min(triesOfStep * steps.size(), mostTries));
  return shifter.actions();
}
