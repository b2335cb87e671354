// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-fuse-kernels --split-input-file | FileCheck %s

// What a combined collective sends is a concat: what instructions write to
// multiples of 64 bytes is a part of it; the rest, which has no such size or is
// small and comes with the concat's kernel, is the last part. Results are parts
// alike.

// CHECK-LABEL: func.func @reduced
// CHECK-SAME:      (%[[X:.*]]: tensor<4x4xf32>, %[[Y:.*]]: tensor<16xf32>, %[[Z:.*]]: tensor<4x16xf32>)
// CHECK-DAG:     %[[G:.*]] = weft.gemm %[[X]], %[[X]]
// CHECK-DAG:     %[[FLAT:.*]] = weft.reshape %[[G]]
// CHECK-DAG:     %[[S:.*]] = weft.launch @{{.*}}(%[[Z]]) {{.*}} -> tensor<16xf32>
// CHECK-DAG:     %[[N:.*]] = weft.launch @{{.*}}(%[[Y]]) {{.*}} -> tensor<16xf32>
// CHECK-DAG:     %[[REST:.*]] = weft.launch @[[REST_OF:.*]](%[[Z]], %[[Y]]) {{.*}} -> tensor<5xf32>
// CHECK:         %[[C:.*]] = weft.concat %[[N]], %[[FLAT]], %[[S]], %[[REST]] dim = 0 :
// CHECK-NEXT:    %[[R:.*]] = weft.all_reduce sum %[[C]] {{.*}} : tensor<53xf32>
// CHECK-DAG:     weft.slice %[[R]] starts = [0] limits = [16]
// CHECK-DAG:     weft.slice %[[R]] starts = [16] limits = [32]
// CHECK-DAG:     weft.slice %[[R]] starts = [32] limits = [48]
// CHECK-DAG:     weft.slice %[[R]] starts = [48] limits = [50]
// CHECK-DAG:     weft.launch @[[LAST:.*]](%[[R]]) {{.*}} -> tensor<3xf32>
// CHECK:       func.func private @[[REST_OF]]
// CHECK:         weft.concat
// CHECK:       func.func private @[[LAST]]
// CHECK:         weft.slice %{{.*}} starts = [50] limits = [53]
func.func @reduced(%x: tensor<4x4xf32>, %y: tensor<16xf32>, %z: tensor<4x16xf32>)
    -> (tensor<16xf32>, tensor<2xf32>, tensor<16xf32>, tensor<3xf32>, tensor<16xf32>) {
  %negated = arith.negf %y : tensor<16xf32>
  %two = weft.slice %z starts = [1, 2] limits = [2, 4] strides = [1, 1] : tensor<4x16xf32> -> tensor<1x2xf32>
  %row = weft.reshape %two : tensor<1x2xf32> -> tensor<2xf32>
  %three = weft.slice %y starts = [0] limits = [3] strides = [1] : tensor<16xf32> -> tensor<3xf32>
  %g = weft.gemm %x, %x batch = 1 m = 4 n = 4 k = 4 strides = [16, 4, 1] x [16, 4, 1] -> [16, 4, 1]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %flat = weft.reshape %g : tensor<4x4xf32> -> tensor<16xf32>
  %sum = weft.reduce sum %z dims = [0] : tensor<4x16xf32> -> tensor<16xf32>
  %c = weft.concat %negated, %row, %flat, %three, %sum dim = 0
      : (tensor<16xf32>, tensor<2xf32>, tensor<16xf32>, tensor<3xf32>, tensor<16xf32>) -> tensor<53xf32>
  %r = weft.all_reduce sum %c over <@mesh, {"data"}> : tensor<53xf32>
  %0 = weft.slice %r starts = [0] limits = [16] strides = [1] : tensor<53xf32> -> tensor<16xf32>
  %1 = weft.slice %r starts = [16] limits = [18] strides = [1] : tensor<53xf32> -> tensor<2xf32>
  %2 = weft.slice %r starts = [18] limits = [34] strides = [1] : tensor<53xf32> -> tensor<16xf32>
  %3 = weft.slice %r starts = [34] limits = [37] strides = [1] : tensor<53xf32> -> tensor<3xf32>
  %4 = weft.slice %r starts = [37] limits = [53] strides = [1] : tensor<53xf32> -> tensor<16xf32>
  return %0, %1, %2, %3, %4 : tensor<16xf32>, tensor<2xf32>, tensor<16xf32>, tensor<3xf32>, tensor<16xf32>
}
weft.mesh @mesh = <["data"=2]>

