// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-autodiff --weft-decompose --symbol-dce --weft-split-batch=microbatches=4 | FileCheck %s
// RUN: shard-opt %s --split-input-file --weft-autodiff --weft-decompose --symbol-dce --weft-split-batch=microbatches=4 --weft-assign-stages --weft-verify-form=form=graph -o /dev/null

// The mean over the elements that a mask leaves, and its gradient.

func.func private @loss(%w: tensor<8x8xf32>, %x: tensor<8x8xf32>, %mask: tensor<8xf32>) -> tensor<f32> {
  %h = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = weft.broadcast %mask dims = [0] : tensor<8xf32> -> tensor<8x8xf32>
  %k = arith.mulf %h, %m : tensor<8x8xf32>
  %sum = weft.reduce sum %k dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %count = weft.reduce sum %mask dims = [0] : tensor<8xf32> -> tensor<f32>
  %l = arith.divf %sum, %count : tensor<f32>
  return %l : tensor<f32>
}

// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[W:.*]]: tensor<8x8xf32> {{.*}}, %[[X:.*]]: tensor<8x8xf32> {{.*}}, %[[MASK:.*]]: tensor<8xf32>
// Row r is in micro-batch r % 4.
// CHECK-DAG:   %[[MS:.*]] = weft.reshape %[[MASK]] : tensor<8xf32> -> tensor<2x4xf32>
// CHECK-DAG:   %[[MI:.*]] = weft.microbatch_slice %[[MS]] dim = 1 of <"batch", 4> : tensor<2x4xf32> -> tensor<2xf32>
// CHECK-DAG:   %[[XS:.*]] = weft.reshape %[[X]] : tensor<8x8xf32> -> tensor<2x4x8xf32>
// CHECK-DAG:   %[[XI:.*]] = weft.microbatch_slice %[[XS]] dim = 1 of <"batch", 4> : tensor<2x4x8xf32> -> tensor<2x8xf32>
// CHECK-DAG:   %[[WI:.*]] = weft.microbatch_use %[[W]]
// CHECK:       %[[H:.*]] = weft.dot_general %[[XI]], %[[WI]] {{.*}} -> tensor<2x8xf32>
// The mask is spread for the rows of a micro-batch.
// CHECK:       %[[M:.*]] = weft.broadcast %[[MI]] dims = [0] : tensor<2xf32> -> tensor<2x8xf32>
// CHECK:       %[[K:.*]] = arith.mulf %[[H]], %[[M]] : tensor<2x8xf32>
// CHECK:       %[[TERM:.*]] = weft.reduce sum %[[K]]
// What needs no parameter may be one number for the batch: before the loop, and used in it.
// CHECK:       %[[COUNT:.*]] = weft.reduce sum %[[MASK]] dims = [0] : tensor<8xf32> -> tensor<f32>
// CHECK:       %[[CI:.*]] = weft.microbatch_use %[[COUNT]]
// CHECK:       %[[L:.*]] = arith.divf %[[TERM]], %[[CI]]
// CHECK:       weft.microbatch_sum %[[L]]
// CHECK:       weft.dot_general {{.*}}tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
// CHECK:       %[[G:.*]] = weft.microbatch_sum {{.*}} : tensor<8x8xf32>
// CHECK:       arith.subf %[[W]], %{{.*}}
func.func @step(%w: tensor<8x8xf32> {weft.name = "w"}, %x: tensor<8x8xf32> {weft.name = "x"},
                %mask: tensor<8xf32> {weft.name = "mask"})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x8xf32> {weft.name = "w"}) {
  %l, %g = weft.value_and_grad @loss(%w, %x, %mask) wrt = [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> (tensor<f32>, tensor<8x8xf32>)
  %n = arith.subf %w, %g : tensor<8x8xf32>
  return %l, %n : tensor<f32>, tensor<8x8xf32>
}

// Rows that share a dimension with others, positions along them, and the values of all rows.
// CHECK-LABEL: func.func @flat(
// CHECK:       %[[WI:.*]] = weft.microbatch_use %arg0
// CHECK:       %[[XI:.*]] = weft.microbatch_slice {{.*}} -> tensor<2x3x8xf32>
// CHECK:       %[[F:.*]] = weft.reshape %[[XI]] : tensor<2x3x8xf32> -> tensor<6x8xf32>
// CHECK:       %[[H:.*]] = weft.dot_general %[[F]], %[[WI]] {{.*}} -> tensor<6x8xf32>
// CHECK:       %[[I:.*]] = weft.iota dim = 0 : tensor<24xf32>
// CHECK:       %[[IS:.*]] = weft.reshape %[[I]] : tensor<24xf32> -> tensor<2x4x3xf32>
// CHECK:       weft.microbatch_slice %[[IS]] dim = 1 {{.*}} -> tensor<2x3xf32>
// CHECK:       %[[N:.*]] = weft.broadcast {{.*}} dims = [0] : tensor<6xf32> -> tensor<6x8xf32>
// CHECK:       %[[Y:.*]] = arith.addf %[[H]], %[[N]] : tensor<6x8xf32>
// CHECK:       %[[P:.*]] = weft.reshape %[[Y]] : tensor<6x8xf32> -> tensor<2x3x8xf32>
// CHECK:       %[[S:.*]] = weft.microbatch_stack %[[P]] dim = 1 {{.*}} -> tensor<2x4x3x8xf32>
// CHECK:       %[[R:.*]] = weft.reshape %[[S]] : tensor<2x4x3x8xf32> -> tensor<24x8xf32>
// CHECK:       return %arg0, %[[R]]
func.func @flat(%w: tensor<8x8xf32> {weft.name = "w"}, %x: tensor<8x3x8xf32> {weft.name = "x"})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<24x8xf32> {weft.name = "y"}) {
  %f = weft.reshape %x : tensor<8x3x8xf32> -> tensor<24x8xf32>
  %h = weft.dot_general %f, %w contracting = [1] x [0] : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
  %i = weft.iota dim = 0 : tensor<24x8xf32>
  %y = arith.addf %h, %i : tensor<24x8xf32>
  return %w, %y : tensor<8x8xf32>, tensor<24x8xf32>
}

