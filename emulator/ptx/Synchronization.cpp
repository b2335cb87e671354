//===- Synchronization.cpp - Shuffles, votes, barriers and fences ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Emitter.h"
#include "Lanes.h"

namespace weft::emulator {
namespace {

enum class Shuffle : uint8_t { Up, Down, Butterfly, Index };

/// Which lane a lane reads, and whether it is one of its segment.
struct Source {
  uint32_t lane;
  bool inSegment;

  static Source of(Shuffle kind, uint32_t lane, uint32_t b, uint32_t c) {
    uint32_t clamp = c & 31, segment = c >> 8 & 31, by = b & 31;
    uint32_t least = lane & segment, most = least | (clamp & ~segment);
    // An unsigned number of a lane below 0 is above `most`.
    uint32_t from = kind == Shuffle::Up          ? lane - by
                    : kind == Shuffle::Down      ? lane + by
                    : kind == Shuffle::Butterfly ? lane ^ by
                                                 : least | (by & ~segment);
    bool inside =
        kind == Shuffle::Up ? by <= lane && from >= most : from <= most;
    return {inside ? from : lane, inside};
  }
};

/// What a lane gets from one that takes no part: on a GPU it is undefined.
constexpr uint32_t poison = ~0u;

template <Shuffle Kind>
void shuffleHandler(Warp &warp, const Op &op, Mask mask) {
  uint32_t *out = warp.lanes<uint32_t>(op.operands[0]);
  const uint32_t *a = warp.lanes<uint32_t>(op.operands[2]),
                 *b = warp.lanes<uint32_t>(op.operands[3]),
                 *c = warp.lanes<uint32_t>(op.operands[4]);
  uint32_t values[warpSize];
  Mask inside = 0;
  forLanes(mask, [&](uint32_t i) {
    Source source = Source::of(Kind, i, b[i], c[i]);
    values[i] = mask >> source.lane & 1 ? a[source.lane] : poison;
    inside |= Mask(source.inSegment) << i;
  });
  forLanes(mask, [&](uint32_t i) { out[i] = values[i]; });
  Mask &predicate = warp.predicate(op.operands[1]);
  predicate = (predicate & ~mask) | (inside & mask);
}

/// Marks the operation as one that waits for the lanes of its last operand.
void waitsForLanes(Op &op) { op.flow = Op::Flow::WarpSync; }

void shuffle(Emitter &e) {
  if (!e.modifiers.take("sync"))
    e.fail("shuffles without .sync are not known");
  auto handler = e.modifiers.takeOneOf<Handler>(
      {{"up", shuffleHandler<Shuffle::Up>},
       {"down", shuffleHandler<Shuffle::Down>},
       {"bfly", shuffleHandler<Shuffle::Butterfly>},
       {"idx", shuffleHandler<Shuffle::Index>}});
  if (!handler)
    e.fail("expected .up, .down, .bfly or .idx");
  e.modifiers.type();
  e.modifiers.finish("shfl");
  e.expectOperands(5);
  auto outputs = e.elements(e.operand(0));
  std::vector<Value> uses;
  for (size_t i = 1; i < 5; ++i)
    uses.push_back(e.read(e.operand(i), Type::B32));
  Value predicate = outputs.size() > 1 ? e.writtenPredicate(*outputs[1])
                                       : e.temporaryPredicate();
  std::vector<Value> definitions = {e.written(*outputs[0], 4), predicate};
  waitsForLanes(e.emit(*handler, definitions, uses));
}

enum class Vote : uint8_t { All, Any, Uniform, Ballot };

template <Vote Kind> void voteHandler(Warp &warp, const Op &op, Mask mask) {
  Mask yes = warp.predicate(op.operands[1]) & mask;
  if constexpr (Kind == Vote::Ballot) {
    uint32_t *out = warp.lanes<uint32_t>(op.operands[0]);
    forLanes(mask, [=](uint32_t i) { out[i] = yes; });
  } else {
    bool result = Kind == Vote::All   ? yes == mask
                  : Kind == Vote::Any ? yes != 0
                                      : yes == mask || yes == 0;
    Mask &out = warp.predicate(op.operands[0]);
    out = (out & ~mask) | (result ? mask : 0);
  }
}

void vote(Emitter &e) {
  if (!e.modifiers.take("sync"))
    e.fail("votes without .sync are not known");
  bool ballot = e.modifiers.take("ballot");
  auto handler =
      ballot ? voteHandler<Vote::Ballot>
             : e.modifiers
                   .takeOneOf<Handler>({{"all", voteHandler<Vote::All>},
                                        {"any", voteHandler<Vote::Any>},
                                        {"uni", voteHandler<Vote::Uniform>}})
                   .value_or(nullptr);
  if (!handler)
    e.fail("expected .all, .any, .uni or .ballot");
  e.modifiers.type();
  e.modifiers.finish("vote");
  e.expectOperands(3);
  Value predicate = e.readPredicate(e.operand(1)),
        members = e.read(e.operand(2), Type::B32);
  Value out =
      ballot ? e.written(e.operand(0), 4) : e.writtenPredicate(e.operand(0));
  waitsForLanes(e.emit(handler, {out}, {predicate, members}));
}

void activeHandler(Warp &warp, const Op &op, Mask mask) {
  uint32_t *out = warp.lanes<uint32_t>(op.operands[0]);
  forLanes(mask, [=](uint32_t i) { out[i] = mask; });
}

void activeMask(Emitter &e) {
  e.modifiers.type();
  e.modifiers.finish("activemask");
  e.emit(activeHandler, {e.written(e.operand(0), 4)}, {});
}

struct ReduceAdd {
  template <typename T> static T apply(T a, T b) { return a + b; }
};
struct ReduceMin {
  template <typename T> static T apply(T a, T b) { return b < a ? b : a; }
};
struct ReduceMax {
  template <typename T> static T apply(T a, T b) { return a < b ? b : a; }
};
struct ReduceAnd {
  template <typename T> static T apply(T a, T b) { return a & b; }
};
struct ReduceOr {
  template <typename T> static T apply(T a, T b) { return a | b; }
};
struct ReduceXor {
  template <typename T> static T apply(T a, T b) { return a ^ b; }
};

template <typename T, typename F>
void reduceHandler(Warp &warp, const Op &op, Mask mask) {
  const T *in = warp.lanes<T>(op.operands[1]);
  T result = in[std::countr_zero(mask)];
  for (Mask rest = mask & (mask - 1); rest; rest &= rest - 1)
    result = F::apply(result, in[std::countr_zero(rest)]);
  T *out = warp.lanes<T>(op.operands[0]);
  forLanes(mask, [=](uint32_t i) { out[i] = result; });
}

void reduce(Emitter &e) {
  if (!e.modifiers.take("sync"))
    e.fail("expected .sync");
  bool add = e.modifiers.take("add"), min = e.modifiers.take("min"),
       max = e.modifiers.take("max"), all = e.modifiers.take("and"),
       any = e.modifiers.take("or"), odd = e.modifiers.take("xor");
  Type type = e.modifiers.type();
  e.modifiers.finish("redux");
  bool sign = type == Type::S32;
  Handler handler = add           ? reduceHandler<uint32_t, ReduceAdd>
                    : min && sign ? reduceHandler<int32_t, ReduceMin>
                    : min         ? reduceHandler<uint32_t, ReduceMin>
                    : max && sign ? reduceHandler<int32_t, ReduceMax>
                    : max         ? reduceHandler<uint32_t, ReduceMax>
                    : all         ? reduceHandler<uint32_t, ReduceAnd>
                    : any         ? reduceHandler<uint32_t, ReduceOr>
                    : odd         ? reduceHandler<uint32_t, ReduceXor>
                                  : nullptr;
  if (!handler || isFloat(type))
    e.fail("expected a reduction of integers");
  Value in = e.read(e.operand(1), type),
        members = e.read(e.operand(2), Type::B32);
  waitsForLanes(e.emit(handler, {e.written(e.operand(0), 4)}, {in, members}));
}

/// bar.red: what the threads of the block said together.
enum class BlockVote : uint8_t { All, Any, Count };

template <BlockVote Kind>
void blockVoteHandler(Warp &warp, const Op &op, Mask mask) {
  const Block::Votes &votes = warp.block.votes();
  if constexpr (Kind == BlockVote::Count) {
    uint32_t *out = warp.lanes<uint32_t>(op.operands[0]);
    forLanes(mask, [&](uint32_t i) { out[i] = votes.yes; });
  } else {
    bool result =
        Kind == BlockVote::All ? votes.yes == votes.all : votes.yes != 0;
    Mask &out = warp.predicate(op.operands[0]);
    out = (out & ~mask) | (result ? mask : 0);
  }
}

void barrier(Emitter &e) {
  if (e.modifiers.take("warp")) {
    e.modifiers.take("sync");
    e.modifiers.finish(e.statement.opcode);
    return waitsForLanes(
        e.emit(nullptr, {}, {e.read(e.operand(0), Type::B32)}));
  }
  for (const char *name : {"cta", "sync", "aligned", "all"})
    e.modifiers.take(name);
  bool arrives = e.modifiers.take("arrive"), votes = e.modifiers.take("red");
  std::vector<Value> outputs, uses;
  Handler handler = nullptr;
  size_t at = 0, last = e.operands();
  if (votes) {
    bool all = e.modifiers.take("and"), any = e.modifiers.take("or");
    bool count = e.modifiers.take("popc");
    handler = all   ? blockVoteHandler<BlockVote::All>
              : any ? blockVoteHandler<BlockVote::Any>
                    : blockVoteHandler<BlockVote::Count>;
    e.modifiers.type();
    outputs.push_back(count ? e.written(e.operand(0), 4)
                            : e.writtenPredicate(e.operand(0)));
    at = 1;
    uses.push_back(e.readPredicate(e.operand(--last)));
  }
  e.modifiers.finish(e.statement.opcode);
  if (at >= last)
    e.fail("expected the number of a barrier");
  uses.push_back(e.read(e.operand(at), Type::U32));
  uses.push_back(at + 1 < last ? e.read(e.operand(at + 1), Type::U32)
                               : e.constant(0, 4));
  e.emit(handler, outputs, uses).flow =
      arrives ? Op::Flow::BarrierArrive : Op::Flow::Barrier;
}

void fenceHandler(Warp &warp, const Op &, Mask) { warp.block.fence(); }

void fence(Emitter &e) {
  e.modifiers.skipPrefix("");
  e.emit(fenceHandler, {}, {});
}

void trapHandler(Warp &warp, const Op &op, Mask mask) {
  warp.fault(op, std::countr_zero(mask), FaultKind::Trap, "trap");
}

void nothing(Emitter &e) { e.modifiers.skipPrefix(""); }

} // namespace

void addWarp(InstructionTable &table) {
  table["shfl"] = shuffle;
  table["vote"] = vote;
  table["activemask"] = activeMask;
  table["redux"] = reduce;
  table["bar"] = barrier;
  table["barrier"] = barrier;
  table["membar"] = fence;
  table["fence"] = fence;
  table["trap"] = [](Emitter &e) { e.emit(trapHandler, {}, {}); };
  table["nanosleep"] = nothing;
  table["griddepcontrol"] = nothing;
}

} // namespace weft::emulator
