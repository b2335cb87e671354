// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --weft-verify-form=form=graph | FileCheck %s

// What JAX makes of `step(w, x): return w - 0.5 * x, sum(relu(x))`, with the
// weights given up: the function is named after the module, arguments after
// their locations, results after the arguments they replace or after
// jax.result_info. Private functions are gone.

// CHECK: weft.mesh @mesh = <["data"=4, "model"=2]>
// CHECK: func.func @step(
// CHECK-SAME: %[[W:.*]]: tensor<8x16xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
// CHECK-SAME: %[[X:.*]]: tensor<8x16xf32> {weft.name = "batch['x']", weft.sharding = #weft.sharding<@mesh, [{"data"}, {?}]>})
// CHECK-SAME: -> (tensor<8x16xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
// CHECK-SAME: tensor<f32> {weft.name = "result[1]"})
// CHECK: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<8x16xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[X]], %[[HALF]]
// CHECK: %[[W2:.*]] = arith.subf %[[W]], %[[SCALED]]
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8x16xf32>
// CHECK: %[[RELU:.*]] = arith.maximumf %[[X]], %[[ZERO]]
// CHECK: %[[SUM:.*]] = weft.reduce sum %[[RELU]] dims = [0, 1]
// CHECK: return %[[W2]], %[[SUM]]
// CHECK-NOT: func.func
"builtin.module"() <{sym_name = "jit_step"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["data"=4, "model"=2]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{
    arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, tf.aliasing_output = 0 : i32},
                 {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>}],
    function_type = (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<f32>),
    res_attrs = [{jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                 {jax.result_info = "result[1]"}],
    sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%w: tensor<8x16xf32> loc("w"), %x: tensor<8x16xf32> loc("batch['x']")):
    %half = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %halves = "stablehlo.broadcast_in_dim"(%half) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x16xf32>
    %scaled = "stablehlo.multiply"(%x, %halves) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %new = "stablehlo.subtract"(%w, %scaled) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %relu = "func.call"(%x) <{callee = @relu}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %zero = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %sum = "stablehlo.reduce"(%relu, %zero) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%new, %sum) : (tensor<8x16xf32>, tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8x16xf32>) -> tensor<8x16xf32>, sym_name = "relu", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<8x16xf32>):
    %zero = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %zeros = "stablehlo.broadcast_in_dim"(%zero) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x16xf32>
    %y = "stablehlo.maximum"(%x, %zeros) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    "func.return"(%y) : (tensor<8x16xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
