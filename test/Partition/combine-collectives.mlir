// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-combine-collectives | FileCheck %s

weft.mesh @mesh = <["data"=2, "model"=4]>

// CHECK-LABEL: func.func @all_reduce(
// CHECK: %[[X:.*]] = arith.addf
// CHECK: %[[Y:.*]] = arith.addf
// CHECK: %[[FLAT:.*]] = weft.reshape %[[X]] : tensor<4x8xf32> -> tensor<32xf32>
// CHECK: %[[ONE:.*]] = weft.reshape %[[Y]] : tensor<f32> -> tensor<1xf32>
// CHECK: %[[BOTH:.*]] = weft.concat %[[FLAT]], %[[ONE]] dim = 0
// CHECK: %[[SUM:.*]] = weft.all_reduce sum %[[BOTH]] over <@mesh, {"data"}> {cause = "2 collectives in one:\0A128 B: of x\0A4 B: no cause"} : tensor<33xf32>
// CHECK: %[[PART:.*]] = weft.slice %[[SUM]] starts = [0] limits = [32]
// CHECK: %[[P:.*]] = weft.reshape %[[PART]] : tensor<32xf32> -> tensor<4x8xf32>
// CHECK: %[[LAST:.*]] = weft.slice %[[SUM]] starts = [32] limits = [33]
// CHECK: %[[Q:.*]] = weft.reshape %[[LAST]] : tensor<1xf32> -> tensor<f32>
// CHECK: return %[[P]], %[[Q]]
func.func @all_reduce(%a: tensor<4x8xf32>, %b: tensor<f32>) -> (tensor<4x8xf32>, tensor<f32>) {
  %x = arith.addf %a, %a : tensor<4x8xf32>
  %p = weft.all_reduce sum %x over <@mesh, {"data"}> {cause = "of x"} : tensor<4x8xf32>
  %y = arith.addf %b, %b : tensor<f32>
  %q = weft.all_reduce sum %y over <@mesh, {"data"}> : tensor<f32>
  return %p, %q : tensor<4x8xf32>, tensor<f32>
}

// Only the result of a gather along an inner dimension is transposed.
// CHECK-LABEL: func.func @all_gather(
// CHECK-NOT: weft.transpose
// CHECK: %[[ALL:.*]] = weft.all_gather %{{.*}} dim = 0 over <@mesh, {"model"}> {{.*}} : tensor<1x62xf32> -> tensor<4x62xf32>
// CHECK: weft.slice %[[ALL]] starts = [0, 0] limits = [4, 32]
// CHECK-NEXT: weft.reshape {{.*}} -> tensor<16x8xf32>
// CHECK: weft.slice %[[ALL]] starts = [0, 32] limits = [4, 62]
// CHECK-NEXT: weft.reshape {{.*}} -> tensor<4x3x10xf32>
// CHECK-NEXT: weft.transpose {{.*}} -> tensor<3x4x10xf32>
// CHECK-NEXT: weft.reshape {{.*}} -> tensor<3x8x5xf32>
func.func @all_gather(%a: tensor<4x8xf32>, %b: tensor<3x2x5xf32>) -> (tensor<16x8xf32>, tensor<3x8x5xf32>) {
  %p = weft.all_gather %a dim = 0 over <@mesh, {"model"}> : tensor<4x8xf32> -> tensor<16x8xf32>
  %q = weft.all_gather %b dim = 1 over <@mesh, {"model"}> : tensor<3x2x5xf32> -> tensor<3x8x5xf32>
  return %p, %q : tensor<16x8xf32>, tensor<3x8x5xf32>
}

