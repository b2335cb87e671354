// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-find-in-place=cuda --weft-batch-launches | FileCheck %s
// RUN: shard-opt %s --split-input-file --weft-find-in-place=cuda --weft-batch-launches --weft-plan-memory | FileCheck %s --check-prefix=PLANNED

// The documented example: casts of two weights, and their updates.
#map = affine_map<(i) -> (i)>
#one = affine_map<(i) -> ()>
func.func private @cast(%p: tensor<64xf32>) -> tensor<64xbf16> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<64xbf16>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%p : tensor<64xf32>) outs(%e : tensor<64xbf16>) {
  ^bb0(%x: f32, %out: bf16):
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<64xbf16>
  return %r : tensor<64xbf16>
}
func.func private @descend(%p: tensor<64xf32>, %dp: tensor<8x8xbf16>, %rate: tensor<f32>)
    -> tensor<64xf32> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %flat = tensor.collapse_shape %dp [[0, 1]] : tensor<8x8xbf16> into tensor<64xbf16>
  %r = linalg.generic {indexing_maps = [#map, #map, #one, #map], iterator_types = ["parallel"]}
      ins(%p, %flat, %rate : tensor<64xf32>, tensor<64xbf16>, tensor<f32>) outs(%e : tensor<64xf32>) {
  ^bb0(%x: f32, %d: bf16, %s: f32, %out: f32):
    %w = arith.extf %d : bf16 to f32
    %t = arith.mulf %w, %s : f32
    %y = arith.subf %x, %t : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: @step
// CHECK-SAME: (%[[P:.*]]: tensor<64xf32> {weft.name = "p"}, %[[Q:.*]]: tensor<64xf32> {weft.name = "q"}, %[[X:.*]]: tensor<8x8xbf16> {{.*}}, %[[RATE:.*]]: tensor<f32>
// The views of operands and results stay with what they show.
// CHECK: %[[C:.*]]:2 = weft.launch @cast(%[[P]], %[[Q]]) batch = 2 : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xbf16>, tensor<64xbf16>)
// CHECK-DAG: %[[A:.*]] = weft.reshape %[[C]]#0
// CHECK-DAG: %[[B:.*]] = weft.reshape %[[C]]#1
// CHECK: %[[Y:.*]] = weft.gemm %[[X]], %[[A]]
// CHECK: %[[Z:.*]] = weft.gemm %[[Y]], %[[B]]
// What takes over a buffer is known; sets share the rate.
// CHECK: %[[R:.*]]:2 = weft.launch @descend(%[[P]], %[[Y]], %[[RATE]], %[[Q]], %[[Z]], %[[RATE]]) batch = 2 in_place = [0]
// CHECK: return %[[R]]#0, %[[R]]#1, %{{.*}}
// States are at 0 and 256, and stay there.
// PLANNED: weft.launch @descend({{.*}}) batch = 2 in_place = [0] {weft.offsets = array<i64: 0, 256>}
func.func @step(%p: tensor<64xf32> {weft.name = "p"}, %q: tensor<64xf32> {weft.name = "q"},
                %x: tensor<8x8xbf16> {weft.name = "x"}, %rate: tensor<f32> {weft.name = "rate"})
    -> (tensor<64xf32> {weft.name = "p"}, tensor<64xf32> {weft.name = "q"}, tensor<8x8xbf16> {weft.name = "w"}) {
  %c = weft.launch @cast(%p) : (tensor<64xf32>) -> tensor<64xbf16>
  %a = weft.reshape %c : tensor<64xbf16> -> tensor<8x8xbf16>
  %y = weft.gemm %x, %a batch = 1 m = 8 n = 8 k = 8 strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %d = weft.launch @cast(%q) : (tensor<64xf32>) -> tensor<64xbf16>
  %r = weft.launch @descend(%p, %y, %rate) : (tensor<64xf32>, tensor<8x8xbf16>, tensor<f32>) -> tensor<64xf32>
  %b = weft.reshape %d : tensor<64xbf16> -> tensor<8x8xbf16>
  %z = weft.gemm %y, %b batch = 1 m = 8 n = 8 k = 8 strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %s = weft.launch @descend(%q, %z, %rate) : (tensor<64xf32>, tensor<8x8xbf16>, tensor<f32>) -> tensor<64xf32>
  %w = weft.gemm %x, %z batch = 1 m = 8 n = 8 k = 8 strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %r, %s, %w : tensor<64xf32>, tensor<64xf32>, tensor<8x8xbf16>
}

// -----

// One choice of results in place, positions, and a kernel without reductions
// are what launches need to come together.
weft.mesh @mesh = <["data"=2, "model"=2]>
#map = affine_map<(i) -> (i)>
#one = affine_map<(i) -> ()>
func.func private @twice(%p: tensor<64xf32>) -> tensor<64xf32> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%p : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%x: f32, %out: f32):
    %y = arith.addf %x, %x : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
func.func private @shift(%p: tensor<64xf32>, %at: tensor<i32> {weft.position}) -> tensor<64xf32>
    attributes {weft.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#map, #one, #map], iterator_types = ["parallel"]}
      ins(%p, %at : tensor<64xf32>, tensor<i32>) outs(%e : tensor<64xf32>) {
  ^bb0(%x: f32, %i: i32, %out: f32):
    %f = arith.sitofp %i : i32 to f32
    %y = arith.addf %x, %f : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
func.func private @total(%p: tensor<64xf32>) -> tensor<f32> attributes {weft.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#map, #one], iterator_types = ["reduction"]}
      ins(%p : tensor<64xf32>) outs(%i : tensor<f32>) {
  ^bb0(%x: f32, %out: f32):
    %y = arith.addf %x, %out : f32
    linalg.yield %y : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: @kinds
func.func @kinds(%p: tensor<64xf32> {weft.name = "p"}, %q: tensor<64xf32> {weft.name = "q"},
                 %x: tensor<64xf32> {weft.name = "x"})
    -> (tensor<64xf32> {weft.name = "p"}, tensor<64xf32> {weft.name = "a"}, tensor<64xf32> {weft.name = "b"},
        tensor<64xf32> {weft.name = "c"}, tensor<64xf32> {weft.name = "d"}, tensor<64xf32> {weft.name = "e"},
        tensor<f32> {weft.name = "f"}, tensor<f32> {weft.name = "g"}) {
  // CHECK: weft.launch @twice(%{{.*}}) in_place = [0] :
  // CHECK: weft.launch @twice(%{{.*}}, %{{.*}}) batch = 2 :
  %new = weft.launch @twice(%p) : (tensor<64xf32>) -> tensor<64xf32>
  %a = weft.launch @twice(%q) : (tensor<64xf32>) -> tensor<64xf32>
  %b = weft.launch @twice(%x) : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK: weft.launch @shift(%{{.*}}, %{{.*}}) batch = 2 positions = [#weft.axes<@mesh, {"data"}>]
  // CHECK: weft.launch @shift(%{{.*}}) positions = [#weft.axes<@mesh, {"model"}>]
  %c = weft.launch @shift(%q) positions = [#weft.axes<@mesh, {"data"}>] : (tensor<64xf32>) -> tensor<64xf32>
  %d = weft.launch @shift(%x) positions = [#weft.axes<@mesh, {"data"}>] : (tensor<64xf32>) -> tensor<64xf32>
  %e = weft.launch @shift(%q) positions = [#weft.axes<@mesh, {"model"}>] : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK-COUNT-2: weft.launch @total(%{{[^,]*}}) :
  %f = weft.launch @total(%q) : (tensor<64xf32>) -> tensor<f32>
  %g = weft.launch @total(%x) : (tensor<64xf32>) -> tensor<f32>
  return %new, %a, %b, %c, %d, %e, %f, %g : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>,
      tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>
}

// CHECK-LABEL: @collectives
// A small update waits for a larger one; collectives stay where they are.
// CHECK: weft.start all_reduce
// CHECK: weft.start all_reduce
// CHECK: weft.wait
// CHECK-NOT: weft.launch
// CHECK: weft.wait
// CHECK: weft.launch @twice(%{{.*}}, %{{.*}}) batch = 2
func.func @collectives(%x: tensor<64xf32> {weft.name = "x"}, %y: tensor<64xf32> {weft.name = "y"})
    -> (tensor<64xf32> {weft.name = "a"}, tensor<64xf32> {weft.name = "b"}) {
  %s = weft.start all_reduce %x sum over <@mesh, {"data"}> : tensor<64xf32> -> !weft.pending<tensor<64xf32>>
  %t = weft.start all_reduce %y sum over <@mesh, {"data"}> : tensor<64xf32> -> !weft.pending<tensor<64xf32>>
  %u = weft.wait %s : !weft.pending<tensor<64xf32>>
  %a = weft.launch @twice(%u) : (tensor<64xf32>) -> tensor<64xf32>
  %v = weft.wait %t : !weft.pending<tensor<64xf32>>
  %b = weft.launch @twice(%v) : (tensor<64xf32>) -> tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}