// What a barrier waits for in the loop is one for all micro-batches; behind the loop it waits for nothing.
// CHECK-LABEL: func.func @barrier(
// CHECK:       %[[WI:.*]] = weft.microbatch_use %arg0
// CHECK:       %[[H:.*]] = weft.dot_general {{.*}}, %[[WI]] {{.*}} -> tensor<2x8xf32>
// CHECK:       %[[B:.*]] = weft.barrier %[[WI]] after %[[H]]
// CHECK:       %[[C:.*]] = math.exp %[[B]]
// CHECK:       %[[D:.*]] = math.exp %arg0
// CHECK:       weft.dot_general %[[H]], %[[C]]
// CHECK:       %[[S:.*]] = weft.microbatch_sum
// CHECK:       return %[[D]], %[[S]]
func.func @barrier(%w: tensor<8x8xf32> {weft.name = "w"}, %x: tensor<8x8xf32> {weft.name = "x"})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<8xf32> {weft.name = "y"}) {
  %h = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = weft.barrier %w after %h : tensor<8x8xf32> after tensor<8x8xf32>
  %c = math.exp %b : tensor<8x8xf32>
  %d = weft.dot_general %h, %c contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = weft.reduce sum %d dims = [0] : tensor<8x8xf32> -> tensor<8xf32>
  %t = weft.barrier %s after %d : tensor<8xf32> after tensor<8x8xf32>
  return %c, %t : tensor<8x8xf32>, tensor<8xf32>
}

// A number of all rows so far goes to the next stage as a term, and its cotangent, which is one for all rows, back.
// CHECK-LABEL: func.func @boundary(
// CHECK:       %[[C:.*]] = weft.microbatch_use %arg2
// CHECK:       %[[T:.*]] = weft.reduce sum %{{.*}} : tensor<2x8xf32> -> tensor<f32>
// CHECK:       %[[B:.*]] = weft.stage_boundary %[[T]] : tensor<f32>
// CHECK:       weft.microbatch_sum %[[B]]
// CHECK:       %[[BACK:.*]] = weft.stage_boundary %[[C]] of %[[B]] : tensor<f32>
// CHECK:       weft.broadcast %[[BACK]] dims = [] : tensor<f32> -> tensor<2x8xf32>
func.func @boundary(%w: tensor<8x8xf32> {weft.name = "w"}, %x: tensor<8x8xf32> {weft.name = "x"}, %c: tensor<f32> {weft.name = "c"})
    -> (tensor<8x8xf32> {weft.name = "w"}, tensor<f32> {weft.name = "l"}) {
  %h = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = weft.reduce sum %h dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %b = weft.stage_boundary %t : tensor<f32>
  %back = weft.stage_boundary %c of %b : tensor<f32> of tensor<f32>
  %d = weft.broadcast %back dims = [] : tensor<f32> -> tensor<8x8xf32>
  %g = weft.dot_general %x, %d contracting = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %g, %b : tensor<8x8xf32>, tensor<f32>
}

// -----

// The batch is what most of the work is done for: not the weights that come before it.
// CHECK-LABEL: func.func @undonated(
// CHECK-DAG:   weft.microbatch_use %arg0
// CHECK-DAG:   weft.microbatch_use %arg1
// CHECK-DAG:   weft.microbatch_slice {{.*}} -> tensor<4x8xf32>
func.func @undonated(%v: tensor<8x8xf32> {weft.name = "v"}, %u: tensor<8x8xf32> {weft.name = "u"}, %x: tensor<16x8xf32> {weft.name = "x"})
    -> (tensor<16x8xf32> {weft.name = "y"}) {
  %h = weft.dot_general %x, %v contracting = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %e = math.exp %h : tensor<16x8xf32>
  %y = weft.dot_general %e, %u contracting = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  return %y : tensor<16x8xf32>
}

// -----

// A loop of the model stays what it is, and so does what changes no state, which
// another entry does.
// CHECK-LABEL: func.func @evaluate(
// CHECK-NOT:   microbatch
// CHECK:       return
func.func @evaluate(%w: tensor<8x8xf32> {weft.name = "w"}, %x: tensor<8x8xf32> {weft.name = "rows"}) -> (tensor<8x8xf32> {weft.name = "y"}) {
  %0 = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @loop(
// CHECK-NOT:   "batch"
// CHECK:       return
func.func @loop(%w: tensor<8xf32> {weft.name = "own"}, %x: tensor<2x8xf32> {weft.name = "x"})
    -> (tensor<8xf32> {weft.name = "own"}) {
  %xi = weft.microbatch_slice %x dim = 0 of <"own", 2> : tensor<2x8xf32> -> tensor<8xf32>
  %y = arith.mulf %xi, %w : tensor<8xf32>
  %s = weft.microbatch_sum %y of <"own", 2> : tensor<8xf32>
  return %s : tensor<8xf32>
}
