// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-localize --weft-verify-form=form=spmd | FileCheck %s

// Dimensions that operands and results split alike: what changes the device is
// sent.

weft.mesh @mesh = <["t"=4, "one"=1]>

// Slices of one value share an exchange, also one that an axis of size 1 splits
// too. One that is split otherwise takes no part.
// CHECK-LABEL: func.func @slices
// CHECK-SAME:    %[[X:.*]]: tensor<2x48xf32>
// CHECK-NEXT:    %[[ALL:.*]] = weft.exchange %[[X]] dim = 1 over <@mesh, {"t"}>
// CHECK-SAME:        map <[48] to [16, 2, 1], 0 to 0 for 64, 100 to 64 for 8, 3 to 72 for 4 by 5>
// CHECK-SAME:        {cause = "slices of \22arg0\22 along dimension 1, split over {\22t\22}"} : tensor<2x48xf32> -> tensor<2x19xf32>
// CHECK-NEXT:    %[[A:.*]] = weft.slice %[[ALL]] starts = [0, 0] limits = [2, 16]
// CHECK-NEXT:    %[[B:.*]] = weft.slice %[[ALL]] starts = [0, 16] limits = [2, 18]
// CHECK-NEXT:    %[[C:.*]] = weft.slice %[[ALL]] starts = [0, 18] limits = [2, 19]
// CHECK:         return %[[A]], %[[B]], %[[C]]
func.func @slices(%x: tensor<2x192xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>})
    -> (tensor<2x64xf32>, tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %a = weft.slice %x starts = [0, 0] limits = [2, 64] strides = [1, 1] {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : tensor<2x192xf32> -> tensor<2x64xf32>
  %b = weft.slice %x starts = [0, 100] limits = [2, 108] strides = [1, 1] {weft.shardings = [#weft.sharding<@mesh, [{}, {"one", "t"}]>]} : tensor<2x192xf32> -> tensor<2x8xf32>
  %c = weft.slice %x starts = [0, 3] limits = [2, 23] strides = [1, 5] {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : tensor<2x192xf32> -> tensor<2x4xf32>
  %d = weft.slice %x starts = [0, 0] limits = [2, 4] strides = [1, 1] {weft.shardings = [#weft.sharding<@mesh, [{}, {}], unreduced={"t"}>]} : tensor<2x192xf32> -> tensor<2x4xf32>
  return %a, %b, %c, %d : tensor<2x64xf32>, tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// What is not split is cut first.
// CHECK-LABEL: func.func @one_slice
// CHECK-SAME:    %[[X:.*]]: tensor<6x4xf32>
// CHECK-NEXT:    %[[CUT:.*]] = weft.slice %[[X]] starts = [2, 0] limits = [5, 4]
// CHECK-NEXT:    %[[R:.*]] = weft.exchange %[[CUT]] dim = 1 over <@mesh, {"t"}> map <[4] to [3], 1 to 0 for 12> {cause = "slice of \22arg0\22 {{.*}} : tensor<3x4xf32> -> tensor<3x3xf32>
// CHECK-NEXT:    return %[[R]]
func.func @one_slice(%x: tensor<6x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) -> tensor<3x12xf32> {
  %r = weft.slice %x starts = [2, 1] limits = [5, 13] strides = [1, 1] {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : tensor<6x16xf32> -> tensor<3x12xf32>
  return %r : tensor<3x12xf32>
}

// CHECK-LABEL: func.func @concat
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x2xi1> {{.*}} %[[Y:[^:]*]]: tensor<2x3xi1>
// CHECK-NEXT:    %[[BOTH:.*]] = weft.concat %[[X]], %[[Y]] dim = 1 : (tensor<2x2xi1>, tensor<2x3xi1>) -> tensor<2x5xi1>
// CHECK-NEXT:    %[[R:.*]] = weft.exchange %[[BOTH]] dim = 1 over <@mesh, {"t"}> map <[2, 3] to [5], 0 to 0 for 20> {cause = "operands of weft.concat
// CHECK-NEXT:    return %[[R]]
func.func @concat(%x: tensor<2x8xi1> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}, %y: tensor<2x12xi1> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) -> tensor<2x20xi1> {
  %r = weft.concat %x, %y dim = 1 {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : (tensor<2x8xi1>, tensor<2x12xi1>) -> tensor<2x20xi1>
  return %r : tensor<2x20xi1>
}

// The value goes to positions that nothing is sent to; other dimensions are
// padded afterwards.
// CHECK-LABEL: func.func @pad
// CHECK-SAME:    %[[X:.*]]: tensor<2x4xf32>
// CHECK-NEXT:    %[[MOVED:.*]] = weft.exchange %[[X]] dim = 1 over <@mesh, {"t"}> map <[4] to [5], 0 to 3 for 16> {cause = "operand of weft.pad
// CHECK-DAG:     %[[COUNT:.*]] = weft.iota dim = 1 : tensor<2x5xi32>
// CHECK-DAG:     weft.position over <@mesh, {"t"}>
// CHECK:         %[[FROM:.*]] = arith.subi
// CHECK:         %[[IS:.*]] = arith.cmpi ult, %[[FROM]]
// CHECK:         %[[ONES:.*]] = arith.constant dense<1.000000e+00>
// CHECK-NEXT:    %[[FILLED:.*]] = arith.select %[[IS]], %[[MOVED]], %[[ONES]]
// CHECK-NEXT:    %[[R:.*]] = weft.pad %[[FILLED]] low = [1, 0] high = [0, 0] interior = [0, 0] value = 1.0{{.*}} : tensor<2x5xf32> -> tensor<3x5xf32>
// CHECK-NEXT:    return %[[R]]
func.func @pad(%x: tensor<2x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) -> tensor<3x20xf32> {
  %r = weft.pad %x low = [1, 3] high = [0, 1] interior = [0, 0] value = 1.0 : f32 {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : tensor<2x16xf32> -> tensor<3x20xf32>
  return %r : tensor<3x20xf32>
}

// CHECK-LABEL: func.func @rearrange_parts
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x2xf32> {{.*}} %[[Y:[^:]*]]: tensor<2x3xf32>
// CHECK-NEXT:    %[[BOTH:.*]] = weft.concat %[[X]], %[[Y]] dim = 1
// CHECK-NEXT:    %[[R:.*]] = weft.exchange %[[BOTH]] dim = 1 over <@mesh, {"t"}> map <[2, 3] to [5], 0 to 0 for 7, 8 to 7 for 9> {cause = "elements of weft.rearrange
// CHECK-NEXT:    return %[[R]]
func.func @rearrange_parts(%x: tensor<2x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}, %y: tensor<2x12xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) -> tensor<2x20xf32> {
  %r = weft.rearrange %x, %y dim = 1 map <[8, 12] to [20], 0 to 0 for 7, 8 to 7 for 9> {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : (tensor<2x8xf32>, tensor<2x12xf32>) -> tensor<2x20xf32>
  return %r : tensor<2x20xf32>
}

// Those that are slices with padding behind share an exchange, with slices too.
// CHECK-LABEL: func.func @padded_slices
// CHECK-SAME:    %[[X:.*]]: tensor<2x4xf32>
// CHECK-NEXT:    %[[ALL:.*]] = weft.exchange %[[X]] dim = 1 over <@mesh, {"t"}> map <[4] to [2, 3, 1], 0 to 0 for 5, 5 to 9 for 10, 0 to 20 for 4> {cause = "slices of
// CHECK-NEXT:    %[[A:.*]] = weft.slice %[[ALL]] starts = [0, 0] limits = [2, 2]
// CHECK-NEXT:    %[[B:.*]] = weft.slice %[[ALL]] starts = [0, 2] limits = [2, 5]
// CHECK-NEXT:    %[[C:.*]] = weft.slice %[[ALL]] starts = [0, 5] limits = [2, 6]
// CHECK-NEXT:    return %[[A]], %[[B]], %[[C]]
func.func @padded_slices(%x: tensor<2x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) -> (tensor<2x8xf32>, tensor<2x12xf32>, tensor<2x4xf32>) {
  %a = weft.rearrange %x dim = 1 map <[16] to [8], 0 to 0 for 5> {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : (tensor<2x16xf32>) -> tensor<2x8xf32>
  %b = weft.rearrange %x dim = 1 map <[16] to [12], 5 to 1 for 10> {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : (tensor<2x16xf32>) -> tensor<2x12xf32>
  %c = weft.slice %x starts = [0, 0] limits = [2, 4] strides = [1, 1] {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : tensor<2x16xf32> -> tensor<2x4xf32>
  return %a, %b, %c : tensor<2x8xf32>, tensor<2x12xf32>, tensor<2x4xf32>
}

// Of whole dimensions: slices one after the other, in the order of the result.
// CHECK-LABEL: func.func @rearrange_whole
// CHECK-SAME:    %[[X:.*]]: tensor<2x8xf32>
// CHECK:         %[[GAP:.*]] = arith.constant dense<0.0{{.*}}> : tensor<2x2xf32>
// CHECK-NEXT:    %[[A:.*]] = weft.slice %[[X]] starts = [0, 4] limits = [2, 8]
// CHECK-NEXT:    %[[B:.*]] = weft.slice %[[X]] starts = [0, 0] limits = [2, 3]
// CHECK-NEXT:    %[[END:.*]] = arith.constant dense<0.0{{.*}}> : tensor<2x1xf32>
// CHECK-NEXT:    %[[R:.*]] = weft.concat %[[GAP]], %[[A]], %[[B]], %[[END]] dim = 1
// CHECK-NEXT:    return %[[R]]
func.func @rearrange_whole(%x: tensor<2x8xf32>) -> tensor<2x10xf32> {
  %r = weft.rearrange %x dim = 1 map <[8] to [10], 0 to 6 for 3, 4 to 2 for 4> : (tensor<2x8xf32>) -> tensor<2x10xf32>
  return %r : tensor<2x10xf32>
}

// The elements in reverse order: of a split dimension each device sends what it
// has to one other, of a whole one it takes them from the last.
// CHECK-LABEL: func.func @reverse
// CHECK-SAME:    %[[X:[^:]*]]: tensor<6x4xf32>
// CHECK-NEXT:    %[[A:.*]] = weft.exchange %[[X]] dim = 1 over <@mesh, {"t"}> map <[4] to [4], 15 to 0 for 16 by -1>
// CHECK:         %[[UP:.*]] = weft.iota dim = 0 : tensor<6xi32>
// CHECK:         %[[DOWN:.*]] = arith.subi %{{.*}}, %[[UP]]
// CHECK-NEXT:    %[[B:.*]] = weft.gather %[[X]], %[[DOWN]] dim = 0
// CHECK-NEXT:    return %[[A]], %[[B]]
func.func @reverse(%x: tensor<6x16xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) -> (tensor<6x16xf32>, tensor<6x16xf32>) {
  %a = weft.rearrange %x dim = 1 map <[16] to [16], 15 to 0 for 16 by -1> {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : (tensor<6x16xf32>) -> tensor<6x16xf32>
  %b = weft.rearrange %x dim = 0 map <[6] to [6], 5 to 0 for 6 by -1> {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : (tensor<6x16xf32>) -> tensor<6x16xf32>
  return %a, %b : tensor<6x16xf32>, tensor<6x16xf32>
}

// A reshape of which both sides are split over the same axes, but differently:
// the dimensions are one for the exchange. Where no element changes the device
// there is none.
// CHECK-LABEL: func.func @reshape
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x12xf32>
// CHECK-NEXT:    %[[A:.*]] = weft.exchange %[[X]] dim = 1 over <@mesh, {"t"}> map <[12] to [4, 4, 4], 0 to 0 for 48>
// CHECK-NEXT:    %[[THIRDS:.*]] = weft.reshape %[[A]] : tensor<2x12xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:    %[[ONE:.*]] = weft.reshape %[[THIRDS]] : tensor<2x3x4xf32> -> tensor<2x12xf32>
// CHECK-NEXT:    %[[B:.*]] = weft.exchange %[[ONE]] dim = 1 over <@mesh, {"t"}> map <[4, 4, 4] to [12], 0 to 0 for 48>
// CHECK-NEXT:    %[[ROWS:.*]] = weft.reshape %[[X]] : tensor<2x12xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:    return %[[B]], %[[ROWS]]
func.func @reshape(%x: tensor<2x48xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"t"}]>}) -> (tensor<2x48xf32>, tensor<2x12x4xf32>) {
  %a = weft.reshape %x {weft.shardings = [#weft.sharding<@mesh, [{}, {}, {"t"}]>]} : tensor<2x48xf32> -> tensor<2x3x16xf32>
  %b = weft.reshape %a {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}]>]} : tensor<2x3x16xf32> -> tensor<2x48xf32>
  %c = weft.reshape %x {weft.shardings = [#weft.sharding<@mesh, [{}, {"t"}, {}]>]} : tensor<2x48xf32> -> tensor<2x12x4xf32>
  return %b, %c : tensor<2x48xf32>, tensor<2x12x4xf32>
}
