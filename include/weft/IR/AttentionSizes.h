//===- AttentionSizes.h - The sizes of attention ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_ATTENTIONSIZES_H
#define WEFT_IR_ATTENTIONSIZES_H

#include "mlir/IR/BuiltinTypes.h"

namespace weft {

/// Of a weft.attention or weft.attention_grad. Head `h` of the queries reads
/// head h / (heads / keyHeads) of the keys.
struct AttentionSizes {
  int64_t batch, queries, keys, heads, keyHeads, headSize;

  static AttentionSizes of(mlir::RankedTensorType query,
                           mlir::RankedTensorType key);
};

/// The type in which attention of elements of a type forms its sums.
mlir::Type getAttentionSumType(mlir::Type element);

} // namespace weft

#endif // WEFT_IR_ATTENTIONSIZES_H
