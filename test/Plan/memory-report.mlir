// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --combine-collectives=false -o %t.plan --target=none | FileCheck %s
// RUN: shard-run %t.plan --dump=states | FileCheck %s --check-prefix=STATES
// RUN: shard-run %t.plan --dump=step | FileCheck %s --check-prefix=HOLDS

// What a rank holds, by purpose: a state that the loss is differentiated by is
// a parameter, and the other one serves the optimizer; what tanh is taken of is
// read by a kernel that takes its derivative as well; the terms of the gradient, which are sent, are no gradient
// until they are summed up.

// CHECK-LABEL: memory of a rank in step
// CHECK-NEXT: at the peak       highest
// CHECK-NEXT: parameters 256 B 256 B
// CHECK-NEXT: gradients {{.*}} 256 B
// CHECK-NEXT: optimizer state 256 B 256 B
// CHECK-NEXT: activations {{.*}} 256 B
// CHECK-NEXT: communication buffers {{.*}} 256 B
// CHECK-NEXT: arguments 256 B 256 B
// CHECK-NEXT: results
// CHECK-NOT: states
// CHECK: arena
// CHECK-NEXT: x the liveness lower bound
// CHECK-NEXT: alive at the peak (memory-report.mlir:
// CHECK-DAG: 256 B  parameters  f32[8x8] w
// CHECK-DAG: 256 B  optimizer state  f32[8x8] m

// STATES-DAG: state "w" {{.*}} bytes 256 parameter
// STATES-DAG: state "m" {{.*}} bytes 256 optimizer state

// HOLDS: input "x"
// HOLDS-DAG: holds activation "memory-report.mlir:[[#DOT:]]" from
// HOLDS-DAG: output f32[] {{.*}} "loss" holds communication {{.*}} holds result
// HOLDS-DAG: holds communication "gradient of w, transpose of memory-report.mlir:[[#DOT]]" from {{.*}} holds gradient "gradient of w, transpose of memory-report.mlir:[[#DOT]]" from

weft.mesh @mesh = <["data"=2]>

func.func private @loss(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>) -> tensor<f32> {
  %s = weft.dot_general %x, %w contracting = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %h = math.tanh %s : tensor<16x8xf32>
  %l = weft.reduce sum %h dims = [0, 1] : tensor<16x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

func.func @step(
    %x: tensor<16x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<8x8xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %m: tensor<8x8xf32> {weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x8xf32> {weft.name = "w"}, tensor<8x8xf32> {weft.name = "m"}) {
  %loss, %dw = weft.value_and_grad @loss(%x, %w) wrt = [1]
      : (tensor<16x8xf32>, tensor<8x8xf32>) -> (tensor<f32>, tensor<8x8xf32>)
  %new_m = arith.addf %m, %dw : tensor<8x8xf32>
  %new_w = arith.subf %w, %new_m : tensor<8x8xf32>
  return %loss, %new_w, %new_m : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>
}
