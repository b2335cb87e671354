//===- Digest.h - A digest that is the sum of its parts ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The digest of a tensor says whether its bytes have changed. It is a sum over
// the elements modulo 2^64, so that processes that have a part each add up what
// they know, however the tensor is split, when it is written and when it is
// read: nobody need see all of it.
//
//   digest = sum of w(k) * word(k)
//
// over the words k of the tensor in row-major order: an element, or each half
// of one of 8 bytes. The weights w(k) are fixed pseudo-random odd numbers: a
// change of one word always changes the digest; one of several, except with a
// probability of 2^-32 or less. It is no protection against somebody who wants
// to deceive.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_CHECKPOINT_DIGEST_H
#define WEFT_RUNTIME_CHECKPOINT_DIGEST_H

#include "weft/runtime/Box.h"

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

/// What `count` elements from number `first` of a tensor add to its digest.
/// `elementBytes` is 1, 2, 4 or 8.
uint64_t digestOfRun(size_t elementBytes, uint64_t first,
                     const std::byte *elements, uint64_t count);

/// What a box of a tensor with these extents adds. In `memory` it lies as
/// `placed` says.
uint64_t digestOfBox(size_t elementBytes, std::span<const int64_t> extents,
                     const Box &box, const std::byte *memory,
                     const Placement &placed);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CHECKPOINT_DIGEST_H
