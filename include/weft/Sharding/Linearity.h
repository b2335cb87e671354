//===- Linearity.h - Ops that commute with a sum over devices ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An unreduced value is held as partial sums. An op f may run on the partial
// sums and the sum be taken afterwards if f(x + y) = f(x) + f(y).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SHARDING_LINEARITY_H
#define WEFT_SHARDING_LINEARITY_H

#include <cstdint>

namespace weft::sharding {

enum class Linearity : uint8_t {
  /// exp, max, ...: operands have to be reduced before the op.
  NotLinear,
  /// Linear in all operands together: addition, transpose, reshape, slice,
  /// sum, negation. All operands are unreduced over the same axes, or none is.
  Linear,
  /// Linear in each operand while the others are fixed: multiplication and
  /// dot_general. At most one operand is unreduced.
  LinearInOne,
  /// Linear in the first operand while the others are fixed; they are never
  /// unreduced: gather and scatter_add, whose other operand is an index.
  LinearInFirst,
};

} // namespace weft::sharding

#endif // WEFT_SHARDING_LINEARITY_H
