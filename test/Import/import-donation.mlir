// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --split-input-file | FileCheck %s

// An argument that is given up, but not to which result: the one of its type
// whose path ends as its own does; of several, the first.

// CHECK: func.func @step(%{{.*}} {weft.name = "state['mu']['w']"}, %{{.*}} {weft.name = "state['w']"}, %{{.*}} {weft.name = "x"})
// CHECK-SAME: -> (tensor<8xf32> {weft.name = "state['w']"}, tensor<8xf32> {weft.name = "state['mu']['w']"}, tensor<8xf32> {weft.name = "result[1]"})
module @jit_step attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%mu: tensor<8xf32> {jax.buffer_donor = true} loc("state['mu']['w']"),
                         %w: tensor<8xf32> {jax.buffer_donor = true} loc("state['w']"),
                         %x: tensor<8xf32> {jax.buffer_donor = true} loc("x"))
      -> (tensor<8xf32> {jax.result_info = "result[0]['w']"}, tensor<8xf32> {jax.result_info = "result[0]['mu']['w']"},
          tensor<8xf32> {jax.result_info = "result[1]"}) {
    return %w, %mu, %x : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// JAX pairs the first argument with the first result of its type, whatever their
// names are: the state's are those of the results.

// CHECK: func.func @step(%{{.*}} {weft.name = "s['a']"}, %{{.*}} {weft.name = "s['b']"})
// CHECK-SAME: -> (tensor<8xf32> {weft.name = "s['b']"}, tensor<8xf32> {weft.name = "s['a']"})
module @jit_step attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%a: tensor<8xf32> {tf.aliasing_output = 0 : i32} loc("s['a']"),
                         %b: tensor<8xf32> {tf.aliasing_output = 1 : i32} loc("s['b']"))
      -> (tensor<8xf32> {jax.result_info = "result['b']"}, tensor<8xf32> {jax.result_info = "result['a']"}) {
    %0 = "stablehlo.add"(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.subtract"(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Without locations, an argument is named after its result; a result that is no
// argument's next value has no argument's name; characters that no name of a
// graph has are written as in URLs, so that names stay apart.

// CHECK: func.func @main(%{{.*}} {weft.name = "result[0]"}, %{{.*}} {weft.name = "arg1"}, %{{.*}} {weft.name = "a%3Db"}, %{{.*}} {weft.name = "a%253Db"}, %{{.*}} {weft.name = "%5F_metadata__"}, %{{.*}} {weft.name = "a%0Ab"})
// CHECK-SAME: -> (tensor<8xf32> {weft.name = "result[0]"}, tensor<8xf32> {weft.name = "arg1'"})
module attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<8xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<8xf32>,
                         %z: tensor<8xf32> loc("a=b"), %a: tensor<8xf32> loc("a%3Db"),
                         %m: tensor<8xf32> loc("__metadata__"), %n: tensor<8xf32> loc("a\0Ab"))
      -> (tensor<8xf32> {jax.result_info = "result[0]"}, tensor<8xf32> {jax.result_info = "arg1"}) {
    return %x, %y : tensor<8xf32>, tensor<8xf32>
  }
}
