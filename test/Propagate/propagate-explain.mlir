// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate=explain=true --verify-diagnostics -o /dev/null

weft.mesh @mesh = <["data"=2, "model"=4]>
// expected-remark @below {{result 0 "result0" of @dense: dim 0 over "data", from argument 0 "x" of @dense, last through return (round 2, priority 0)}}
// expected-remark @below {{result 0 "result0" of @dense: dim 1 over "model", from argument 1 "w" of @dense, last through return (round 2, priority 1)}}
func.func @dense(
    // expected-remark @+2 {{argument 0 "x" of @dense: dim 0 over "data", annotated here}}
    // expected-note @+1 {{annotated here}}
    %x: tensor<8x16xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    // expected-remark @+2 {{argument 1 "w" of @dense: dim 1 over "model", annotated here}}
    // expected-note @+1 {{annotated here}}
    %w: tensor<16x32xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}p1]>})
    -> tensor<8x32xf32> {
  // expected-remark @below {{result of weft.dot_general: dim 0 over "data", from argument 0 "x" of @dense, last through weft.dot_general (round 2, priority 0)}}
  // expected-remark @below {{result of weft.dot_general: dim 1 over "model", from argument 1 "w" of @dense, last through weft.dot_general (round 2, priority 1)}}
  %y = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
