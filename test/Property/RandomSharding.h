//===- RandomSharding.h - Random meshes and legal shardings -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_PROPERTY_RANDOMSHARDING_H
#define WEFT_TEST_PROPERTY_RANDOMSHARDING_H

#include "Random.h"

#include "weft/Sharding/Sharding.h"

namespace weft::test {

/// One to three axes, at most 8 devices.
sharding::Mesh randomMesh(Random &random);

/// A legal sharding of `shape`: each axis, or each of its parts, goes to a
/// dimension that has at least as many elements as shards, is named as
/// replicated, or is not mentioned. Two in three divide the shape. Dimensions
/// are open or closed. The axes of `unreduced` are kept for that list.
sharding::Sharding randomSharding(Random &random, const sharding::Mesh &mesh,
                                  llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<sharding::AxisRef> unreduced);

} // namespace weft::test

#endif // WEFT_TEST_PROPERTY_RANDOMSHARDING_H
