// Kernels and their order are made with and without recomputation.
// RUN: shard-opt %s --weft-choose-recomputation --split-input-file | FileCheck %s
// RUN: shard-opt %s --weft-choose-recomputation=memory-limit=1 --split-input-file | FileCheck %s --check-prefix=LIMIT
// RUN: not shard-opt %s --weft-choose-recomputation=cluster=nowhere --split-input-file 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: nowhere

// One layer: h = x * tanh(x) of x = a w. The derivative reads x, tanh(x), and the
// gradient of v the product. Only x is kept, and less is written and read.
// CHECK-LABEL: func @layer
// CHECK-SAME:    weft.recomputation
// CHECK:         %[[X:.*]] = weft.gemm %arg0, %arg1
// CHECK:         %[[H:.*]] = weft.launch @{{.*}}(%[[X]]) {{.*}} -> tensor<1024x512xf32>
// CHECK:         weft.gemm %[[H]], %arg2
// CHECK-NOT:     weft.barrier
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

// A kernel that sums up rows and columns cannot compute %e for each row. So it
// takes another one to recompute it: only the larger product is, but above a limit.
// CHECK-LABEL: func @split
// CHECK-SAME:    weft.recomputation = {ops = 2
// CHECK:         %[[DH:.*]] = weft.gemm {{.*}}[262144, 1, 512]
// CHECK-NEXT:    weft.launch
// CHECK-NOT:     weft.launch
// CHECK:         return
// LIMIT-LABEL: func @split
// LIMIT-SAME:    weft.recomputation = {ops = 3
// LIMIT:         weft.gemm {{.*}}[262144, 1, 512]
// LIMIT-COUNT-2: weft.launch
// LIMIT:         return
func.func @split(%a: tensor<1024x512xf32>, %w: tensor<512x512xf32>,
                 %v: tensor<512x512xf32>)
    -> (tensor<512x512xf32>, tensor<8xf32>, tensor<8x128xf32>) {
  %x = weft.gemm %a, %w batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<8x128x512xf32>
  %r = weft.reduce max %x dims = [2] : tensor<8x128x512xf32> -> tensor<8x128xf32>
  %e = math.exp %r : tensor<8x128xf32>
  %b = weft.broadcast %e dims = [0, 1] : tensor<8x128xf32> -> tensor<8x128x512xf32>
  %h = arith.mulf %x, %b : tensor<8x128x512xf32>
  %y = weft.gemm %h, %v batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 512, 1] -> [524288, 512, 1] : (tensor<8x128x512xf32>, tensor<512x512xf32>) -> tensor<8x128x512xf32>
  %dh = weft.gemm %y, %v batch = 1 m = 1024 n = 512 k = 512 strides = [524288, 512, 1] x [262144, 1, 512] -> [524288, 512, 1] : (tensor<8x128x512xf32>, tensor<512x512xf32>) -> tensor<8x128x512xf32>
  %k = arith.mulf %h, %dh : tensor<8x128x512xf32>
  %s = weft.reduce sum %k dims = [1, 2] : tensor<8x128x512xf32> -> tensor<8xf32>
  %dx = arith.mulf %x, %dh : tensor<8x128x512xf32>
  %dw = weft.gemm %a, %dx batch = 1 m = 512 n = 512 k = 1024 strides = [524288, 1, 512] x [524288, 512, 1] -> [262144, 512, 1] : (tensor<1024x512xf32>, tensor<8x128x512xf32>) -> tensor<512x512xf32>
  return %dw, %s, %r : tensor<512x512xf32>, tensor<8xf32>, tensor<8x128xf32>
}

// -----

// Nothing is, where %e is large as well and what is spared is little of what is
// held.
// CHECK-LABEL: func @kept
// CHECK-NOT:     weft.recomputation
// CHECK:         return
// LIMIT-LABEL: func @kept
// LIMIT-SAME:    weft.recomputation
func.func @kept(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>,
                %v: tensor<1024x1024xf32>, %held: tensor<2097152xf32>)
    -> (tensor<1024x1024xf32>, tensor<8xf32>, tensor<8x65536xf32>) {
  %x = weft.gemm %a, %w batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %r = weft.reduce max %x dims = [2] : tensor<8x65536x2xf32> -> tensor<8x65536xf32>
  %e = math.exp %r : tensor<8x65536xf32>
  %b = weft.broadcast %e dims = [0, 1] : tensor<8x65536xf32> -> tensor<8x65536x2xf32>
  %h = arith.mulf %x, %b : tensor<8x65536x2xf32>
  %y = weft.gemm %h, %v batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<8x65536x2xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %dh = weft.gemm %y, %v batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1, 1024] -> [1048576, 1024, 1] : (tensor<8x65536x2xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %k = arith.mulf %h, %dh : tensor<8x65536x2xf32>
  %s = weft.reduce sum %k dims = [1, 2] : tensor<8x65536x2xf32> -> tensor<8xf32>
  %dx = arith.mulf %x, %dh : tensor<8x65536x2xf32>
  %dw = weft.gemm %a, %dx batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1, 1024] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<1024x1024xf32>, tensor<8x65536x2xf32>) -> tensor<1024x1024xf32>
  return %dw, %s, %r : tensor<1024x1024xf32>, tensor<8xf32>, tensor<8x65536xf32>
}

// -----

// It is worth the time where little is held beside it, and more is computed.
// CHECK-LABEL: func @worth
// CHECK-SAME:    weft.recomputation
func.func @worth(%a: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>,
                 %v: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<8xf32>, tensor<8x65536xf32>) {
  %x = weft.gemm %a, %w batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %r = weft.reduce max %x dims = [2] : tensor<8x65536x2xf32> -> tensor<8x65536xf32>
  %e = math.exp %r : tensor<8x65536xf32>
  %b = weft.broadcast %e dims = [0, 1] : tensor<8x65536xf32> -> tensor<8x65536x2xf32>
  %h = arith.mulf %x, %b : tensor<8x65536x2xf32>
  %y = weft.gemm %h, %v batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<8x65536x2xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %y0 = weft.gemm %y, %v batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<8x65536x2xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %y1 = weft.gemm %y0, %v batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<8x65536x2xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %y2 = weft.gemm %y1, %v batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<8x65536x2xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %y3 = weft.gemm %y2, %v batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<8x65536x2xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %dh = weft.gemm %y3, %v batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1024, 1] x [1048576, 1, 1024] -> [1048576, 1024, 1] : (tensor<8x65536x2xf32>, tensor<1024x1024xf32>) -> tensor<8x65536x2xf32>
  %k = arith.mulf %h, %dh : tensor<8x65536x2xf32>
  %s = weft.reduce sum %k dims = [1, 2] : tensor<8x65536x2xf32> -> tensor<8xf32>
  %dx = arith.mulf %x, %dh : tensor<8x65536x2xf32>
  %dw = weft.gemm %a, %dx batch = 1 m = 1024 n = 1024 k = 1024 strides = [1048576, 1, 1024] x [1048576, 1024, 1] -> [1048576, 1024, 1] : (tensor<1024x1024xf32>, tensor<8x65536x2xf32>) -> tensor<1024x1024xf32>
  return %dw, %s, %r : tensor<1024x1024xf32>, tensor<8xf32>, tensor<8x65536xf32>
}
