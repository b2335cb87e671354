// RUN: shard-opt %s --weft-lower-kernels --split-input-file | FileCheck %s

// Element-wise ops with one use are computed inside of their consumer, and so
// are broadcasts and constants.

// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func private @bias_tanh
// CHECK-SAME:      (%[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK:         %[[Y:.*]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[ID]], #[[COLUMN]], #[[ID]]]
// CHECK-SAME:        ins(%[[X]], %[[B]]
// CHECK:           arith.addf
// CHECK:           math.tanh
// CHECK:           arith.mulf
// CHECK-NOT:     linalg.generic
// CHECK:         return %[[Y]]
func.func private @bias_tanh(%x: tensor<4x8xf32>, %b: tensor<8xf32>)
    -> tensor<4x8xf32> attributes {weft.kernel} {
  %half = arith.constant dense<0.5> : tensor<4x8xf32>
  %bs = weft.broadcast %b dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %s = arith.addf %x, %bs : tensor<4x8xf32>
  %t = math.tanh %s : tensor<4x8xf32>
  %y = arith.mulf %t, %half : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// The exponentials have two users and keep a loop of their own.

// CHECK-LABEL: func.func private @softmax
// CHECK:         %[[MAX:.*]] = linalg.generic {{.*}}["parallel", "reduction"]
// CHECK:           arith.maximumf
// CHECK:         %[[EXP:.*]] = linalg.generic {{.*}}["parallel", "parallel"]
// CHECK:           arith.subf
// CHECK:           math.exp
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}}["parallel", "reduction"]
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}}ins(%[[EXP]], %[[SUM]]
// CHECK:           arith.divf
// CHECK-NOT:     linalg.generic
func.func private @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
    attributes {weft.kernel} {
  %m = weft.reduce max %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %ms = weft.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d = arith.subf %x, %ms : tensor<4x8xf32>
  %e = math.exp %d : tensor<4x8xf32>
  %s = weft.reduce sum %e dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %ss = weft.broadcast %s dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %y = arith.divf %e, %ss : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A sum of floats is formed in f64 and rounded once.

// CHECK-LABEL: func.func private @sum_bf16
// CHECK:         %[[INIT:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf64>
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}}["reduction", "parallel"]
// CHECK-SAME:        outs(%[[INIT]] : tensor<8xf64>)
// CHECK:           arith.extf
// CHECK:           arith.addf {{.*}} : f64
// CHECK:         linalg.generic {{.*}}ins(%[[SUM]] : tensor<8xf64>)
// CHECK:           arith.truncf
func.func private @sum_bf16(%x: tensor<4x8xbf16>) -> tensor<8xbf16>
    attributes {weft.kernel} {
  %s = weft.reduce sum %x dims = [0] : tensor<4x8xbf16> -> tensor<8xbf16>
  return %s : tensor<8xbf16>
}

// -----

// And one of f16; the largest number is one of the tensor, and is not rounded.

// CHECK-LABEL: func.func private @reductions_of_f16
// CHECK-DAG:     dense<0.000000e+00> : tensor<8xf64>
// CHECK-DAG:     dense<0xFC00> : tensor<8xf16>
// CHECK:         arith.addf {{.*}} : f64
// CHECK:         arith.truncf {{.*}} : f64 to f16
// CHECK:         arith.maximumf {{.*}} : f16
func.func private @reductions_of_f16(%x: tensor<4x8xf16>)
    -> (tensor<8xf16>, tensor<8xf16>) attributes {weft.kernel} {
  %s = weft.reduce sum %x dims = [0] : tensor<4x8xf16> -> tensor<8xf16>
  %m = weft.reduce max %x dims = [0] : tensor<4x8xf16> -> tensor<8xf16>
  return %s, %m : tensor<8xf16>, tensor<8xf16>
}

// -----

// An op of two results is one loop with two.

