//===- Exchange.h - Elements that change the rank ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_EXCHANGE_H
#define WEFT_RUNTIME_EXCHANGE_H

#include <cstdint>
#include <vector>

namespace weft::runtime {

/// Elements that one rank of a group gives to another, or keeps: `count`, from
/// element `source` of what the sender holds on, `step` apart, to element
/// `destination` of what the receiver gets on. The numbers are along the middle
/// dimension of an exchange.
struct ExchangeBlock {
  int sender = 0;
  int receiver = 0;
  int64_t source = 0;
  int64_t destination = 0;
  int64_t count = 0;
  int64_t step = 1;

  friend bool operator==(const ExchangeBlock &,
                         const ExchangeBlock &) = default;
};

/// What one rank gives and gets in an exchange.
struct Exchange {
  int64_t outer = 1;
  /// Elements along the middle dimension, before and after.
  int64_t before = 0;
  int64_t after = 0;
  int64_t inner = 1;
  /// Those with this rank as sender or receiver. Two ranks list what goes from
  /// the one to the other in the same order.
  std::vector<ExchangeBlock> blocks;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXCHANGE_H