// -----

// One kernel writes what is small and made for the concat alone.

// CHECK-LABEL: func.func @small
// CHECK-DAG:     %[[G:.*]] = weft.gemm
// CHECK-DAG:     %[[REST:.*]] = weft.launch @{{.*}}(%{{.*}}, %{{.*}}) {{.*}} -> tensor<32xf32>
// CHECK:         weft.concat %{{.*}}, %[[REST]] dim = 0 :
func.func @small(%x: tensor<64x64xf32>, %y: tensor<16xf32>, %z: tensor<16xf32>)
    -> (tensor<4096xf32>, tensor<16xf32>, tensor<16xf32>) {
  %g = weft.gemm %x, %x batch = 1 m = 64 n = 64 k = 64 strides = [4096, 64, 1] x [4096, 64, 1] -> [4096, 64, 1]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %flat = weft.reshape %g : tensor<64x64xf32> -> tensor<4096xf32>
  %a = arith.negf %y : tensor<16xf32>
  %b = math.tanh %z : tensor<16xf32>
  %c = weft.concat %flat, %a, %b dim = 0 : (tensor<4096xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4128xf32>
  %r = weft.all_reduce sum %c over <@mesh, {"data"}> : tensor<4128xf32>
  %0 = weft.slice %r starts = [0] limits = [4096] strides = [1] : tensor<4128xf32> -> tensor<4096xf32>
  %1 = weft.slice %r starts = [4096] limits = [4112] strides = [1] : tensor<4128xf32> -> tensor<16xf32>
  %2 = weft.slice %r starts = [4112] limits = [4128] strides = [1] : tensor<4128xf32> -> tensor<16xf32>
  return %0, %1, %2 : tensor<4096xf32>, tensor<16xf32>, tensor<16xf32>
}
weft.mesh @mesh = <["data"=2]>

// -----

// Arguments have buffers already: a kernel puts them together. Of what is
// gathered no tensor lies in one piece.

// CHECK-LABEL: func.func @gathered_arguments
// CHECK:         %[[C:.*]] = weft.launch @kernel_0(%arg0, %arg1)
// CHECK-NEXT:    %[[R:.*]] = weft.all_gather %[[C]]
// CHECK-NEXT:    weft.launch {{.*}}(%[[R]])
func.func @gathered_arguments(%x: tensor<1x16xf32>, %y: tensor<1x16xf32>)
    -> (tensor<2x16xf32>, tensor<2x16xf32>) {
  %c = weft.concat %x, %y dim = 1 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
  %r = weft.all_gather %c dim = 0 over <@mesh, {"data"}> : tensor<1x32xf32> -> tensor<2x32xf32>
  %0 = weft.slice %r starts = [0, 0] limits = [2, 16] strides = [1, 1] : tensor<2x32xf32> -> tensor<2x16xf32>
  %1 = weft.slice %r starts = [0, 16] limits = [2, 32] strides = [1, 1] : tensor<2x32xf32> -> tensor<2x16xf32>
  return %0, %1 : tensor<2x16xf32>, tensor<2x16xf32>
}
weft.mesh @mesh = <["data"=2]>

// -----

// Of a reduce-scatter the results are parts, the operands are none.

// CHECK-LABEL: func.func @scattered
// CHECK:         %[[C:.*]] = weft.launch @kernel_0(
// CHECK-NEXT:    %[[R:.*]] = weft.reduce_scatter sum %[[C]]
// CHECK-DAG:     weft.slice %[[R]] starts = [0, 0] limits = [1, 16]
// CHECK-DAG:     weft.slice %[[R]] starts = [0, 16] limits = [1, 32]
func.func @scattered(%x: tensor<2x16xf32>) -> (tensor<1x16xf32>, tensor<1x16xf32>) {
  %y = arith.negf %x : tensor<2x16xf32>
  %c = weft.concat %x, %y dim = 1 : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x32xf32>
  %r = weft.reduce_scatter sum %c dim = 0 over <@mesh, {"data"}> : tensor<2x32xf32> -> tensor<1x32xf32>
  %0 = weft.slice %r starts = [0, 0] limits = [1, 16] strides = [1, 1] : tensor<1x32xf32> -> tensor<1x16xf32>
  %1 = weft.slice %r starts = [0, 16] limits = [1, 32] strides = [1, 1] : tensor<1x32xf32> -> tensor<1x16xf32>
  return %0, %1 : tensor<1x16xf32>, tensor<1x16xf32>
}
weft.mesh @mesh = <["data"=2]>

// -----

// A tensor is a part of one collective only, and one whose result is used as a
// whole keeps the order of what it sends.

// CHECK-LABEL: func.func @used_twice
// CHECK:         %[[G:.*]] = weft.gemm
// CHECK:         %[[H:.*]] = weft.gemm
// CHECK:         weft.concat %[[G]], %[[H]] dim = 0
// CHECK:         weft.all_reduce sum
// CHECK:         %[[C:.*]] = weft.launch {{.*}}(%[[G]], %[[H]])
// CHECK:         weft.all_reduce max %[[C]]
func.func @used_twice(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>) {
  %g = weft.gemm %x, %x batch = 1 m = 4 n = 4 k = 4 strides = [16, 4, 1] x [16, 4, 1] -> [16, 4, 1]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<16xf32>
  %h = weft.gemm %x, %x batch = 1 m = 4 n = 4 k = 4 strides = [16, 1, 4] x [16, 4, 1] -> [16, 4, 1]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<16xf32>
  %c = weft.concat %g, %h dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %r = weft.all_reduce sum %c over <@mesh, {"data"}> : tensor<32xf32>
  %0 = weft.slice %r starts = [0] limits = [16] strides = [1] : tensor<32xf32> -> tensor<16xf32>
  %1 = weft.slice %r starts = [16] limits = [32] strides = [1] : tensor<32xf32> -> tensor<16xf32>
  %d = weft.concat %g, %h dim = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %s = weft.all_reduce max %d over <@mesh, {"data"}> : tensor<32xf32>
  %2 = weft.reshape %0 : tensor<16xf32> -> tensor<4x4xf32>
  %3 = weft.reshape %1 : tensor<16xf32> -> tensor<4x4xf32>
  %4 = weft.reshape %s : tensor<32xf32> -> tensor<8x4xf32>
  return %2, %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>
}
weft.mesh @mesh = <["data"=2]>

// -----

// A slice that is little of what is reduced does not hold all of it.

// CHECK-LABEL: func.func @little
// CHECK:         %[[R:.*]] = weft.all_reduce
// CHECK-NEXT:    weft.launch @kernel_0(%[[R]])
func.func @little(%x: tensor<64x16xf32>) -> tensor<1x16xf32> {
  %r = weft.all_reduce sum %x over <@mesh, {"data"}> : tensor<64x16xf32>
  %0 = weft.slice %r starts = [1, 0] limits = [2, 16] strides = [1, 1] : tensor<64x16xf32> -> tensor<1x16xf32>
  return %0 : tensor<1x16xf32>
}
weft.mesh @mesh = <["data"=2]>

// -----

// What waits for the collective does not read it.

// CHECK-LABEL: func.func @waitedFor
// CHECK:         %[[C:.*]] = weft.concat
// CHECK:         %[[R:.*]] = weft.all_reduce sum %[[C]]
// CHECK:         weft.slice %[[R]] starts = [0] limits = [4096]
func.func @waitedFor(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<4096xf32>, tensor<4096xf32>, tensor<64x64xf32>) {
  %g = weft.gemm %x, %x batch = 1 m = 64 n = 64 k = 64 strides = [4096, 64, 1] x [4096, 64, 1] -> [4096, 64, 1]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<4096xf32>
  %h = weft.gemm %x, %y batch = 1 m = 64 n = 64 k = 64 strides = [4096, 64, 1] x [4096, 64, 1] -> [4096, 64, 1]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<4096xf32>
  %c = weft.concat %g, %h dim = 0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<8192xf32>
  %r = weft.all_reduce sum %c over <@mesh, {"data"}> : tensor<8192xf32>
  %0 = weft.slice %r starts = [0] limits = [4096] strides = [1] : tensor<8192xf32> -> tensor<4096xf32>
  %1 = weft.slice %r starts = [4096] limits = [8192] strides = [1] : tensor<8192xf32> -> tensor<4096xf32>
  %late = weft.barrier %y after %r : tensor<64x64xf32> after tensor<8192xf32>
  %e = math.exp %late : tensor<64x64xf32>
  return %0, %1, %e : tensor<4096xf32>, tensor<4096xf32>, tensor<64x64xf32>
}
weft.mesh @mesh = <["data"=2]>