// CHECK-LABEL: func.func private @two_results
// CHECK:         %[[BOTH:.*]]:2 = linalg.generic
// CHECK:           %[[LOW:.*]], %[[HIGH:.*]] = arith.mului_extended
// CHECK:           linalg.yield %[[LOW]], %[[HIGH]] : i32, i32
// CHECK:         return %[[BOTH]]#0, %[[BOTH]]#1
func.func private @two_results(%x: tensor<4xi32>)
    -> (tensor<4xi32>, tensor<4xi32>) attributes {weft.kernel} {
  %low, %high = arith.mului_extended %x, %x : tensor<4xi32>
  return %low, %high : tensor<4xi32>, tensor<4xi32>
}

// -----

// CHECK-LABEL: func.func private @max_of_integers
// CHECK-DAG:     dense<-2147483648> : tensor<4xi32>
// CHECK-DAG:     dense<false> : tensor<4xi1>
// CHECK:         arith.maxsi
// CHECK:         arith.ori
func.func private @max_of_integers(%x: tensor<4x8xi32>, %p: tensor<4x8xi1>)
    -> (tensor<4xi32>, tensor<4xi1>) attributes {weft.kernel} {
  %m = weft.reduce max %x dims = [1] : tensor<4x8xi32> -> tensor<4xi32>
  %a = weft.reduce max %p dims = [1] : tensor<4x8xi1> -> tensor<4xi1>
  return %m, %a : tensor<4xi32>, tensor<4xi1>
}

// -----

// Movement: maps for broadcasts and transposes, tensor ops for the rest.

