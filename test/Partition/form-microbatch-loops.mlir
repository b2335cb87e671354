// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-form-microbatch-loops --weft-verify-form=form=spmd --split-input-file | FileCheck %s

// What depends on a slice of the batch is in the loop, up to the sum. What the
// sum begins with changes no bit of it.
// CHECK-LABEL: func.func @sum
// CHECK-SAME:      %[[X:.*]]: tensor<8x4x16xf32> {{.*}}, %[[W:.*]]: tensor<16xf32>
// CHECK-DAG:     %[[START:.*]] = arith.constant dense<-0.000000e+00> : tensor<8x16xf32>
// CHECK-DAG:     %[[FIRST:.*]] = arith.constant dense<0> : tensor<i32>
// CHECK:         %[[LOOP:.*]]:2 = weft.repeat 4 carry (%[[SUM:.*]] = %[[START]], %[[I:.*]] = %[[FIRST]])
// CHECK-NEXT:      %[[PART:.*]] = weft.gather %[[X]], %[[I]] dim = 1
// CHECK-NEXT:      %[[SPREAD:.*]] = weft.broadcast %[[W]]
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[PART]], %[[SPREAD]]
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addf %[[SUM]], %[[Y]]
// CHECK-NEXT:      %[[ONE:.*]] = arith.constant dense<1> : tensor<i32>
// CHECK-NEXT:      %[[J:.*]] = arith.addi %[[I]], %[[ONE]]
// CHECK-NEXT:      weft.yield %[[NEXT]], %[[J]]
// CHECK:         %[[R:.*]] = arith.negf %[[LOOP]]#0
// CHECK-NEXT:    return %[[R]]
weft.mesh @mesh = <["data"=1]>
func.func @sum(%x: tensor<8x4x16xf32> {weft.global_type = tensor<8x4x16xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}, {}]>},
    %w: tensor<16xf32> {weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<8x16xf32> {weft.global_type = tensor<8x16xf32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4>
      : tensor<8x4x16xf32> -> tensor<8x16xf32>
  %wi = weft.microbatch_use %w of <"step", 4> : tensor<16xf32>
  %b = weft.broadcast %wi dims = [1] : tensor<16xf32> -> tensor<8x16xf32>
  %y = arith.mulf %xi, %b : tensor<8x16xf32>
  %s = weft.microbatch_sum %y of <"step", 4> : tensor<8x16xf32>
  %r = arith.negf %s : tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

// Values of all micro-batches; a mask that is made of constants is computed in
// the loop.
// CHECK-LABEL: func.func @stack
// CHECK-NOT:     weft.iota
// CHECK:         weft.repeat 4 carry (%[[ALL:.*]] = %{{.*}}, %[[I:.*]] = %{{.*}}) : (tensor<4x8xi32>, tensor<i32>) attributes {weft.microbatches = #weft.microbatches<"{{.*}}", 4>} {
// CHECK:           %[[PART:.*]] = weft.gather
// CHECK:           %[[COUNT:.*]] = weft.iota dim = 0 : tensor<8xi32>
// CHECK:           %[[Y:.*]] = arith.muli %[[PART]], %[[COUNT]]
// CHECK:           %[[ROW:.*]] = weft.iota dim = 0 : tensor<4x8xi32>
// CHECK:           %[[OWN:.*]] = weft.broadcast %[[I]] dims = []
// CHECK:           %[[IS:.*]] = arith.cmpi eq, %[[ROW]], %[[OWN]]
// CHECK:           %[[SPREAD:.*]] = weft.broadcast %[[Y]] dims = [1]
// CHECK:           arith.select %[[IS]], %[[SPREAD]], %[[ALL]]
weft.mesh @mesh = <["data"=1]>
func.func @stack(%x: tensor<8x4xi32> {weft.global_type = tensor<8x4xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x8xi32> {weft.global_type = tensor<4x8xi32>, weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %n = weft.iota dim = 0 : tensor<8xi32>
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4>
      : tensor<8x4xi32> -> tensor<8xi32>
  %y = arith.muli %xi, %n : tensor<8xi32>
  %s = weft.microbatch_stack %y dim = 0 of <"step", 4>
      : tensor<8xi32> -> tensor<4x8xi32>
  return %s : tensor<4x8xi32>
}
