//===- Collective.cpp - A collective bound to its memory --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/Collective.h"

#include "plan/ExchangeMap.h"

#include <algorithm>

namespace weft::runtime {

BoundCollective::BoundCollective(const plan::CollectiveStart &start,
                                 const Mesh &mesh, Communicator &communicator,
                                 const void *source, void *destination,
                                 DType dtype, CallContext context)
    : kind(start.kind()), reduction(static_cast<Reduction>(start.reduction())),
      outer(start.outer()), middle(start.middle()), inner(start.inner()),
      splitFirst(start.split_first()), communicator(communicator),
      source(source), destination(destination), dtype(dtype), context(context) {
  if (kind == plan::CollectiveKind::Exchange)
    exchange = exchangeOf(start, communicator.size(), communicator.rank());
  if (kind != plan::CollectiveKind::Permute)
    return;
  const int64_t sender =
      mesh.permuteSource(communicator.worldRank(), axesOf(start.permute_from()),
                         axesOf(start.permute_to()), start.permute_shift());
  const auto members = communicator.worldRanks();
  receiveFrom = static_cast<int>(
      std::find(members.begin(), members.end(), sender) - members.begin());
}

Status BoundCollective::run() const {
  switch (kind) {
  case plan::CollectiveKind::AllReduce:
    return communicator.allReduce(source, destination, outer * inner, dtype,
                                  reduction, context);
  case plan::CollectiveKind::AllGather:
    return communicator.allGather(source, destination, outer, inner, dtype,
                                  context);
  case plan::CollectiveKind::ReduceScatter:
    return communicator.reduceScatter(source, destination, outer, inner, dtype,
                                      reduction, context);
  case plan::CollectiveKind::AllToAll:
    return communicator.allToAll(source, destination, outer, middle, inner,
                                 splitFirst, dtype, context);
  case plan::CollectiveKind::Permute:
    return communicator.permute(source, destination, inner, dtype, receiveFrom,
                                context);
  case plan::CollectiveKind::Exchange:
    return communicator.exchange(source, destination, exchange, dtype, context);
  }
  return internalError("a collective of unknown kind");
}

} // namespace weft::runtime
