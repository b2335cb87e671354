//===- MpiCommunicator.cpp - A rank's end of a group of processes ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiCommunicator.h"

#include "comm/Reduce.h"

#include <algorithm>
#include <cstring>

namespace weft::runtime {

std::byte *MpiStaging::take(size_t bytes) {
  if (used == blocks.size())
    blocks.emplace_back();
  std::vector<std::byte> &block = blocks[used++];
  if (block.size() < bytes)
    block.resize(bytes);
  return block.data();
}

MpiCommunicator::MpiCommunicator(MpiSharedGroup &shared, int member)
    : Communicator(shared.group.worldRanks(), member), shared(shared),
      here(shared.group.localIndex(member)), sources(size()), packed(size()) {
  destinations.resize(std::max(1, shared.group.local().size()));
}

static const std::byte *at(const void *base, int64_t bytes) {
  return static_cast<const std::byte *>(base) + bytes;
}
static std::byte *at(void *base, int64_t bytes) {
  return static_cast<std::byte *>(base) + bytes;
}

//===----------------------------------------------------------------------===//
// The frame of a collective
//===----------------------------------------------------------------------===//

Status MpiCommunicator::reject(const Call &call, const Status &status) {
  if (status.ok())
    return status;
  return shared.group.fail(status.withContext(
      describeCall(call.shape.operation, call.planStep, worldRank())));
}

const Call &MpiCommunicator::callOf(int member) const {
  return shared.group.local().call(here, shared.group.localIndex(member));
}

Status MpiCommunicator::run(const Call &call, const CallEnds &ends,
                            const CallContext &context,
                            const std::function<Status()> &round) {
  WEFT_RETURN_IF_ERROR(reject(call, checkArguments(call, ends)));
  InProcessGroup &local = shared.group.local();
  const auto mayWaitOn = [&] { return shared.group.waitsForProcesses(); };
  if (Status met = local.meet(here, call, context.timeout, mayWaitOn);
      !met.ok())
    return shared.group.fail(met); // and tell the other processes
  Status status = round();
  local.leave(here);
  return status;
}

Status MpiCommunicator::together(const std::function<Status()> &talk) {
  if (isFirst())
    shared.status = talk();
  shared.group.sync();
  return shared.status;
}

std::byte *&MpiCommunicator::arrivalOf(int from, int to) {
  const auto local = static_cast<size_t>(shared.group.local().size());
  return shared.arrivals[from * local + shared.group.localIndex(to)];
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

/// By the first rank. Between two processes, both go through the pairs in the
/// same order.
void MpiCommunicator::addMoves(const MovesOf &movesOf, bool isStaged) {
  MpiGroup &group = shared.group;
  for (int from = 0; from < size(); ++from)
    for (int to = 0; to < size(); ++to) {
      if (isHere(from) == isHere(to))
        continue;
      const std::vector<Move> moves = movesOf(from, to);
      int64_t bytes = 0;
      for (const Move &move : moves)
        bytes += move.bytes();
      const bool isDense =
          moves.size() == 1 &&
          (isHere(from) ? moves[0].isDenseAtSource()
                        : !isStaged && moves[0].isDenseAtDestination());
      std::byte *memory = nullptr;
      if (isHere(from)) {
        const void *source = callOf(from).source;
        if (isDense) {
          memory = const_cast<std::byte *>(at(source, moves[0].from));
        } else {
          memory = shared.staging.take(bytes);
          int64_t offset = 0;
          for (const Move &move : moves) {
            moveBlocks(source, memory + offset, move.packed());
            offset += move.bytes();
          }
        }
      } else {
        memory = isDense ? at(callOf(to).destination, moves[0].to)
                         : shared.staging.take(bytes);
        arrivalOf(from, to) = isDense ? nullptr : memory;
      }
      if (bytes != 0)
        group.messages.push_back({isHere(from),
                                  group.processOf(isHere(from) ? to : from),
                                  memory, static_cast<size_t>(bytes)});
    }
}

Status MpiCommunicator::moveAll(const Call &call, const CallContext &context,
                                const MovesOf &movesOf) {
  WEFT_RETURN_IF_ERROR(together([&] {
    shared.staging.clear();
    shared.arrivals.assign(
        static_cast<size_t>(size()) * shared.group.local().size(), nullptr);
    return shared.group.exchange(call, context.timeout,
                                 [&] { addMoves(movesOf, false); });
  }));
  for (int i = 0; i < size(); ++i) {
    const int from = (rank() + i) % size();
    const std::byte *arrived = isHere(from) ? nullptr : arrivalOf(from, rank());
    if (!isHere(from) && !arrived)
      continue;
    for (const Move &move : movesOf(from, rank()))
      if (isHere(from)) {
        moveBlocks(callOf(from).source, call.destination, move);
      } else {
        moveBlocks(arrived, call.destination, move.unpacked());
        arrived += move.bytes();
      }
  }
  return {};
}

static Call makeCall(CallShape shape, const void *source, void *destination,
                     const CallContext &context) {
  return {.shape = shape,
          .source = source,
          .destination = destination,
          .planStep = context.planStep,
          .cause = context.cause};
}

Status MpiCommunicator::allToAll(const void *source, void *destination,
                                 int64_t outer, int64_t middle, int64_t inner,
                                 bool splitFirst, DType dtype,
                                 const CallContext &context) {
  const Call call = makeCall({.operation = Operation::AllToAll,
                              .dtype = dtype,
                              .splitFirst = splitFirst,
                              .outer = outer,
                              .middle = middle,
                              .inner = inner},
                             source, destination, context);
  const CallEnds ends{.sourceParts = size(), .destinationParts = size()};
  return run(call, ends, context, [&] {
    return moveAll(call, context, [&](int from, int to) {
      return std::vector<Move>{allToAllMove(call.shape, size(), from, to)};
    });
  });
}

Status MpiCommunicator::exchange(const void *source, void *destination,
                                 const Exchange &exchange, DType dtype,
                                 const CallContext &context) {
  const Call call = makeCall({.operation = Operation::Exchange,
                              .dtype = dtype,
                              .outer = exchange.outer,
                              .inner = exchange.inner,
                              .before = exchange.before,
                              .after = exchange.after},
                             source, destination, context);
  WEFT_RETURN_IF_ERROR(reject(call, checkBlocks(exchange, rank(), size())));
  const CallEnds ends{.sourceParts = exchange.before,
                      .destinationParts = exchange.after};
  return run(call, ends, context, [&] {
    // Each rank knows its own blocks: the first one is told those of all.
    shared.exchanges[here] = &exchange;
    shared.group.sync();
    return moveAll(call, context, [&](int from, int to) {
      const int of = isHere(to) ? to : from;
      std::vector<Move> moves;
      for (const ExchangeBlock &block :
           shared.exchanges[shared.group.localIndex(of)]->blocks)
        if (block.sender == from && block.receiver == to)
          moves.push_back(exchangeMove(call.shape, block));
      return moves;
    });
  });
}

Status MpiCommunicator::permute(const void *source, void *destination,
                                int64_t count, DType dtype, int receiveFrom,
                                const CallContext &context) {
  const Call call = makeCall(
      {.operation = Operation::Permute, .dtype = dtype, .inner = count}, source,
      destination, context);
  WEFT_RETURN_IF_ERROR(
      reject(call, checkPeer("rank to receive from", receiveFrom, size())));
  return run(call, {}, context, [&] {
    MpiGroup &group = shared.group;
    shared.receiveFrom[here] = receiveFrom;
    group.sync();
    const auto bytes = static_cast<size_t>(permuteMove(call.shape).bytes());
    const auto prepare = [&] {
      for (int to = 0; to < size() && bytes != 0; ++to) {
        const int from = group.receivesFrom[to];
        if (isHere(from) != isHere(to))
          group.messages.push_back(
              {isHere(from), group.processOf(isHere(from) ? to : from),
               isHere(from) ? const_cast<void *>(callOf(from).source)
                            : callOf(to).destination,
               bytes});
      }
    };
    WEFT_RETURN_IF_ERROR(together([&] {
      return group.exchange(call, context.timeout, prepare, shared.receiveFrom);
    }));
    if (isHere(receiveFrom) && bytes != 0 &&
        callOf(receiveFrom).source != destination)
      std::memcpy(destination, callOf(receiveFrom).source, bytes);
    return Status();
  });
}

Status MpiCommunicator::barrier(const CallContext &context) {
  const Call call = makeCall({.operation = Operation::Barrier, .inner = 0},
                             nullptr, nullptr, context);
  return run(call, {}, context, [&] {
    return together(
        [&] { return shared.group.exchange(call, context.timeout, [] {}); });
  });
}

/// What a member sends is the same for all ranks of a process, and is sent to
/// it once: for the first one, or into memory for all.
Status MpiCommunicator::gatherSources(const Call &call, int64_t bytes,
                                      const CallContext &context) {
  MpiGroup &group = shared.group;
  const bool isDirect =
      call.shape.operation == Operation::AllGather && call.shape.outer == 1;
  shared.staging.clear();
  shared.arrivals.assign(size(), nullptr);
  return group.exchange(call, context.timeout, [&] {
    for (int from = 0; from < size() && bytes != 0; ++from) {
      if (!isHere(from)) {
        shared.arrivals[from] =
            isDirect ? at(call.destination, from * bytes)
                     : shared.staging.take(static_cast<size_t>(bytes));
        group.messages.push_back({false, group.processOf(from),
                                  shared.arrivals[from],
                                  static_cast<size_t>(bytes)});
        continue;
      }
      for (size_t peer = 0; peer < group.processes().size(); ++peer)
        if (peer != group.here())
          group.messages.push_back({true, peer,
                                    const_cast<void *>(callOf(from).source),
                                    static_cast<size_t>(bytes)});
    }
  });
}

Status MpiCommunicator::allGather(const void *source, void *destination,
                                  int64_t outer, int64_t inner, DType dtype,
                                  const CallContext &context) {
  const Call call = makeCall({.operation = Operation::AllGather,
                              .dtype = dtype,
                              .outer = outer,
                              .inner = inner},
                             source, destination, context);
  const CallEnds ends{.destinationParts = size()};
  return run(call, ends, context, [&] {
    const int64_t bytes = *extentBytes(call.shape, 1);
    WEFT_RETURN_IF_ERROR(
        together([&] { return gatherSources(call, bytes, context); }));
    for (int i = 0; i < size() && bytes != 0; ++i) {
      const int from = (rank() + i) % size();
      Move move = gatherMove(call.shape, size(), from);
      const void *data =
          isHere(from) ? callOf(from).source : shared.arrivals[from];
      if (data != at(destination, move.to))
        moveBlocks(data, destination, move);
    }
    return Status();
  });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Status MpiCommunicator::reduceScatter(const void *source, void *destination,
                                      int64_t outer, int64_t inner, DType dtype,
                                      Reduction reduction,
                                      const CallContext &context) {
  const Call call = makeCall({.operation = Operation::ReduceScatter,
                              .dtype = dtype,
                              .reduction = reduction,
                              .outer = outer,
                              .inner = inner},
                             source, destination, context);
  WEFT_RETURN_IF_ERROR(reject(call, checkReduction(call.shape)));
  return run(call, {.sourceParts = size()}, context, [&] {
    // What arrives is dense; with it, what is here must be.
    const auto movesOf = [&](int, int to) {
      return std::vector<Move>{scatterMove(call.shape, size(), to)};
    };
    WEFT_RETURN_IF_ERROR(together([&] {
      shared.staging.clear();
      shared.arrivals.assign(
          static_cast<size_t>(size()) * shared.group.local().size(), nullptr);
      return shared.group.exchange(call, context.timeout,
                                   [&] { addMoves(movesOf, true); });
    }));
    const Move own = scatterMove(call.shape, size(), rank());
    for (int from = 0; from < size(); ++from) {
      if (!isHere(from)) {
        sources[from] = arrivalOf(from, rank());
        continue;
      }
      sources[from] = at(callOf(from).source, own.from);
      if (own.isDenseAtSource())
        continue;
      packed[from].resize(static_cast<size_t>(own.bytes()));
      moveBlocks(callOf(from).source, packed[from].data(), own.packed());
      sources[from] = packed[from].data();
    }
    destinations[0] = destination;
    reduceFunction(dtype,
                   reduction)({.sources = sources,
                               .destinations = std::span(destinations).first(1),
                               .rows = 1,
                               .columns = outer * inner,
                               .sourceStride = outer * inner});
    return Status();
  });
}

/// Every rank all of it, into its own destination.
void MpiCommunicator::reduceWhole(const Call &call) {
  for (int from = 0; from < size(); ++from)
    sources[from] = isHere(from)
                        ? shared.copies[shared.group.localIndex(from)].memory
                        : shared.arrivals[from];
  destinations[0] = call.destination;
  reduceFunction(call.shape.dtype, call.shape.reduction)(
      {.sources = sources,
       .destinations = std::span(destinations).first(1),
       .columns = call.shape.inner,
       .sourceStride = call.shape.inner});
}

/// Elements [begin, end): every rank gets its chunk of all, reduces it, and
/// gives it to all.
Status MpiCommunicator::reduceSlab(const Call &call, int64_t begin, int64_t end,
                                   bool isFirstSlab,
                                   const CallContext &context) {
  MpiGroup &group = shared.group;
  const int64_t element = static_cast<int64_t>(byteSize(call.shape.dtype));
  // Chunks are whole cache lines, so that no two ranks write to one.
  const int64_t line = 64 / element;
  const int64_t share = (end - begin + size() - 1) / size();
  const int64_t chunk = (share + line - 1) / line * line;
  const auto chunkBegin = [&](int member) {
    return std::min(begin + member * chunk, end) * element;
  };
  const auto chunkBytes = [&](int member) {
    return chunkBegin(member + 1) - chunkBegin(member);
  };
  const auto addExchange = [&] {
    for (int from = 0; from < size(); ++from)
      for (int to = 0; to < size(); ++to) {
        const auto bytes = static_cast<size_t>(chunkBytes(to));
        if (bytes == 0 || isHere(from) == isHere(to))
          continue;
        if (isHere(from))
          group.messages.push_back(
              {true, group.processOf(to),
               const_cast<std::byte *>(at(callOf(from).source, chunkBegin(to))),
               bytes});
        else
          group.messages.push_back(
              {false, group.processOf(from),
               arrivalOf(from, to) = shared.staging.take(bytes), bytes});
      }
  };
  WEFT_RETURN_IF_ERROR(together([&]() -> Status {
    shared.staging.clear();
    shared.arrivals.assign(static_cast<size_t>(size()) * group.local().size(),
                           nullptr);
    if (isFirstSlab)
      return group.exchange(call, context.timeout, addExchange);
    group.messages.clear();
    addExchange();
    return group.moveMore(call, context.timeout);
  }));
  const int64_t own = chunkBegin(rank()), bytes = chunkBytes(rank());
  const int local = group.local().size();
  for (int from = 0; from < size() && bytes != 0; ++from)
    sources[from] =
        isHere(from) ? at(callOf(from).source, own) : arrivalOf(from, rank());
  for (int i = 0; i < local; ++i)
    destinations[i] = at(group.local().call(here, i).destination, own);
  if (bytes != 0)
    reduceFunction(call.shape.dtype, call.shape.reduction)(
        {.sources = sources,
         .destinations = std::span(destinations).first(local),
         .columns = bytes / element,
         .sourceStride = bytes / element});
  group.sync();
  WEFT_RETURN_IF_ERROR(together([&] {
    group.messages.clear();
    for (int of = 0; of < size(); ++of) {
      const auto part = static_cast<size_t>(chunkBytes(of));
      void *const memory = at(call.destination, chunkBegin(of));
      if (part == 0)
        continue;
      if (!isHere(of)) {
        group.messages.push_back({false, group.processOf(of), memory, part});
        continue;
      }
      for (size_t peer = 0; peer < group.processes().size(); ++peer)
        if (peer != group.here())
          group.messages.push_back({true, peer, memory, part});
    }
    return group.moveMore(call, context.timeout);
  }));
  // Of other processes, the first rank has them.
  const std::byte *first = at(group.local().call(here, 0).destination, 0);
  for (int of = 0; of < size() && !isFirst(); ++of)
    if (!isHere(of) && chunkBytes(of) != 0)
      std::memcpy(at(call.destination, chunkBegin(of)), first + chunkBegin(of),
                  chunkBytes(of));
  group.sync();
  return {};
}

/// Bytes of a rank's chunk that are on their way at once.
static constexpr int64_t slabBytes = int64_t(4) << 20;

Status MpiCommunicator::allReduce(const void *source, void *destination,
                                  int64_t count, DType dtype,
                                  Reduction reduction,
                                  const CallContext &context) {
  const Call call = makeCall({.operation = Operation::AllReduce,
                              .dtype = dtype,
                              .reduction = reduction,
                              .inner = count},
                             source, destination, context);
  WEFT_RETURN_IF_ERROR(reject(call, checkReduction(call.shape)));
  return run(call, {.mayBeInPlace = true}, context, [&]() -> Status {
    const int64_t bytes = *extentBytes(call.shape, 1);
    if (bytes > MpiSharedGroup::wholeBytes) {
      const int64_t slab =
          slabBytes * size() / static_cast<int64_t>(byteSize(dtype));
      for (int64_t begin = 0; begin < count; begin += slab)
        WEFT_RETURN_IF_ERROR(reduceSlab(
            call, begin, std::min(begin + slab, count), begin == 0, context));
      return {};
    }
    // A rank may overwrite its source while another one still reads it.
    if (bytes != 0)
      std::memcpy(shared.copies[here].memory, source, bytes);
    WEFT_RETURN_IF_ERROR(
        together([&] { return gatherSources(call, bytes, context); }));
    if (bytes != 0)
      reduceWhole(call);
    return {};
  });
}

} // namespace weft::runtime
