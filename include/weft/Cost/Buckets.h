//===- Buckets.h - Which collectives become one call ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients become ready one after another during the backward pass, and are
// summed over devices one call after another. A call for many costs less than a
// call for each, but begins when the last of them is ready. The buckets chosen
// are those whose last call ends first, where each call takes some time from
// computation as well: hidden calls are as long as they can be, and what
// nothing hides begins early.
//
// Example: 12 MB ready at each of 1, 2 and 3 ms; a call takes 0.1 ms and 0.1 ms
// a MB. One call for all ends at 6.7 ms, the first alone and the others
// together at 5.5 ms, one for each at 4.9 ms: the answer is three calls.
//
// All-gathers are the same backwards: time until the end of the program from
// the first use of what they give.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_BUCKETS_H
#define WEFT_COST_BUCKETS_H

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace weft::cost {

/// Seconds of one call for the items from `begin` up to `end`; infinite where
/// they cannot be one, then no more than these can. One alone always can.
using CallSeconds = std::function<double(size_t begin, size_t end)>;

/// Where buckets end. `ready` ascends: from when on each item can be sent.
/// `launchSeconds` is what each call takes of the program besides.
std::vector<size_t> chooseBuckets(std::span<const double> ready,
                                  const CallSeconds &seconds,
                                  double launchSeconds = 0);

/// When the last call ends.
double endOfBuckets(std::span<const double> ready, const CallSeconds &seconds,
                    std::span<const size_t> ends);

} // namespace weft::cost

#endif // WEFT_COST_BUCKETS_H
