//===- InProcessCommunicator.h - A rank's end of a group of threads -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_INPROCESSCOMMUNICATOR_H
#define WEFT_RUNTIME_COMM_INPROCESSCOMMUNICATOR_H

#include "CheckCall.h"
#include "InProcessGroup.h"

namespace weft::runtime {

class InProcessCommunicator final : public Communicator {
public:
  /// `group` outlives the communicator.
  InProcessCommunicator(InProcessGroup &group, int rank);

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
  /// Passes success on; a wrong argument ends the group, so that the peers do
  /// not wait for this rank.
  Status reject(const Call &call, const Status &status);
  /// Checks the arguments, meets the peers, runs `body` and leaves.
  template <typename Body>
  Status run(const Call &call, const CallEnds &ends, const CallContext &context,
             Body &&body);
  bool isSmall(const Call &call, const CallEnds &ends) const;
  /// Every rank all of it, into its own destination.
  void reduceSeats(const Call &call);
  /// Reduces this rank's chunk of [count] into the destinations of all ranks.
  void reduceChunk(const Call &call);

  InProcessGroup &group;
  /// The pointers of the call in progress, sized once.
  std::vector<const void *> sources;
  std::vector<void *> destinations;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_INPROCESSCOMMUNICATOR_H
