// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-pad-dimensions --split-input-file | FileCheck %s
// RUN: shard-opt %s --weft-propagate --weft-partition-pipeline --split-input-file -o /dev/null

weft.mesh @mesh = <["model"=4]>

// Logits over a vocabulary of 50257. Padding is masked where it is reduced; the
// table and what is computed element by element have larger types and no more.
// CHECK-LABEL: func.func @logits
// CHECK-SAME:      %[[W:[a-z0-9]*]]: tensor<50260x64xf32> {weft.global_type = tensor<50257x64xf32>
// CHECK:         %[[Y:.*]] = weft.dot_general %{{.*}}, %[[W]] {{.*}} -> tensor<8x50260xf32>
// CHECK:         %[[M:.*]] = weft.mask_padding %[[Y]] dim = 1 size = 50257 value = 0xFF800000 : f32
// CHECK:         weft.reduce max %[[M]]
// CHECK:         %[[E:.*]] = math.exp {{.*}} : tensor<8x50260xf32>
// CHECK:         %[[S:.*]] = weft.mask_padding %[[E]] dim = 1 size = 50257 value = 0.000000e+00 : f32
// CHECK:         weft.reduce sum %[[S]]
func.func @logits(
    %x: tensor<8x64xf32>,
    %w: tensor<50257x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> tensor<8xf32> {
  %y = weft.dot_general %x, %w contracting = [1] x [1]
      : (tensor<8x64xf32>, tensor<50257x64xf32>) -> tensor<8x50257xf32>
  %max = weft.reduce max %y dims = [1] : tensor<8x50257xf32> -> tensor<8xf32>
  %maxes = weft.broadcast %max dims = [0] : tensor<8xf32> -> tensor<8x50257xf32>
  %d = arith.subf %y, %maxes : tensor<8x50257xf32>
  %e = math.exp %d : tensor<8x50257xf32>
  %sum = weft.reduce sum %e dims = [1] : tensor<8x50257xf32> -> tensor<8xf32>
  return %sum : tensor<8xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// Arguments have zeros in their padding: nothing to mask in a sum of products.
// CHECK-LABEL: func.func @zeros_of_arguments
// CHECK-NOT:     weft.mask_padding
// CHECK:         return
func.func @zeros_of_arguments(
    %x: tensor<8x6xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>},
    %w: tensor<6x8xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>})
    -> tensor<8x8xf32> {
  %t = weft.transpose %w dims = [1, 0] : tensor<6x8xf32> -> tensor<8x6xf32>
  %s = arith.addf %t, %x : tensor<8x6xf32>
  %y = weft.dot_general %s, %w contracting = [1] x [0]
      : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

weft.mesh @mesh = <["a"=2, "b"=2]>

// One padded size for the parameter in two shards and its momentum in four; so
// moving between them stays the usual collectives. What is returned has zeros.
// CHECK-LABEL: func.func @two_numbers_of_shards
// CHECK-SAME:      %[[P:[a-z0-9]*]]: tensor<8xf32> {weft.global_type = tensor<5xf32>
// CHECK-SAME:      %[[M:[a-z0-9]*]]: tensor<8xf32> {weft.global_type = tensor<5xf32>
// CHECK-SAME:      -> (tensor<8xf32> {weft.global_type = tensor<5xf32>
// CHECK:         %[[C:.*]] = math.cos %[[M]] {{.*}} : tensor<8xf32>
// CHECK:         %[[D:.*]] = arith.subf %[[P]], %[[C]] {{.*}} : tensor<8xf32>
// CHECK:         %[[R:.*]] = weft.mask_padding %[[D]] dim = 0 size = 5 value = 0.000000e+00 : f32
// CHECK:         return %[[R]]
func.func @two_numbers_of_shards(
    %p: tensor<5xf32> {weft.name = "p", weft.sharding = #weft.sharding<@mesh, [{"a"}]>},
    %m: tensor<5xf32> {weft.sharding = #weft.sharding<@mesh, [{"a", "b"}]>})
    -> (tensor<5xf32> {weft.name = "p", weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %c = math.cos %m : tensor<5xf32>
  %d = arith.subf %p, %c : tensor<5xf32>
  return %d : tensor<5xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// What is not split is not padded: the result is cut, the operand padded.
// CHECK-LABEL: func.func @whole
// CHECK-SAME:      %[[X:[a-z0-9]*]]: tensor<8xf32> {weft.global_type = tensor<6xf32>
// CHECK-SAME:      %[[Y:[a-z0-9]*]]: tensor<6xf32>
// CHECK:         %[[P:.*]] = weft.pad %[[Y]] low = [0] high = [2] interior = [0] value = 0.000000e+00
// CHECK:         %[[S:.*]] = arith.addf %[[X]], %[[P]] {{.*}} : tensor<8xf32>
// CHECK:         %[[R:.*]] = weft.slice %[[S]] starts = [0] limits = [6]
// CHECK:         return %[[R]] : tensor<6xf32>
func.func @whole(
    %x: tensor<6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>},
    %y: tensor<6xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<6xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  %s = arith.addf %x, %y : tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// An index behind the table takes its last row.
// CHECK-LABEL: func.func @lookup
// CHECK:         %[[LAST:.*]] = arith.constant {{.*}}dense<5> : tensor<3xi32>
// CHECK:         %[[I:.*]] = arith.minsi %{{.*}}, %[[LAST]]
// CHECK:         weft.gather %{{.*}}, %[[I]] dim = 0 {{.*}}: (tensor<8x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
func.func @lookup(
    %t: tensor<6x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
    %i: tensor<3xi32>) -> tensor<3x2xf32> {
  %r = weft.gather %t, %i dim = 0 : (tensor<6x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// Updates behind the last one add zeros, wherever their indices point.
// CHECK-LABEL: func.func @scatter
// CHECK:         %[[U:.*]] = weft.mask_padding %{{.*}} dim = 0 size = 6 value = 0.000000e+00 : f32
// CHECK:         weft.scatter_add %[[U]], %{{.*}} dim = 0 {{.*}}: (tensor<8x2xf32>, tensor<8xi32>) -> tensor<3x2xf32>
func.func @scatter(
    %x: tensor<6x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>},
    %i: tensor<6xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) -> tensor<3x2xf32> {
  %u = math.cos %x : tensor<6x2xf32>
  %r = weft.scatter_add %u, %i dim = 0 : (tensor<6x2xf32>, tensor<6xi32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// The dimension that a reshape joins with another is cut; the other one is not.
// CHECK-LABEL: func.func @reshape
// CHECK:         %[[X:.*]] = weft.slice %{{.*}} limits = [6, 2, 5]
// CHECK:         weft.reshape %[[X]] {{.*}}: tensor<6x2x5xf32> -> tensor<12x5xf32>
// CHECK:         weft.reshape %{{.*}} : tensor<8x2x5xf32> -> tensor<8x10xf32>
func.func @reshape(%x: tensor<6x2x5xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}, {}]>})
    -> (tensor<12x5xf32>, tensor<6x10xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) {
  %y = weft.reshape %x : tensor<6x2x5xf32> -> tensor<12x5xf32>
  %z = weft.reshape %x : tensor<6x2x5xf32> -> tensor<6x10xf32>
  return %y, %z : tensor<12x5xf32>, tensor<6x10xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// What is put together leaves padding out, and has its own behind it.
// CHECK-LABEL: func.func @concat
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8xf32> {{.*}} %[[Y:[^:]*]]: tensor<1xf32>
// CHECK:         %[[C:.*]] = weft.rearrange %[[X]], %[[X]] dim = 0 map <[8, 8] to [12], 0 to 0 for 6, 8 to 6 for 6>
// CHECK:         %[[D:.*]] = weft.rearrange %[[X]], %[[Y]] dim = 0 map <[8, 1] to [8], 0 to 0 for 6, 8 to 6 for 1>
// CHECK:         %[[Z:.*]] = weft.mask_padding %[[D]] dim = 0 size = 7 value = 0.0
// CHECK:         return %[[C]], %[[Z]]
func.func @concat(
    %x: tensor<6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}, %y: tensor<1xf32>)
    -> (tensor<12xf32>, tensor<7xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %c = weft.concat %x, %x dim = 0 : (tensor<6xf32>, tensor<6xf32>) -> tensor<12xf32>
  %d = weft.concat %x, %y dim = 0 : (tensor<6xf32>, tensor<1xf32>) -> tensor<7xf32>
  return %c, %d : tensor<12xf32>, tensor<7xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// So does a padding, which makes the padding behind it too, and a slice whose
// result is padded. A slice of padded elements beside whole ones that does not
// have to is one still.
// CHECK-LABEL: func.func @moves
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x12xf32>
// CHECK:         %[[ZEROS:.*]] = weft.rearrange %[[X]] dim = 1 map <[12] to [16], 0 to 2 for 10> value = 0.0
// CHECK:         %[[ONES:.*]] = weft.rearrange %[[X]] dim = 1 map <[12] to [16], 0 to 2 for 10> value = 1.0
// CHECK:         %[[SLICE:.*]] = weft.rearrange %[[X]] dim = 1 map <[12] to [8], 1 to 0 for 5 by 2>
// CHECK:         %[[WHOLE:.*]] = weft.slice %[[X]] starts = [0, 2] limits = [2, 10]
// CHECK:         %[[MASKED:.*]] = weft.mask_padding %[[ONES]] dim = 1 size = 13 value = 0.0
// CHECK:         %[[END:.*]] = weft.mask_padding %[[SLICE]] dim = 1 size = 5 value = 0.0
// CHECK:         return %[[ZEROS]], %[[MASKED]], %[[END]], %[[WHOLE]]
func.func @moves(%x: tensor<2x10xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>})
    -> (tensor<2x13xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>}, tensor<2x13xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>},
        tensor<2x5xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>}, tensor<2x8xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"a"}]>}) {
  %a = weft.pad %x low = [0, 2] high = [0, 1] interior = [0, 0] value = 0.0 : f32 : tensor<2x10xf32> -> tensor<2x13xf32>
  %b = weft.pad %x low = [0, 2] high = [0, 1] interior = [0, 0] value = 1.0 : f32 : tensor<2x10xf32> -> tensor<2x13xf32>
  %c = weft.slice %x starts = [0, 1] limits = [2, 10] strides = [1, 2] : tensor<2x10xf32> -> tensor<2x5xf32>
  %d = weft.slice %x starts = [0, 2] limits = [2, 10] strides = [1, 1] : tensor<2x10xf32> -> tensor<2x8xf32>
  return %a, %b, %c, %d : tensor<2x13xf32>, tensor<2x13xf32>, tensor<2x5xf32>, tensor<2x8xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// A slice takes elements from where they are; one that takes all takes padding.
// CHECK-LABEL: func.func @slices
// CHECK:         weft.slice %{{.*}} starts = [1, 0] limits = [6, 3] {{.*}}: tensor<8x4xf32> -> tensor<5x3xf32>
// CHECK:         weft.slice %{{.*}} starts = [0, 1] limits = [8, 3] {{.*}}: tensor<8x4xf32> -> tensor<8x2xf32>
func.func @slices(%x: tensor<6x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<5x3xf32>, tensor<6x2xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {}]>}) {
  %y = weft.slice %x starts = [1, 0] limits = [6, 3] strides = [1, 1] : tensor<6x4xf32> -> tensor<5x3xf32>
  %z = weft.slice %x starts = [0, 1] limits = [6, 3] strides = [1, 1] : tensor<6x4xf32> -> tensor<6x2xf32>
  return %y, %z : tensor<5x3xf32>, tensor<6x2xf32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// A division by zero would trap.
// CHECK-LABEL: func.func @division
// CHECK:         %[[D:.*]] = weft.mask_padding %{{.*}} dim = 0 size = 6 value = 1 : i32
// CHECK:         arith.divsi %{{.*}}, %[[D]]
func.func @division(
    %x: tensor<6xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>},
    %y: tensor<6xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
    -> (tensor<6xi32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %q = arith.divsi %x, %y : tensor<6xi32>
  return %q : tensor<6xi32>
}

// -----

weft.mesh @mesh = <["a"=4]>

// What is made from nothing is made larger.
// CHECK-LABEL: func.func @makers
// CHECK-DAG:     arith.constant {{.*}}dense<2.000000e+00> : tensor<8xf32>
// CHECK-DAG:     weft.iota dim = 0 {{.*}}: tensor<8xf32>
// CHECK-DAG:     weft.broadcast %{{.*}} dims = [] {{.*}}: tensor<f32> -> tensor<8xf32>
func.func @makers(
    %x: tensor<6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}, %s: tensor<f32>)
    -> (tensor<6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) {
  %two = arith.constant dense<2.0> : tensor<6xf32>
  %count = weft.iota dim = 0 : tensor<6xf32>
  %all = weft.broadcast %s dims = [] : tensor<f32> -> tensor<6xf32>
  %a = arith.mulf %x, %two : tensor<6xf32>
  %b = arith.mulf %a, %count : tensor<6xf32>
  %c = arith.mulf %b, %all : tensor<6xf32>
  return %c : tensor<6xf32>
}

