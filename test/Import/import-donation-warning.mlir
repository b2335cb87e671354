// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --verify-diagnostics | FileCheck %s

// A value that is replaced in its place has one sharding: a donation to a
// result that is sharded in another way is not used. JAX says where the
// program was called with its return.

// CHECK: func.func @step(%{{.*}} {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}, %{{.*}} {weft.name = "b", weft.sharding = #weft.sharding<@mesh, [{"data"}]>}, %{{.*}} {weft.name = "c"})
// CHECK-SAME: -> (tensor<8x4xf32> {weft.name = "result[0]", weft.sharding = #weft.sharding<@mesh, [{}, {"data"}]>}, tensor<8xf32> {weft.name = "b", weft.sharding = #weft.sharding<@mesh, [{"data"}]>}, tensor<4xf32> {weft.name = "c", weft.sharding = #weft.sharding<@mesh, [{"data"}]>})
module @jit_step attributes {mhlo.num_partitions = 2 : i32} {
  "sdy.mesh"() <{mesh = #sdy.mesh<["data"=2]>, sym_name = "mesh"}> : () -> ()
  func.func public @main(%w: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, tf.aliasing_output = 0 : i32} loc("w"),
                         %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>, tf.aliasing_output = 1 : i32} loc("b"),
                         %c: tensor<4xf32> {tf.aliasing_output = 2 : i32} loc("c"))
      -> (tensor<8x4xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>},
          tensor<8xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>},
          tensor<4xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) {
    // expected-warning@below {{"w" is donated, but cannot be replaced by "result[0]": it is sharded as [{"data"}, {}], the result as [{}, {"data"}]; give both one sharding, or do not donate it}}
    return %w, %b, %c : tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>
  } loc(unknown)
}
