//===- ExchangeMap.h - Who sends what in an exchange ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan says once for all ranks which elements go where, in positions of whole
// segments. What a rank sends and receives follows from that, so that what one
// sends to another is what the other receives from it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_EXCHANGEMAP_H
#define WEFT_RUNTIME_SRC_PLAN_EXCHANGEMAP_H

#include "weft/runtime/Exchange.h"
#include "weft/runtime/Status.h"
#include "weft/runtime/plan_generated.h"

namespace weft::runtime {

/// Whether the runs lie in their segments, and no two go to one element.
Status checkExchange(const plan::CollectiveStart &start, int64_t group);

/// What a rank of the group does in a checked exchange.
Exchange exchangeOf(const plan::CollectiveStart &start, int64_t group,
                    int64_t rank);

/// The most elements of the middle dimension that one rank sends to others.
int64_t mostSent(const plan::CollectiveStart &start, int64_t group);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_EXCHANGEMAP_H