// CHECK-LABEL: func.func @reduce_scatter(
// CHECK: weft.transpose {{.*}} : tensor<3x4x10xf32> -> tensor<4x3x10xf32>
// CHECK: %[[OWN:.*]] = weft.reduce_scatter max %{{.*}} dim = 0 over <@mesh, {"model"}> {{.*}} : tensor<4x38xf32> -> tensor<1x38xf32>
// CHECK: weft.slice %[[OWN]] starts = [0, 0] limits = [1, 8]
// CHECK: weft.slice %[[OWN]] starts = [0, 8] limits = [1, 38]
// CHECK-NEXT: weft.reshape {{.*}} -> tensor<3x2x5xf32>
func.func @reduce_scatter(%a: tensor<4x8xf32>, %b: tensor<3x8x5xf32>) -> (tensor<1x8xf32>, tensor<3x2x5xf32>) {
  %p = weft.reduce_scatter max %a dim = 0 over <@mesh, {"model"}> : tensor<4x8xf32> -> tensor<1x8xf32>
  %q = weft.reduce_scatter max %b dim = 1 over <@mesh, {"model"}> : tensor<3x8x5xf32> -> tensor<3x2x5xf32>
  return %p, %q : tensor<1x8xf32>, tensor<3x2x5xf32>
}

// What is computed of a result alone moves with it, and the second sum of the
// first chain joins the one that is ready when it is.
// CHECK-LABEL: func.func @followed(
// CHECK-SAME: weft.saved_times = [{seconds = {{.*}}, seconds_before = {{.*}}, what = "4 collectives in 2 calls, which take"}]
// CHECK: %[[FIRST:.*]] = weft.all_reduce {{.*}} : tensor<40xf32>
// CHECK: %[[T:.*]] = weft.transpose
// CHECK: %[[D:.*]] = arith.divf %[[T]]
// CHECK-DAG: %[[N:.*]] = arith.negf
// CHECK-DAG: %[[Y:.*]] = arith.addf
// CHECK: weft.concat %[[N]], %[[Y]]
// CHECK: weft.all_reduce {{.*}} : tensor<16xf32>
// CHECK-NOT: weft.all_reduce
// CHECK: return %[[D]]
func.func @followed(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) {
  %c = arith.constant dense<2.0> : tensor<8x4xf32>
  %p = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<4x8xf32>
  %t = weft.transpose %p dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %d = arith.divf %t, %c : tensor<8x4xf32>
  %x = arith.addf %b, %b : tensor<8xf32>
  %q = weft.all_reduce sum %x over <@mesh, {"data"}> : tensor<8xf32>
  %n = arith.negf %q : tensor<8xf32>
  %r = weft.all_reduce sum %n over <@mesh, {"data"}> : tensor<8xf32>
  %y = arith.addf %q, %b : tensor<8xf32>
  %s = weft.all_reduce sum %y over <@mesh, {"data"}> : tensor<8xf32>
  return %d, %r, %s : tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>
}

// Another reduction, element type or group; and one that needs the other.
// CHECK-LABEL: func.func @different(
// CHECK-NOT: weft.concat
// CHECK: return
func.func @different(%a: tensor<8xf32>, %b: tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>) {
  %p = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<8xf32>
  %q = weft.all_reduce max %a over <@mesh, {"data"}> : tensor<8xf32>
  %r = weft.all_reduce sum %a over <@mesh, {"model"}> : tensor<8xf32>
  %s = weft.all_reduce sum %b over <@mesh, {"data"}> : tensor<8xbf16>
  %t = arith.addf %p, %a : tensor<8xf32>
  %u = weft.all_reduce sum %t over <@mesh, {"data"}> : tensor<8xf32>
  return %p, %q, %r, %s, %u : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>
}