// -----

weft.mesh @mesh = <["a"=4, "b"=4]>

// Queries do not read keys that are padding: the sequence is cut, the batch not.
// CHECK-LABEL: func.func @attention
// CHECK-SAME:      tensor<8x8x4x16xf32> {weft.global_type = tensor<5x6x4x16xf32>
// CHECK:         %[[Q:.*]] = weft.slice %{{.*}} limits = [8, 6, 4, 16]
// CHECK:         weft.attention %[[Q]], %[[Q]], %[[Q]] causal {{.*}} -> (tensor<8x6x4x16xf32>, tensor<8x6x4xf32>)
// CHECK:         weft.pad %{{.*}} high = [0, 2, 0, 0]
func.func @attention(
    %x: tensor<5x6x4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}, {}, {}]>})
    -> (tensor<5x6x4x16xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}, {"b"}, {}, {}]>}) {
  %r, %l = weft.attention %x, %x, %x causal scale = 0.25
      : (tensor<5x6x4x16xf32>, tensor<5x6x4x16xf32>, tensor<5x6x4x16xf32>)
     -> (tensor<5x6x4x16xf32>, tensor<5x6x4xf32>)
  return %r : tensor<5x6x4x16xf32>
}

// -----

weft.mesh @mesh = <["a"=2]>

// Axes divide everything: nothing changes.
// CHECK-LABEL: func.func @even
// CHECK-NOT:     weft.global_type
// CHECK:         math.exp %{{.*}} : tensor<6xf32>
func.func @even(%x: tensor<6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>}) -> tensor<6xf32> {
  %y = math.exp %x : tensor<6xf32>
  return %y : tensor<6xf32>
}