// CHECK-DAG: #[[FLIP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[ONE:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: func.func private @movement
// CHECK:         linalg.generic {indexing_maps = [#[[FLIP]],
// CHECK:         tensor.extract_slice %{{.*}}[0, 2] [4, 3] [1, 2]
// CHECK:         tensor.concat dim(1)
// CHECK:         linalg.generic {indexing_maps = [#[[ONE]],
// CHECK:         linalg.index 1
// CHECK:         tensor.collapse_shape {{.*}} {{\[}}[0, 1], [2, 3]]
// CHECK:         tensor.expand_shape {{.*}} {{\[}}[0], [1, 2]]
func.func private @movement(%x: tensor<8x4xf32>, %c: tensor<4x1xf32>,
                            %w: tensor<2x3x4x2xf32>)
    -> (tensor<4x11xf32>, tensor<4x8xf32>, tensor<4x8xi32>, tensor<6x2x4xf32>)
    attributes {weft.kernel} {
  %t = weft.transpose %x dims = [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %s = weft.slice %t starts = [0, 2] limits = [4, 8] strides = [1, 2]
      : tensor<4x8xf32> -> tensor<4x3xf32>
  %k = weft.concat %t, %s dim = 1
      : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x11xf32>
  %b = weft.broadcast %c dims = [0, 1] : tensor<4x1xf32> -> tensor<4x8xf32>
  %i = weft.iota dim = 1 : tensor<4x8xi32>
  %r = weft.reshape %w : tensor<2x3x4x2xf32> -> tensor<6x2x4xf32>
  return %k, %b, %i, %r
      : tensor<4x11xf32>, tensor<4x8xf32>, tensor<4x8xi32>, tensor<6x2x4xf32>
}

// -----

// Entries are left alone.

// CHECK-LABEL: func.func @entry
// CHECK:         weft.transpose
func.func @entry(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %t = weft.transpose %x dims = [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}

// -----

// A gather is a loop that looks elements up, at clamped indices.

// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func private @embedding
// CHECK-SAME:      (%[[T:.*]]: tensor<50x8xf32>, %[[I:.*]]: tensor<4x3xi32>)
// CHECK:         linalg.generic {indexing_maps = [#[[ROWS]],
// CHECK-SAME:        ins(%[[I]]
// CHECK-DAG:       %[[LOW:.*]] = arith.maxsi
// CHECK-DAG:       %[[IN:.*]] = arith.minsi %[[LOW]], %{{.*}} : i32
// CHECK-DAG:       %[[ROW:.*]] = arith.index_cast %[[IN]]
// CHECK-DAG:       %[[COLUMN:.*]] = linalg.index 2
// CHECK:           tensor.extract %[[T]][%[[ROW]], %[[COLUMN]]]
// CHECK:           arith.negf
// CHECK-NOT:     linalg.generic
func.func private @embedding(%t: tensor<50x8xf32>, %i: tensor<4x3xi32>)
    -> tensor<4x3x8xf32> attributes {weft.kernel} {
  %r = weft.gather %t, %i dim = 0
      : (tensor<50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  %n = arith.negf %r : tensor<4x3x8xf32>
  return %n : tensor<4x3x8xf32>
}

// -----

// Padding before and behind is concatenated; between elements it is chosen
// element by element.

// CHECK-LABEL: func.func private @pads
// CHECK-DAG:     %[[BEFORE:.*]] = arith.constant dense<1.000000e+00> : tensor<4x1xf32>
// CHECK-DAG:     %[[BEHIND:.*]] = arith.constant dense<1.000000e+00> : tensor<4x2xf32>
// CHECK:         %[[Y:.*]] = tensor.concat dim(1) %[[BEFORE]], %{{.*}}, %[[BEHIND]] :
// CHECK:         %[[Z:.*]] = linalg.generic
// CHECK:           arith.remui
// CHECK:           arith.divui
// CHECK:           tensor.extract
// CHECK:           arith.select
// CHECK:         return %[[Y]], %[[Z]]
func.func private @pads(%x: tensor<4x8xf32>) -> (tensor<4x11xf32>, tensor<10x8xf32>)
    attributes {weft.kernel} {
  %y = weft.pad %x low = [0, 1] high = [0, 2] interior = [0, 0] value = 1.0 : f32
      : tensor<4x8xf32> -> tensor<4x11xf32>
  %z = weft.pad %x low = [0, 0] high = [0, 0] interior = [2, 0] value = 1.0 : f32
      : tensor<4x8xf32> -> tensor<10x8xf32>
  return %y, %z : tensor<4x11xf32>, tensor<10x8xf32>
}

// -----

// Code generation knows scatter_add.

// CHECK-LABEL: func.func private @embedding_gradient
// CHECK:         %[[U:.*]] = linalg.generic
// CHECK:         weft.scatter_add %[[U]]
func.func private @embedding_gradient(%u: tensor<4x3x8xf32>, %i: tensor<4x3xi32>)
    -> tensor<50x8xf32> attributes {weft.kernel} {
  %n = arith.negf %u : tensor<4x3x8xf32>
  %s = weft.scatter_add %n, %i dim = 0
      : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<50x8xf32>
  return %s : tensor<50x8xf32>
}

// -----

// The rounds of random numbers, each of which needs the two values of the round
// before, become one loop however many they are.

// CHECK-LABEL: func.func private @rounds
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func private @rounds() -> tensor<4xi32> attributes {weft.kernel} {
  %i = weft.iota dim = 0 : tensor<4xi64>
  %a0 = arith.trunci %i : tensor<4xi64> to tensor<4xi32>
  %b0 = arith.trunci %i : tensor<4xi64> to tensor<4xi32>
  %a1 = arith.xori %a0, %b0 : tensor<4xi32>
  %b1 = arith.addi %a0, %a1 : tensor<4xi32>
  %a2 = arith.xori %b1, %a1 : tensor<4xi32>
  %b2 = arith.addi %b1, %a2 : tensor<4xi32>
  %a3 = arith.xori %b2, %a2 : tensor<4xi32>
  %b3 = arith.addi %b2, %a3 : tensor<4xi32>
  %a4 = arith.xori %b3, %a3 : tensor<4xi32>
  %b4 = arith.addi %b3, %a4 : tensor<4xi32>
  %a5 = arith.xori %b4, %a4 : tensor<4xi32>
  return %a5 : tensor<4xi32>
}
