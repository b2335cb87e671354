// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Launches come together within a block: what a loop begins with, what it
// adds, and what is done with the sums.
// RUN: shard-opt %s --split-input-file --weft-find-in-place=cuda --weft-batch-launches --weft-plan-memory | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: shard-opt %s --split-input-file --weft-find-in-place --weft-batch-launches=only-loop-inits --weft-plan-memory | FileCheck %s --check-prefixes=CHECK,INITS

#map = affine_map<(i) -> (i)>
func.func private @fill() -> tensor<64xf32> attributes {weft.kernel} {
  %zero = arith.constant -0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
func.func private @add(%a: tensor<64xf32>, %x: tensor<64xf32>) -> tensor<64xf32> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%a, %x : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%s: f32, %t: f32, %out: f32):
    %y = arith.addf %s, %t : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: @sums
// CHECK-SAME: (%[[X:.*]]: tensor<64xf32> {{.*}}, %[[W:.*]]: tensor<64xf32> {{.*}}, %[[Q:.*]]: tensor<64xf32>
func.func @sums(%x: tensor<64xf32> {weft.name = "x"}, %w: tensor<64xf32> {weft.name = "w"},
                %q: tensor<64xf32> {weft.name = "q"})
    -> (tensor<64xf32> {weft.name = "w"}, tensor<64xf32> {weft.name = "q"}) {
  // CHECK:        %[[INITS:.*]]:2 = weft.launch @fill() batch = 2
  %zero = weft.launch @fill() : () -> tensor<64xf32>
  %other = weft.launch @fill() : () -> tensor<64xf32>
  // CHECK-NEXT:   %[[SUMS:.*]]:2 = weft.repeat 4 carry (%[[A:.*]] = %[[INITS]]#0, %[[B:.*]] = %[[INITS]]#1)
  %s:2 = weft.repeat 4 carry (%a = %zero, %b = %other) : (tensor<64xf32>, tensor<64xf32>) {
    // ALL-NEXT:   %[[Y:.*]] = weft.gemm %[[X]], %[[W]]
    // ALL-NEXT:   %[[Z:.*]] = weft.gemm %[[Y]], %[[W]]
    // ALL-NEXT:   %[[NEXT:.*]]:2 = weft.launch @add(%[[A]], %[[Y]], %[[B]], %[[Z]]) batch = 2 in_place = [0]
    // INITS-COUNT-2: weft.launch @add(%{{[^,]*}}, %{{[^,]*}}) in_place = [0]
    %y = weft.gemm %x, %w batch = 1 m = 8 n = 8 k = 8 strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
        : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %c = weft.launch @add(%a, %y) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %z = weft.gemm %y, %w batch = 1 m = 8 n = 8 k = 8 strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
        : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %d = weft.launch @add(%b, %z) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    // CHECK:      weft.yield
    weft.yield %c, %d : tensor<64xf32>, tensor<64xf32>
  }
  // ALL:          weft.launch @add(%[[W]], %[[SUMS]]#0, %[[Q]], %[[SUMS]]#1) batch = 2 in_place = [0]
  // INITS-COUNT-2: weft.launch @add(%{{[^,]*}}, %{{[^,]*}}) in_place = [0]
  %v = weft.launch @add(%w, %s#0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %p = weft.launch @add(%q, %s#1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %v, %p : tensor<64xf32>, tensor<64xf32>
}

// -----

#map = affine_map<(i) -> (i)>
func.func private @fill() -> tensor<64xf32> attributes {weft.kernel} {
  %zero = arith.constant -0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
func.func private @add(%a: tensor<64xf32>, %x: tensor<64xf32>) -> tensor<64xf32> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%a, %x : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%s: f32, %t: f32, %out: f32):
    %y = arith.addf %s, %t : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// What a loop needs at its peak limits what its launches may hold for longer,
// and so does the peak of the entry for those around it: here that is the loop.
// One of the products can be there at a time.
// CHECK-LABEL: @short
// CHECK-SAME:  weft.arena_bytes = 1280
func.func @short(%x: tensor<64xf32> {weft.name = "x"}, %w: tensor<64xf32> {weft.name = "w"})
    -> (tensor<64xf32> {weft.name = "w"}, tensor<64xf32> {weft.name = "u"}) {
  // CHECK: weft.launch @fill() batch = 2
  %zero = weft.launch @fill() : () -> tensor<64xf32>
  %other = weft.launch @fill() : () -> tensor<64xf32>
  %s:2 = weft.repeat 4 carry (%a = %zero, %b = %other) : (tensor<64xf32>, tensor<64xf32>) {
    %y = weft.gemm %x, %w batch = 1 m = 8 n = 8 k = 8 strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
        : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    // CHECK: weft.launch @add(%{{[^,]*}}, %{{[^,]*}}) in_place = [0]
    %c = weft.launch @add(%a, %y) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %z = weft.gemm %x, %w batch = 1 m = 8 n = 8 k = 8 strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
        : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    // CHECK: weft.launch @add(%{{[^,]*}}, %{{[^,]*}}) in_place = [0]
    %d = weft.launch @add(%b, %z) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    weft.yield %c, %d : tensor<64xf32>, tensor<64xf32>
  }
  %v = weft.launch @add(%w, %s#0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %v, %s#1 : tensor<64xf32>, tensor<64xf32>
}
