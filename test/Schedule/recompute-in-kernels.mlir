// What a backward pass needs is recomputed by the kernels that use it, from
// what takes fewer bytes to keep.
// RUN: shard-opt %s --weft-recompute-in-kernels --split-input-file | FileCheck %s
// RUN: not shard-opt %s --weft-recompute-in-kernels=cluster=nowhere --split-input-file 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: nowhere

// One layer: h = x * tanh(x) of x = a w. The derivative reads x, tanh(x), and the
// gradient of v the product. Only x is kept.
// CHECK-LABEL: func @layer
// CHECK-SAME:    weft.recomputation = {ops = 2 : i64, spared_bytes = 2097152 : i64}
// CHECK:         %[[X:.*]] = weft.gemm %arg0, %arg1
// CHECK:         %[[H:.*]] = arith.mulf
// CHECK:         %[[Y:.*]] = weft.gemm %[[H]], %arg2
// CHECK:         %[[DH:.*]] = weft.gemm %[[Y]], %arg2
// CHECK-NEXT:    %[[LATER:.*]] = weft.barrier %[[X]] after %[[DH]]
// CHECK-NEXT:    %[[TANH:.*]] = math.tanh %[[LATER]] {weft.origin = #weft.origin<recomputed = true>}
// CHECK-NEXT:    %[[AGAIN:.*]] = arith.mulf %[[LATER]], %[[TANH]] {weft.origin = #weft.origin<recomputed = true>}
// CHECK:         weft.gemm %[[AGAIN]], %[[Y]]
// CHECK:         arith.mulf %[[DH]], %[[TANH]]
func.func @layer(%a: tensor<1024x512xf32>, %w: tensor<512x512xf32>,
                 %v: tensor<512x512xf32>)
    -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %x = weft.gemm %a, %w batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %t = math.tanh %x : tensor<1024x512xf32>
  %h = arith.mulf %x, %t : tensor<1024x512xf32>
  %y = weft.gemm %h, %v batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %dv = weft.gemm %h, %y batch = 1 m = 512 n = 512 k = 1024 strides = [524288, 1, 512] x [524288, 512, 1] -> [262144, 512, 1] : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<512x512xf32>
  %dh = weft.gemm %y, %v batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 1, 512] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %dx = arith.mulf %dh, %t : tensor<1024x512xf32>
  %dw = weft.gemm %a, %dx batch = 1 m = 512 n = 512 k = 1024 strides = [524288, 1, 512] x [524288, 512, 1] -> [262144, 512, 1] : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<512x512xf32>
  return %dw, %dv : tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// Nothing is recomputed where nothing is saved: %t is all that is kept.
// CHECK-LABEL: func @minimal
// CHECK-NOT:     weft.barrier
// CHECK:         return
func.func @minimal(%a: tensor<64x64xf32>, %w: tensor<64x64xf32>)
    -> tensor<64x64xf32> {
  %x = weft.gemm %a, %w batch = 1 m = 64 n = 64 k = 64 strides = [4096, 64, 1] x [4096, 64, 1] -> [4096, 64, 1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = math.tanh %x : tensor<64x64xf32>
  %y = weft.gemm %t, %w batch = 1 m = 64 n = 64 k = 64 strides = [4096, 64, 1] x [4096, 64, 1] -> [4096, 64, 1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = arith.mulf %y, %t : tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// A GEMM that takes what could be recomputed waits for no kernel that uses its
// result, though that reads the same.
// CHECK-LABEL: func @square
// CHECK-NOT:     weft.barrier
// CHECK:         return
func.func @square(%a: tensor<512x512xf32>, %w: tensor<512x512xf32>,
                  %v: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %x = weft.gemm %a, %w batch = 1 m = 512 n = 512 k = 512 strides = [262144, 512, 1] x [262144, 512, 1] -> [262144, 512, 1] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t = math.tanh %x : tensor<512x512xf32>
  %h = arith.mulf %x, %t : tensor<512x512xf32>
  %y = weft.gemm %h, %v batch = 1 m = 512 n = 512 k = 512 strides = [262144, 512, 1] x [262144, 512, 1] -> [262144, 512, 1] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %s = weft.gemm %h, %y batch = 1 m = 512 n = 512 k = 512 strides = [262144, 512, 1] x [262144, 512, 1] -> [262144, 512, 1] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %dx = arith.mulf %s, %t : tensor<512x512xf32>
  return %dx : tensor<512x512xf32>
}
