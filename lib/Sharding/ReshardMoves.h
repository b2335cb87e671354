//===- ReshardMoves.h - Collectives as moves of digits ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SHARDING_RESHARDMOVES_H
#define WEFT_LIB_SHARDING_RESHARDMOVES_H

#include "ReshardDigits.h"

#include "weft/Sharding/ReshardPlanner.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft::sharding {

/// One edge of the search: a ReshardStep in terms of digits.
struct DigitMove {
  ReshardKind kind;
  int8_t dim = -1;
  int8_t concatDim = -1;
  DigitList digits = {};
  /// Permute only.
  DigitList toDigits = {};
  DigitLayout result = {};
};

/// Whether a collective that sends so many bytes over links of a span may be
/// part of a plan that is wanted.
using MayPay = llvm::function_ref<bool(int64_t bytes, int64_t span)>;

/// Calls `visit` for each move from `layout` that can be part of a cheapest
/// plan, in an order that depends on the arguments alone. Permutes, of which
/// there are most, are left out where they do not pay.
void forEachMove(const DigitProblem &problem, const DigitLayout &layout,
                 MayPay mayPay, llvm::function_ref<void(DigitMove &&)> visit);

/// The permutes among them: those that put the digits of the target in place,
/// as far as sizes allow.
void forEachPermute(const DigitProblem &problem, const DigitLayout &layout,
                    MayPay mayPay,
                    llvm::function_ref<void(DigitMove &&)> visit);

/// Bytes that each device sends for a move out of `layout`.
int64_t wireBytes(const DigitProblem &problem, const DigitLayout &layout,
                  const DigitMove &move);

/// The plain plan, which always exists: gather what moves, then reduce, then
/// slice. A bound for the search.
llvm::SmallVector<DigitMove, 4> makePlainMoves(const DigitProblem &problem);

} // namespace weft::sharding

#endif // WEFT_LIB_SHARDING_RESHARDMOVES_H
