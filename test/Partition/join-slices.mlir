// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Slices that are put together along a split dimension are one move of what
// goes to another device, and the dimension keeps its size.

// RUN: shard-opt %s --weft-propagate --weft-join-slices | FileCheck %s
// RUN: shard-compile %s --emit=spmd | FileCheck %s --check-prefix=MOVED

weft.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @roll
// CHECK-NEXT:    %[[Y:.*]] = math.tanh
// CHECK-NEXT:    %[[R:.*]] = weft.rearrange %[[Y]] dim = 0 map <[16384] to [16384], 16383 to 0 for 1, 0 to 1 for 16383> {weft.shardings = [#weft.sharding<@mesh, [{"x"}, {}]>]}
// CHECK-NEXT:    return %[[R]]
// MOVED-LABEL: func.func @roll
// MOVED-NOT: weft.all_
// MOVED: weft.exchange %{{.*}} dim = 0 over <@mesh, {"x"}>
// MOVED-NOT: weft.all_
func.func @roll(%x: tensor<16384x256xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16384x256xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}) {
  %y = math.tanh %x : tensor<16384x256xf32>
  %last = weft.slice %y starts = [16383, 0] limits = [16384, 256] strides = [1, 1] : tensor<16384x256xf32> -> tensor<1x256xf32>
  %rest = weft.slice %y starts = [0, 0] limits = [16383, 256] strides = [1, 1] : tensor<16384x256xf32> -> tensor<16383x256xf32>
  %r = weft.concat %last, %rest dim = 0 : (tensor<1x256xf32>, tensor<16383x256xf32>) -> tensor<16384x256xf32>
  return %r : tensor<16384x256xf32>
}

// Two values, every other element of one of them, and zeros between; a slice
// that is used elsewhere stays.
// MOVED-LABEL: func.func @several
// CHECK-LABEL: func.func @several
// CHECK-NEXT:    %[[S:.*]] = weft.slice %arg0 starts = [4, 0]
// CHECK-NEXT:    weft.rearrange %arg0, %arg1 dim = 0 map <[8, 8] to [16], 4 to 0 for 4, 8 to 8 for 4 by 2, 0 to 12 for 4> value = 0.000000e+00 : f32
// CHECK-NEXT:    return %{{.*}}, %[[S]]
func.func @several(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>},
                   %y: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x4xf32>, tensor<4x4xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<4x4xf32>
  %high = weft.slice %x starts = [4, 0] limits = [8, 4] strides = [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>
  %even = weft.slice %y starts = [0, 0] limits = [8, 4] strides = [2, 1] : tensor<8x4xf32> -> tensor<4x4xf32>
  %low = weft.slice %x starts = [0, 0] limits = [4, 4] strides = [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>
  %r = weft.concat %high, %zeros, %even, %low dim = 0 : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
  return %r, %high : tensor<16x4xf32>, tensor<4x4xf32>
}

// A slice along another dimension too is left alone, and so is what no axis
// splits, and what is put together whole.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: weft.concat
func.func @others(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>},
                  %w: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) -> (tensor<8x2xf32>, tensor<8x4xf32>, tensor<16x4xf32>) {
  %high = weft.slice %x starts = [4, 0] limits = [8, 2] strides = [1, 1] : tensor<8x4xf32> -> tensor<4x2xf32>
  %low = weft.slice %x starts = [0, 0] limits = [4, 2] strides = [1, 1] : tensor<8x4xf32> -> tensor<4x2xf32>
  %a = weft.concat %high, %low dim = 0 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %last = weft.slice %w starts = [7, 0] limits = [8, 4] strides = [1, 1] : tensor<8x4xf32> -> tensor<1x4xf32>
  %rest = weft.slice %w starts = [0, 0] limits = [7, 4] strides = [1, 1] : tensor<8x4xf32> -> tensor<7x4xf32>
  %b = weft.concat %last, %rest dim = 0 : (tensor<1x4xf32>, tensor<7x4xf32>) -> tensor<8x4xf32>
  %c = weft.concat %x, %x dim = 0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %a, %b, %c : tensor<8x2xf32>, tensor<8x4xf32>, tensor<16x4xf32>
}

// A slice that is put in twice is erased once.

// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %[[Y:.*]] = math.tanh
// CHECK-NEXT:    weft.rearrange %[[Y]] dim = 0 map <[16] to [16], 0 to 0 for 8, 0 to 8 for 8>
// CHECK-NEXT:    return
func.func @twice(%x: tensor<16x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>}) {
  %y = math.tanh %x : tensor<16x4xf32>
  %half = weft.slice %y starts = [0, 0] limits = [8, 4] strides = [1, 1] : tensor<16x4xf32> -> tensor<8x4xf32>
  %r = weft.concat %half, %half dim = 0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}
