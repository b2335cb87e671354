//===- MpiCommunicator.h - A rank's end of a group of processes -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions are exchanges of what is not reduced and sums in the order of the
// ranks: MPI's own would have bits of their own for every number of processes.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
#define WEFT_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H

#include "MpiGroup.h"
#include "comm/CheckCall.h"
#include "comm/Moves.h"

#include <memory>

namespace weft::runtime {

/// What the ranks of a process share of a group beside the words: memory for
/// what comes and goes in another layout than the ranks have it in.
class MpiStaging {
public:
  /// Memory of a round; what was given before stays valid.
  std::byte *take(size_t bytes);
  void clear() { used = 0; }

private:
  std::vector<std::vector<std::byte>> blocks;
  size_t used = 0;
};

/// A group of several processes, as the ranks of one of them use it.
struct MpiSharedGroup {
  /// Up to here every rank reduces all of it, after one exchange.
  static constexpr int64_t wholeBytes = 2048;

  template <typename... Arguments>
  explicit MpiSharedGroup(Arguments &&...arguments)
      : group(std::forward<Arguments>(arguments)...),
        exchanges(group.local().size()), receiveFrom(group.local().size()),
        copies(group.local().size()) {}

  MpiGroup group;
  MpiStaging staging;
  // Of the round in progress, by the first rank for all: where what a member
  // elsewhere sends arrives, [member], or [member][rank of this process].
  std::vector<std::byte *> arrivals;
  Status status;
  // By each rank of this process for all.
  std::vector<const Exchange *> exchanges;
  std::vector<int32_t> receiveFrom;
  struct alignas(64) Copy {
    std::byte memory[wholeBytes];
  };
  std::vector<Copy> copies;
};

class MpiCommunicator final : public Communicator {
public:
  /// `shared` outlives the communicator.
  MpiCommunicator(MpiSharedGroup &shared, int member);

  Status allReduce(const void *source, void *destination, int64_t count,
                   DType dtype, Reduction reduction,
                   const CallContext &context) override;
  Status reduceScatter(const void *source, void *destination, int64_t outer,
                       int64_t inner, DType dtype, Reduction reduction,
                       const CallContext &context) override;
  Status allGather(const void *source, void *destination, int64_t outer,
                   int64_t inner, DType dtype,
                   const CallContext &context) override;
  Status allToAll(const void *source, void *destination, int64_t outer,
                  int64_t middle, int64_t inner, bool splitFirst, DType dtype,
                  const CallContext &context) override;
  Status permute(const void *source, void *destination, int64_t count,
                 DType dtype, int receiveFrom,
                 const CallContext &context) override;
  Status exchange(const void *source, void *destination,
                  const Exchange &exchange, DType dtype,
                  const CallContext &context) override;
  Status barrier(const CallContext &context) override;

private:
  /// What a member gives to another one, in order.
  using MovesOf = std::function<std::vector<Move>(int from, int to)>;

  Status reject(const Call &call, const Status &status);
  /// Checks the arguments and meets the ranks of this process; `round` is then
  /// run by all of them and ends with the same status in all.
  Status run(const Call &call, const CallEnds &ends, const CallContext &context,
             const std::function<Status()> &round);
  /// The first rank of this process talks to the others; all get its status.
  Status together(const std::function<Status()> &talk);
  bool isFirst() const { return here == 0; }
  bool isHere(int member) const {
    return shared.group.processOf(member) == shared.group.here();
  }
  /// The call of a member of this process.
  const Call &callOf(int member) const;
  /// What goes between each pair, for collectives that only move data.
  Status moveAll(const Call &call, const CallContext &context,
                 const MovesOf &movesOf);
  /// `isStaged`: what arrives is for the staging memory in any case.
  void addMoves(const MovesOf &movesOf, bool isStaged);
  /// All of the source of every member to every process.
  Status gatherSources(const Call &call, int64_t bytes,
                       const CallContext &context);
  void reduceWhole(const Call &call);
  Status reduceSlab(const Call &call, int64_t begin, int64_t end, bool isFirst,
                    const CallContext &context);
  std::byte *&arrivalOf(int from, int to);

  MpiSharedGroup &shared;
  /// This rank among those of this process.
  const int here;
  /// The pointers of the call in progress, sized once.
  std::vector<const void *> sources;
  std::vector<void *> destinations;
  std::vector<std::vector<std::byte>> packed;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
