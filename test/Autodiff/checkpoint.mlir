// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-autodiff --split-input-file | %strip_origins | FileCheck %s
// RUN: shard-opt %s --weft-graph-pipeline --split-input-file | %strip_origins | FileCheck %s --check-prefix=MERGED

// The exponential is computed again once the cotangent is there, and CSE does
// not merge the two.

// CHECK-LABEL: func.func @nothing(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>)
func.func @nothing(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[S:.*]] = math.sin %[[X]]
  // CHECK-NEXT: %[[E:.*]] = math.exp %[[S]]
  // CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[E]], %[[E]]
  // CHECK-NEXT: %[[LOSS:.*]] = weft.reduce sum %[[SQUARE]]
  // CHECK: %[[DE:.*]] = arith.addf %[[E]], %[[E]]
  // CHECK-NEXT: %[[LATER:.*]] = weft.barrier %[[X]] after %[[DE]] : tensor<4xf32> after tensor<4xf32>
  // CHECK-NEXT: %[[S2:.*]] = math.sin %[[LATER]]
  // CHECK-NEXT: %[[E2:.*]] = math.exp %[[S2]]
  // CHECK-NEXT: %[[DS:.*]] = arith.mulf %[[DE]], %[[E2]]
  // CHECK-NEXT: %[[COS:.*]] = math.cos %[[LATER]]
  // CHECK-NEXT: %[[DX:.*]] = arith.mulf %[[DS]], %[[COS]]
  // CHECK-NEXT: return %[[LOSS]], %[[DX]]
  // MERGED-LABEL: func.func @nothing(
  // MERGED-COUNT-2: math.exp
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4xf32>
}
func.func private @loss(%x: tensor<4xf32>) -> tensor<f32> {
  %e = weft.checkpoint @layer(%x) policy = "nothing" : (tensor<4xf32>) -> tensor<4xf32>
  %p = arith.mulf %e, %e : tensor<4xf32>
  %l = weft.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = math.sin %x : tensor<4xf32>
  %e = math.exp %s : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

// "dots" keeps the product and computes what follows from it again.

// CHECK-LABEL: func.func @dots(
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32>)
// CHECK: %[[S:.*]] = weft.dot_general
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[S]]
// CHECK-NEXT: math.exp %[[T]]
// CHECK-NOT: weft.dot_general
// CHECK: %[[LATER:.*]] = weft.barrier %[[S]] after
// CHECK-NEXT: %[[T2:.*]] = math.tanh %[[LATER]]
// CHECK-NEXT: math.exp %[[T2]]
func.func @dots(%x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4x4xf32>
}
func.func private @loss(%x: tensor<4x4xf32>) -> tensor<f32> {
  %e = weft.checkpoint @layer(%x) policy = "dots" : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = arith.mulf %e, %e : tensor<4x4xf32>
  %l = weft.reduce sum %p dims = [0, 1] : tensor<4x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @layer(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %s = weft.dot_general %x, %x contracting = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = math.tanh %s : tensor<4x4xf32>
  %e = math.exp %t : tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// -----

// As those of convolutions.

// CHECK-LABEL: func.func @convolutions(
// CHECK: %[[S:.*]] = weft.convolution
// CHECK-NOT: weft.convolution
// CHECK: %[[LATER:.*]] = weft.barrier %[[S]] after
// CHECK-NEXT: math.tanh %[[LATER]]
func.func @convolutions(%x: tensor<1x4x2xf32>, %w: tensor<1x2x2xf32>) -> tensor<1x4x2xf32> {
  %r:2 = weft.value_and_grad @loss(%x, %w) wrt = [0] : (tensor<1x4x2xf32>, tensor<1x2x2xf32>) -> (tensor<f32>, tensor<1x4x2xf32>)
  return %r#1 : tensor<1x4x2xf32>
}
func.func private @loss(%x: tensor<1x4x2xf32>, %w: tensor<1x2x2xf32>) -> tensor<f32> {
  %e = weft.checkpoint @layer(%x, %w) policy = "dots" : (tensor<1x4x2xf32>, tensor<1x2x2xf32>) -> tensor<1x4x2xf32>
  %p = arith.mulf %e, %e : tensor<1x4x2xf32>
  %l = weft.reduce sum %p dims = [0, 1, 2] : tensor<1x4x2xf32> -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @layer(%x: tensor<1x4x2xf32>, %w: tensor<1x2x2xf32>) -> tensor<1x4x2xf32> {
  %s = weft.convolution %x, %w strides = [1] low = [0] high = [0] lhs_dilation = [1] rhs_dilation = [1] groups = 1 : (tensor<1x4x2xf32>, tensor<1x2x2xf32>) -> tensor<1x4x2xf32>
  %t = math.tanh %s : tensor<1x4x2xf32>
  %e = math.exp %t : tensor<1x4x2xf32>
  return %e : tensor<1x4x2xf32>
}

// -----

// "names" keeps what has one of the names; the derivative of what made it reads it,
// too.

// CHECK-LABEL: func.func @names(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[S:.*]] = math.sin %[[X]]
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[S]]
// CHECK-NEXT: math.exp %[[T]]
// CHECK: %[[LATER:.*]] = weft.barrier %[[T]] after
// CHECK-NEXT: math.exp %[[LATER]]
// CHECK-NOT: {{math.exp|math.tanh|weft.checkpoint_name}}
// CHECK: math.cos
// CHECK: return
func.func @names(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<4xf32>
}
func.func private @loss(%x: tensor<4xf32>) -> tensor<f32> {
  %e = weft.checkpoint @layer(%x) policy = "names" ["hidden"] : (tensor<4xf32>) -> tensor<4xf32>
  %p = arith.mulf %e, %e : tensor<4xf32>
  %l = weft.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = math.sin %x : tensor<4xf32>
  %a = weft.checkpoint_name %s "inner" : tensor<4xf32>
  %t = math.tanh %a : tensor<4xf32>
  %h = weft.checkpoint_name %t "hidden" : tensor<4xf32>
  %e = math.exp %h : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

// A name keeps all results of an op, seen through constraints: attention is not
// computed again for its logsumexp.

weft.mesh @mesh = <["data"=2]>

// CHECK-LABEL: func.func @attention(
// CHECK: %[[OUT:.*]], %[[SUM:.*]] = weft.attention
// CHECK: %[[OUT2:.*]] = weft.barrier %[[OUT]] after
// CHECK: %[[SUM2:.*]] = weft.barrier %[[SUM]] after
// CHECK-NOT: weft.attention %
// CHECK: weft.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[OUT2]], %[[SUM2]],
func.func @attention(%x: tensor<1x8x2x4xf32>) -> (tensor<f32>, tensor<1x8x2x4xf32>) {
  %r:2 = weft.value_and_grad @loss(%x) wrt = [0] : (tensor<1x8x2x4xf32>) -> (tensor<f32>, tensor<1x8x2x4xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<1x8x2x4xf32>
}
func.func private @loss(%x: tensor<1x8x2x4xf32>) -> tensor<f32> {
  %e = weft.checkpoint @layer(%x) policy = "names" ["attended"] : (tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32>
  %l = weft.reduce sum %e dims = [0, 1, 2, 3] : tensor<1x8x2x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
func.func private @layer(%x: tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %o, %s = weft.attention %x, %x, %x scale = 0.5 : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>) -> (tensor<1x8x2x4xf32>, tensor<1x8x2xf32>)
  %c = weft.constraint %o <@mesh, [{"data"}, {}, {}, {}]> : tensor<1x8x2x4xf32>
  %h = weft.checkpoint_name %c "attended" : tensor<1x8x2x4xf32>
  %e = math.exp %h : tensor<1x8x2x4xf32>
  return %e : tensor<1x8x2x4xf32>
}

// -----

// "everything" is a call; so is a checkpoint that nothing is differentiated
// through.

// CHECK-LABEL: func.func @calls(
// CHECK-COUNT-2: math.exp
// CHECK-NOT: {{math.exp|weft.barrier|weft.checkpoint}}
// CHECK: func.func private
func.func @calls(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %y = weft.checkpoint @exp(%x) policy = "nothing" : (tensor<f32>) -> tensor<f32>
  %r:2 = weft.value_and_grad @loss(%y) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}
func.func private @loss(%x: tensor<f32>) -> tensor<f32> {
  %e = weft.checkpoint @exp(%x) policy = "everything" : (tensor<f32>) -> tensor<f32>
  return %e : tensor<f32>
}
func.func private @exp(%x: tensor<f32>) -> tensor<f32> {
  %e = math.exp %x : tensor<f32>
  return %e : tensor<f32>
}

// -----

// A checkpoint within one is replayed with it, and once more for its own
// derivative.

// CHECK-LABEL: func.func @nested(
// CHECK-COUNT-3: math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func @nested(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %r:2 = weft.value_and_grad @outer(%x) wrt = [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}
func.func private @outer(%x: tensor<f32>) -> tensor<f32> {
  %y = weft.checkpoint @inner(%x) policy = "nothing" : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @inner(%x: tensor<f32>) -> tensor<f32> {
  %y = weft.checkpoint @square(%x) policy = "nothing" : (tensor<f32>) -> tensor<f32>
  %z = arith.mulf %y, %y : tensor<f32>
  return %z : tensor<f32>
}
func.func private @square(%x: tensor<f32>) -> tensor<f32> {
  %e = math.exp %x : tensor<f32>
  return %e : tensor<f32>
}
