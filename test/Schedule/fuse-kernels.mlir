// RUN: shard-opt %s --weft-fuse-kernels --split-input-file | FileCheck %s

// A softmax is one kernel, and equal kernels are one function.

// CHECK-LABEL: func.func @softmax_twice
// CHECK-SAME:      (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>)
// CHECK:         %[[A:.*]] = weft.launch @kernel_0(%[[X]]) :
// CHECK:         %[[B:.*]] = weft.launch @kernel_0(%[[Y]]) :
// CHECK:         return %[[A]], %[[B]]
// CHECK-LABEL: func.func private @kernel_0
// CHECK-SAME:      attributes {weft.kernel}
// CHECK:         weft.reduce max
// CHECK:         arith.divf
// CHECK-NOT:   @kernel_1
func.func @softmax_twice(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %m = weft.reduce max %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %ms = weft.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d = arith.subf %x, %ms : tensor<4x8xf32>
  %e = math.exp %d : tensor<4x8xf32>
  %s = weft.reduce sum %e dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %ss = weft.broadcast %s dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %p = arith.divf %e, %ss : tensor<4x8xf32>

  %m1 = weft.reduce max %y dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %ms1 = weft.broadcast %m1 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %d1 = arith.subf %y, %ms1 : tensor<4x8xf32>
  %e1 = math.exp %d1 : tensor<4x8xf32>
  %s1 = weft.reduce sum %e1 dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %ss1 = weft.broadcast %s1 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %p1 = arith.divf %e1, %ss1 : tensor<4x8xf32>
  return %p, %p1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// The backward of tanh and the bias gradient share a kernel. The update of the
// bias needs the finished sum: it is in the kernel if it is all that becomes of
// the sum, which is then updated where it is stored.

// CHECK-LABEL: func.func @tanh_backward
// CHECK:         %[[K:.*]]:2 = weft.launch @kernel_0(
// CHECK:         weft.gemm %[[K]]#0
// CHECK:         return %{{.*}}, %[[K]]#1
// CHECK-LABEL: func.func private @kernel_0
// CHECK:         arith.mulf
// CHECK:         weft.reduce sum
// CHECK:         arith.subf
func.func @tanh_backward(%h: tensor<4x8xf32>, %g: tensor<4x8xf32>,
                         %w: tensor<8x8xf32>, %bias: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<8xf32>) {
  %one = arith.constant dense<1.0> : tensor<4x8xf32>
  %hh = arith.mulf %h, %h : tensor<4x8xf32>
  %t = arith.subf %one, %hh : tensor<4x8xf32>
  %dz = arith.mulf %g, %t : tensor<4x8xf32>
  %dx = weft.gemm %dz, %w batch = 1 m = 4 n = 8 k = 8
      strides = [32, 8, 1] x [64, 1, 8] -> [32, 8, 1]
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %db = weft.reduce sum %dz dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  %b = arith.subf %bias, %db : tensor<8xf32>
  return %dx, %b : tensor<4x8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @two_uses_of_a_sum
// CHECK:         %[[K:.*]]:2 = weft.launch @kernel_0(
// CHECK:         weft.launch @kernel_1(%{{.*}}, %[[K]]#1)
func.func @two_uses_of_a_sum(%h: tensor<4x8xf32>, %g: tensor<4x8xf32>,
                         %w: tensor<8x8xf32>, %bias: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %one = arith.constant dense<1.0> : tensor<4x8xf32>
  %hh = arith.mulf %h, %h : tensor<4x8xf32>
  %t = arith.subf %one, %hh : tensor<4x8xf32>
  %dz = arith.mulf %g, %t : tensor<4x8xf32>
  %dx = weft.gemm %dz, %w batch = 1 m = 4 n = 8 k = 8
      strides = [32, 8, 1] x [64, 1, 8] -> [32, 8, 1]
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %db = weft.reduce sum %dz dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  %b = arith.subf %bias, %db : tensor<8xf32>
  return %dx, %b, %db : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// The momentum term could be computed before the GEMM, but only its result's
// user needs it: one kernel after the GEMM.

// CHECK-LABEL: func.func @momentum
// CHECK-NOT:     weft.launch
// CHECK:         %[[G:.*]] = weft.gemm
// CHECK:         weft.launch @kernel_0(
// CHECK-NOT:     weft.launch
func.func @momentum(%p: tensor<8x8xf32>, %m: tensor<8x8xf32>,
                    %x: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %mu = arith.constant dense<0.9> : tensor<8x8xf32>
  %mm = arith.mulf %m, %mu : tensor<8x8xf32>
  %g = weft.gemm %x, %x batch = 1 m = 8 n = 8 k = 8
      strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %m1 = arith.addf %mm, %g : tensor<8x8xf32>
  %p1 = arith.subf %p, %m1 : tensor<8x8xf32>
  return %p1, %m1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What a collective waits for is not held up: the doubling comes after.

weft.mesh @mesh = <["data"=2]>
// CHECK-LABEL: func.func @collective
// CHECK:         %[[S:.*]] = weft.launch @kernel_0(
// CHECK-DAG:     weft.all_reduce sum %[[S]]
// CHECK-DAG:     weft.launch @kernel_1(%[[S]])
func.func @collective(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = math.tanh %x : tensor<4x8xf32>
  %r = weft.all_reduce sum %s over <@mesh, {"data"}> : tensor<4x8xf32>
  %d = arith.addf %s, %s : tensor<4x8xf32>
  return %r, %d : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// The own part of a tensor and the position itself come in as positions.

weft.mesh @mesh = <["data"=2, "model"=2]>
// CHECK-LABEL: func.func @own_part
// CHECK-NEXT:    weft.launch @kernel_0(%arg0)
// CHECK-SAME:      positions = [#weft.axes<@mesh, {"data"}>, #weft.axes<@mesh, {"model"}>]
// CHECK-NEXT:    return
// CHECK-LABEL: func.func private @kernel_0
// CHECK-SAME:      %[[D:[a-z0-9]+]]: tensor<i32> {weft.position}, %[[M:[a-z0-9]+]]: tensor<i32> {weft.position})
// CHECK:         %[[N:.*]] = tensor.extract %[[D]][]
// CHECK:         %[[I:.*]] = arith.index_cast %[[N]]
// CHECK:         %[[O:.*]] = arith.muli %[[I]], %c2
// CHECK:         tensor.extract_slice %{{.*}}[%[[O]], 0] [2, 8] [1, 1]
// CHECK:         weft.broadcast %[[M]]
func.func @own_part(%x: tensor<4x8xi32>) -> tensor<2x8xi32> {
  %s = weft.all_slice %x dim = 0 over <@mesh, {"data"}>
      : tensor<4x8xi32> -> tensor<2x8xi32>
  %p = weft.position over <@mesh, {"model"}> : tensor<i32>
  %b = weft.broadcast %p dims = [] : tensor<i32> -> tensor<2x8xi32>
  %y = arith.addi %s, %b : tensor<2x8xi32>
  return %y : tensor<2x8xi32>
}

// -----

// Reshapes between kernels and GEMMs cost nothing and stay; constants that
// are needed in memory do, too.

// CHECK-LABEL: func.func @views
// CHECK-DAG:     %[[C:.*]] = arith.constant dense<2.000000e+00>
// CHECK-DAG:     %[[R:.*]] = weft.reshape %arg0
// CHECK:         weft.gemm %[[R]], %[[C]]
// CHECK-NOT:     weft.launch
func.func @views(%x: tensor<2x2x8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant dense<2.0> : tensor<8x8xf32>
  %r = weft.reshape %x : tensor<2x2x8xf32> -> tensor<4x8xf32>
  %y = weft.gemm %r, %c batch = 1 m = 4 n = 8 k = 8
      strides = [32, 8, 1] x [64, 8, 1] -> [32, 8, 1]
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Indices are computed where they are used, though a mask uses them as well.

// CHECK-LABEL: func.func @masked_lookup
// CHECK-NEXT:    %[[R:.*]] = weft.launch @kernel_0(
// CHECK-NEXT:    return %[[R]]
func.func @masked_lookup(%t: tensor<50x8xf32>, %i: tensor<4xi32>) -> tensor<4x8xf32> {
  %first = arith.constant dense<25> : tensor<4xi32>
  %none = arith.constant dense<0.0> : tensor<4x8xf32>
  %at = arith.subi %i, %first : tensor<4xi32>
  %here = arith.cmpi ult, %at, %first : tensor<4xi32>
  %rows = weft.gather %t, %at dim = 0 : (tensor<50x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %heres = weft.broadcast %here dims = [0] : tensor<4xi1> -> tensor<4x8xi1>
  %r = arith.select %heres, %rows, %none : tensor<4x8xi1>, tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// What is added up is computed in place; who needs the sums waits for all.

// CHECK-LABEL: func.func @scatter_then_update
// CHECK:         %[[SUM:.*]] = weft.launch @kernel_0(
// CHECK-NEXT:    weft.launch @kernel_1({{.*}}%[[SUM]]
// CHECK-LABEL: func.func private @kernel_0
// CHECK:         arith.mulf
// CHECK-NEXT:    weft.scatter_add
// CHECK-NEXT:    return
// CHECK-LABEL: func.func private @kernel_1
// CHECK:         arith.subf
func.func @scatter_then_update(%w: tensor<50x8xf32>, %u: tensor<4x8xf32>,
                               %i: tensor<4xi32>) -> tensor<50x8xf32> {
  %d = arith.mulf %u, %u : tensor<4x8xf32>
  %s = weft.scatter_add %d, %i dim = 0 : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<50x8xf32>
  %n = arith.subf %w, %s : tensor<50x8xf32>
  return %n : tensor<50x8xf32>
}

// -----

// Sums of bf16 lie in memory as f32 until they are complete.

// CHECK-LABEL: func.func @scatter_bf16
// CHECK:         weft.launch @kernel_0(%{{.*}}) : (tensor<4x8xbf16>, tensor<4xi32>) -> tensor<50x8xf32>
// CHECK-NEXT:    weft.launch @kernel_1(%{{.*}}) : (tensor<50x8xf32>) -> tensor<50x8xbf16>
// CHECK:         arith.extf
// CHECK:         arith.truncf
func.func @scatter_bf16(%u: tensor<4x8xbf16>, %i: tensor<4xi32>) -> tensor<50x8xbf16> {
  %s = weft.scatter_add %u, %i dim = 0 : (tensor<4x8xbf16>, tensor<4xi32>) -> tensor<50x8xbf16>
  return %s : tensor<50x8xbf16>
}

// -----

// CHECK-LABEL: func.func @scatter_f16
// CHECK:         weft.launch @kernel_0(%{{.*}}) : (tensor<4x8xf16>, tensor<4xi32>) -> tensor<50x8xf32>
// CHECK-NEXT:    weft.launch @kernel_1(%{{.*}}) : (tensor<50x8xf32>) -> tensor<50x8xf16>
func.func @scatter_f16(%u: tensor<4x8xf16>, %i: tensor<4xi32>) -> tensor<50x8xf16> {
  %s = weft.scatter_add %u, %i dim = 0 : (tensor<4x8xf16>, tensor<4xi32>) -> tensor<50x8xf16>
  return %s : tensor<50x8xf16>
}

// -----

// A residual, its bias and the norm of the sum are one kernel: the bias is
// rounded to bf16 where it is added.

// CHECK-LABEL: func.func @residual_and_norm
// CHECK-NEXT:    weft.launch @kernel_0(%arg2, %arg0, %arg1)
// CHECK-NEXT:    return
// CHECK-LABEL: func.func private @kernel_0
// CHECK:         %[[B:.*]] = weft.broadcast %arg0 dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    arith.truncf %[[B]] : tensor<4x8xf32> to tensor<4x8xbf16>
func.func @residual_and_norm(%x: tensor<4x8xbf16>, %y: tensor<4x8xbf16>,
                             %bias: tensor<8xf32>)
    -> (tensor<4x8xbf16>, tensor<4x8xf32>) {
  %b = arith.truncf %bias : tensor<8xf32> to tensor<8xbf16>
  %bs = weft.broadcast %b dims = [1] : tensor<8xbf16> -> tensor<4x8xbf16>
  %s = arith.addf %x, %y : tensor<4x8xbf16>
  %z = arith.addf %s, %bs : tensor<4x8xbf16>
  %w = arith.extf %z : tensor<4x8xbf16> to tensor<4x8xf32>
  %m = weft.reduce max %w dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %ms = weft.broadcast %m dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %n = arith.subf %w, %ms : tensor<4x8xf32>
  return %z, %n : tensor<4x8xbf16>, tensor<4x8xf32>
}

// -----

// The halves of a rotary embedding are read in bf16 and widened one by one.

// CHECK-LABEL: func.func @halves
// CHECK:         %[[Q:.*]] = weft.gemm
// CHECK-NEXT:    %[[K:.*]] = weft.launch @kernel_0(%[[Q]])
// CHECK-NEXT:    return %[[K]]
// CHECK-LABEL: func.func private @kernel_0
// CHECK-SAME:      (%[[X:.*]]: tensor<8x8xbf16>) -> tensor<8x8xf32>
// CHECK:         %[[L:.*]] = weft.slice %[[X]] starts = [0, 0]
// CHECK-NEXT:    arith.extf %[[L]] : tensor<8x4xbf16> to tensor<8x4xf32>
// CHECK:         %[[R:.*]] = weft.slice %[[X]] starts = [0, 4]
// CHECK-NEXT:    arith.extf %[[R]] : tensor<8x4xbf16> to tensor<8x4xf32>
func.func @halves(%x: tensor<8x8xbf16>) -> tensor<8x8xf32> {
  %q = weft.gemm %x, %x batch = 1 m = 8 n = 8 k = 8
      strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %wide = arith.extf %q : tensor<8x8xbf16> to tensor<8x8xf32>
  %l = weft.slice %wide starts = [0, 0] limits = [8, 4] strides = [1, 1] : tensor<8x8xf32> -> tensor<8x4xf32>
  %r = weft.slice %wide starts = [0, 4] limits = [8, 8] strides = [1, 1] : tensor<8x8xf32> -> tensor<8x4xf32>
  %d = arith.subf %l, %r : tensor<8x4xf32>
  %s = arith.addf %l, %r : tensor<8x4xf32>
  %y = weft.concat %d, %s dim = 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// The mean of a gradient is not stored: its norm and the update divide the sum.

// CHECK-LABEL: func.func @mean
// CHECK-SAME:      (%[[X:.*]]: tensor<8x8xf32>, %[[W:.*]]: tensor<8x8xf32>)
// CHECK:         %[[SUM:.*]] = weft.gemm
// CHECK-NEXT:    %[[NORM:.*]] = weft.launch @kernel_0(%[[SUM]])
// CHECK-NEXT:    %[[GEMM:.*]] = weft.gemm
// CHECK-NEXT:    weft.launch @kernel_1(%[[SUM]], %[[GEMM]])
// CHECK-LABEL: func.func private @kernel_0
// CHECK:         arith.divf
// CHECK-LABEL: func.func private @kernel_1
// CHECK:         arith.divf
func.func @mean(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>) {
  %n = arith.constant dense<4.0> : tensor<8x8xf32>
  %sum = weft.gemm %x, %x batch = 1 m = 8 n = 8 k = 8
      strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %mean = arith.divf %sum, %n : tensor<8x8xf32>
  %squares = arith.mulf %mean, %mean : tensor<8x8xf32>
  %norm = weft.reduce sum %squares dims = [1] : tensor<8x8xf32> -> tensor<8xf32>
  %norms = weft.broadcast %norm dims = [0] : tensor<8xf32> -> tensor<8x8xf32>
  %scale = weft.gemm %norms, %w batch = 1 m = 8 n = 8 k = 8
      strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %new = arith.mulf %scale, %mean : tensor<8x8xf32>
  return %norm, %new : tensor<8xf32>, tensor<8x8xf32>
}

// -----

// What the backward pass computes again from %x waits for the cotangent, here
// a sum: for the terms of the sum, so that all is one kernel.

// CHECK-LABEL: func.func @backward_of_a_scale
// CHECK-SAME:      (%[[A:.*]]: tensor<8x8xf32>, %[[X:.*]]: tensor<8x8xf32>)
// CHECK:         %[[P:.*]] = weft.gemm %[[A]], %[[A]]
// CHECK:         %[[Q:.*]] = weft.gemm %[[P]], %[[A]]
// CHECK:         %[[AGAIN:.*]] = weft.barrier %[[X]] after %[[P]], %[[Q]]
// CHECK-NEXT:    %[[K:.*]]:2 = weft.launch @kernel_0(%[[P]], %[[Q]], %[[AGAIN]])
// CHECK-NEXT:    return %[[K]]#0, %[[K]]#1
func.func @backward_of_a_scale(%a: tensor<8x8xf32>, %x: tensor<8x8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) {
  %p = weft.gemm %a, %a batch = 1 m = 8 n = 8 k = 8
      strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = weft.gemm %p, %a batch = 1 m = 8 n = 8 k = 8
      strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %g = arith.addf %p, %q : tensor<8x8xf32>
  %bias = weft.reduce sum %g dims = [0] : tensor<8x8xf32> -> tensor<8xf32>
  %again = weft.barrier %x after %g : tensor<8x8xf32> after tensor<8x8xf32>
  %t = math.tanh %again : tensor<8x8xf32>
  %gt = arith.mulf %g, %t : tensor<8x8xf32>
  %scale = weft.reduce sum %gt dims = [0] : tensor<8x8xf32> -> tensor<8xf32>
  return %bias, %scale : tensor<8xf32>, tensor<8xf32>
}

// -----

// What is computed again after a value that a kernel has to finish first comes
// in another kernel.

// CHECK-LABEL: func.func @after_a_sum
// CHECK-NEXT:    %[[S:.*]] = weft.launch @kernel_0(%arg0)
// CHECK-NEXT:    %[[AGAIN:.*]] = weft.barrier %arg0 after %[[S]]
// CHECK-NEXT:    %[[Y:.*]] = weft.launch @kernel_1(%[[AGAIN]])
// CHECK-NEXT:    return %[[S]], %[[Y]]
func.func @after_a_sum(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %s = weft.reduce sum %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %again = weft.barrier %x after %s : tensor<4x8xf32> after tensor<4xf32>
  %y = math.tanh %again : tensor<4x8xf32>
  return %s, %y : tensor<4xf32>, tensor<4x8xf32>
}

// -----

// The norm of a gradient and the update both read it in bf16; the f32 copy
// that they work with is in nobody's memory.

// CHECK-LABEL: func.func @gradient_in_bf16
// CHECK:         %[[G:.*]] = weft.gemm
// CHECK-NEXT:    %[[N:.*]] = weft.launch @kernel_0(%[[G]]) : (tensor<8x8xbf16>) -> tensor<f32>
// CHECK-NEXT:    %[[ALL:.*]] = weft.all_reduce sum %[[N]]
// CHECK-NEXT:    weft.launch @kernel_1(%[[G]], %[[ALL]], %arg1)
// CHECK-LABEL: func.func private @kernel_1(%arg0: tensor<8x8xbf16>
// CHECK:         arith.extf
func.func @gradient_in_bf16(%x: tensor<8x8xbf16>, %w: tensor<8x8xf32>)
    -> tensor<8x8xf32> {
  %g = weft.gemm %x, %x batch = 1 m = 8 n = 8 k = 8
      strides = [64, 8, 1] x [64, 8, 1] -> [64, 8, 1]
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %wide = arith.extf %g : tensor<8x8xbf16> to tensor<8x8xf32>
  %squares = arith.mulf %wide, %wide : tensor<8x8xf32>
  %norm = weft.reduce sum %squares dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %all = weft.all_reduce sum %norm over <@mesh, {"data"}> : tensor<f32>
  %rates = weft.broadcast %all dims = [] : tensor<f32> -> tensor<8x8xf32>
  %step = arith.mulf %wide, %rates : tensor<8x8xf32>
  %new = arith.subf %w, %step : tensor<8x8xf32>
  return %new : tensor<8x8xf32>
}
weft.mesh @mesh = <["data"=2]>
