//===- Numbers.h - Arrays of any type as numbers ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is compared: the elements as doubles, and what the ranks hold of a value
// put together. Partial sums are added as doubles, whose own rounding is far
// below that of what is compared.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_OBSERVE_NUMBERS_H
#define WEFT_RUNTIME_SRC_OBSERVE_NUMBERS_H

#include "plan/Mesh.h"
#include "weft/runtime/Array.h"
#include "weft/runtime/plan_generated.h"

#include <functional>
#include <vector>

namespace weft::runtime {

using Numbers = std::vector<double>;

Numbers toNumbers(const ArrayView &array);
/// Rounded to the type.
Array toArray(const Numbers &numbers, DType dtype, std::vector<int64_t> shape);

/// Half a unit in the last place of 1; 0 for integers.
double roundingOf(DType dtype);
/// The smallest number above 0; 0 for integers.
double smallestOf(DType dtype);

/// Ranks that hold one shard, or its terms.
struct Holding {
  std::vector<int64_t> ranks;
  /// Of the elements of the shard, those in the whole array.
  std::vector<int64_t> where;
  /// What the ranks hold together, and the sum of magnitudes of its terms.
  Numbers numbers, magnitudes;
};

/// Every shard of a value, once for each group of ranks that holds it whole or
/// in terms; ranks that hold copies are different groups. `shardOf` is null for
/// ranks of other stages of a pipeline, which have none.
std::vector<Holding>
holdingsOf(const plan::TensorType &type, const Mesh &mesh,
           const std::function<const Array *(int64_t)> &shardOf);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_OBSERVE_NUMBERS_H