// A loop keeps its collectives, and what stands around it the others.
// CHECK-LABEL: func.func @loop(
// CHECK: weft.all_reduce {{.*}} : tensor<8xf32>
// CHECK: weft.repeat
// CHECK: weft.all_reduce {{.*}} : tensor<16xf32>
// CHECK: weft.yield
// CHECK-NOT: weft.all_reduce
func.func @loop(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %p = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<8xf32>
  %r:2 = weft.repeat 4 carry (%x = %a, %y = %p) : (tensor<8xf32>, tensor<8xf32>) {
    %v = weft.all_reduce sum %x over <@mesh, {"data"}> : tensor<8xf32>
    %w = weft.all_reduce sum %y over <@mesh, {"data"}> : tensor<8xf32>
    weft.yield %v, %w : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// The sum of two losses follows both of them, to where a gradient is reduced.
// CHECK-LABEL: func.func @sum_of_losses(
// CHECK: %[[N:.*]] = math.tanh
// CHECK: %[[ALL:.*]] = weft.all_reduce {{.*}} : tensor<18xf32>
// CHECK: %[[LOSS:.*]] = arith.addf
// CHECK-NOT: weft.all_reduce
// CHECK: return %[[LOSS]]
func.func @sum_of_losses(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<16xf32>) -> (tensor<f32>, tensor<16xf32>) {
  %p = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<f32>
  %q = weft.all_reduce sum %b over <@mesh, {"data"}> : tensor<f32>
  %loss = arith.addf %p, %q : tensor<f32>
  %n = math.tanh %c : tensor<16xf32>
  %g = weft.all_reduce sum %n over <@mesh, {"data"}> : tensor<16xf32>
  return %loss, %g : tensor<f32>, tensor<16xf32>
}

// Followers of several collectives stay behind all of them, whichever moves
// last, and in their order.
// CHECK-LABEL: func.func @followers_of_several(
// CHECK: weft.all_reduce max {{.*}} : tensor<24xf32>
// CHECK: weft.all_reduce sum {{.*}} : tensor<24xf32>
// CHECK: %[[S:.*]] = arith.addf
// CHECK: %[[T:.*]] = arith.mulf %{{.*}}, %[[S]]
// CHECK: return %[[T]]
func.func @followers_of_several(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<16xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<16xf32>) {
  %p = weft.all_reduce sum %a over <@mesh, {"data"}> : tensor<8xf32>
  %q = weft.all_reduce max %b over <@mesh, {"data"}> : tensor<8xf32>
  %s = arith.addf %p, %q : tensor<8xf32>
  %t = arith.mulf %q, %s : tensor<8xf32>
  %m = math.tanh %c : tensor<16xf32>
  %x = weft.all_reduce max %m over <@mesh, {"data"}> : tensor<16xf32>
  %n = math.tanh %m : tensor<16xf32>
  %y = weft.all_reduce sum %n over <@mesh, {"data"}> : tensor<16xf32>
  return %t, %x, %y : tensor<8xf32>, tensor<16xf32>, tensor<16xf32>
}

// What is made of arguments alone can be made earlier: here of labels, what the
// backward pass needs with what the forward pass does.
// CHECK-LABEL: func.func @early(
// CHECK: %[[NEG:.*]] = arith.negf
// CHECK: %[[COUNT:.*]] = weft.reduce sum %[[NEG]]
// CHECK: weft.concat %{{.*}}, %[[COUNT]]
// CHECK: weft.all_reduce {{.*}} : tensor<16xf32>
// CHECK: weft.dot_general
// CHECK-NOT: weft.all_reduce
// CHECK: return
func.func @early(%a: tensor<8x8xf32>, %labels: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %h = weft.dot_general %a, %a contracting = [0, 1] x [0, 1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<f32>
  %r = weft.broadcast %h dims = [] : tensor<f32> -> tensor<8xf32>
  %p = weft.all_reduce sum %r over <@mesh, {"data"}> : tensor<8xf32>
  %x = weft.dot_general %p, %a contracting = [0] x [0] : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  %n = arith.negf %labels : tensor<8x8xf32>
  %count = weft.reduce sum %n dims = [1] : tensor<8x8xf32> -> tensor<8xf32>
  %q = weft.all_reduce sum %count over <@mesh, {"data"}> : tensor<8xf32>
  return %x, %q : tensor<8xf32>, tensor<8xf32>
}
