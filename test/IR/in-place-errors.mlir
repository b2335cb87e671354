// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --verify-diagnostics -o /dev/null

// expected-error @below {{weft.in_place must be pairs of an operand and a result of a kernel, got array<i64: 0>}}
func.func private @odd(%x: tensor<4xf32>) -> tensor<4xf32> attributes {weft.kernel, weft.in_place = array<i64: 0>}

// -----

// expected-error @below {{weft.in_place has operand 1 and result 0 of a kernel that has 1 and 1}}
func.func private @none(%x: tensor<4xf32>) -> tensor<4xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0, 1, 0>}

// -----

// Buffers of as many bytes hold other elements.
// expected-error @below {{weft.in_place has operand 0 of type 'tensor<4xi32>' and result 0 of type 'tensor<4xf32>', which have other elements}}
func.func private @types(%x: tensor<4xi32>) -> tensor<4xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>}
