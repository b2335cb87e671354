// RUN: shard-opt %s --weft-hoist-casts | FileCheck %s

weft.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @casts
// CHECK-DAG: %[[CAST:.*]] = arith.truncf %arg0
// CHECK-DAG: %[[USE:.*]] = weft.microbatch_use %[[CAST]]
// CHECK-DAG: weft.constraint %[[USE]] {{.*}}xbf16>
// CHECK-DAG: weft.barrier %[[USE]] after {{.*}}xbf16>
// CHECK-NOT: arith.truncf
// CHECK: weft.microbatch_sum
func.func @casts(%w: tensor<4x8xf32>, %x: tensor<2x3x4xbf16>) -> tensor<3x8xbf16> {
  %u = weft.microbatch_use %w of <"step", 2> : tensor<4x8xf32>
  %xi = weft.microbatch_slice %x dim = 0 of <"step", 2> : tensor<2x3x4xbf16> -> tensor<3x4xbf16>
  %c = weft.constraint %u <@mesh, [{}, {"x"}]> : tensor<4x8xf32>
  %a = arith.truncf %c : tensor<4x8xf32> to tensor<4x8xbf16>
  %y = weft.dot_general %xi, %a contracting = [1] x [0] : (tensor<3x4xbf16>, tensor<4x8xbf16>) -> tensor<3x8xbf16>
  %b = weft.barrier %u after %y : tensor<4x8xf32> after tensor<3x8xbf16>
  %d = arith.truncf %b : tensor<4x8xf32> to tensor<4x8xbf16>
  %z = weft.dot_general %xi, %d contracting = [1] x [0] : (tensor<3x4xbf16>, tensor<4x8xbf16>) -> tensor<3x8xbf16>
  %t = arith.addf %y, %z : tensor<3x8xbf16>
  %s = weft.microbatch_sum %t of <"step", 2> : tensor<3x8xbf16>
  return %s : tensor<3x8xbf16>
}

// Casts of what differs, to wider types, and that no product takes, stay.
// CHECK-LABEL: func @others
// CHECK: weft.microbatch_slice
// CHECK: arith.truncf
// CHECK: weft.microbatch_use %arg1
// CHECK: arith.extf
// CHECK: %[[BIAS:.*]] = weft.microbatch_use %arg2
// CHECK: arith.truncf %[[BIAS]]
func.func @others(%x: tensor<2x3xf32>, %w: tensor<3xbf16>, %bias: tensor<3xf32>) -> (tensor<2x3xbf16>, tensor<2x3xf32>) {
  %xi = weft.microbatch_slice %x dim = 0 of <"step", 2> : tensor<2x3xf32> -> tensor<3xf32>
  %a = arith.truncf %xi : tensor<3xf32> to tensor<3xbf16>
  %u = weft.microbatch_use %w of <"step", 2> : tensor<3xbf16>
  %b = arith.extf %u : tensor<3xbf16> to tensor<3xf32>
  %v = weft.microbatch_use %bias of <"step", 2> : tensor<3xf32>
  %c = arith.truncf %v : tensor<3xf32> to tensor<3xbf16>
  %d = arith.addf %a, %c : tensor<3xbf16>
  %p = weft.microbatch_stack %d dim = 0 of <"step", 2> : tensor<3xbf16> -> tensor<2x3xbf16>
  %q = weft.microbatch_stack %b dim = 0 of <"step", 2> : tensor<3xf32> -> tensor<2x3xf32>
  return %p, %q : tensor<2x3xbf16>, tensor<2x3xf32>
}

// A parameter that a constraint moves once is cast once, also for what is
// recomputed: the barrier takes the cast. One that is moved behind the barrier,
// each time, is cast there.
// CHECK-LABEL: func @recomputed
// CHECK: %[[MOVED:.*]] = weft.constraint %arg0
// CHECK: %[[CAST:.*]] = arith.truncf %[[MOVED]]
// CHECK: weft.barrier %[[CAST]] after {{.*}}xbf16>
// CHECK: %[[LATER:.*]] = weft.barrier %arg1
// CHECK: weft.constraint %[[LATER]] {{.*}}xf32>
// CHECK: arith.truncf
// CHECK-NOT: arith.truncf
func.func @recomputed(%w: tensor<4x8xf32>, %v: tensor<4x8xf32>, %x: tensor<3x4xbf16>) -> (tensor<3x8xbf16>, tensor<3x8xbf16>) {
  %c = weft.constraint %w <@mesh, [{}, {}]> : tensor<4x8xf32>
  %b = weft.barrier %c after %x : tensor<4x8xf32> after tensor<3x4xbf16>
  %a = arith.truncf %b : tensor<4x8xf32> to tensor<4x8xbf16>
  %y = weft.dot_general %x, %a contracting = [1] x [0] : (tensor<3x4xbf16>, tensor<4x8xbf16>) -> tensor<3x8xbf16>
  %bv = weft.barrier %v after %x : tensor<4x8xf32> after tensor<3x4xbf16>
  %cv = weft.constraint %bv <@mesh, [{}, {}]> : tensor<4x8xf32>
  %av = arith.truncf %cv : tensor<4x8xf32> to tensor<4x8xbf16>
  %z = weft.dot_general %x, %av contracting = [1] x [0] : (tensor<3x4xbf16>, tensor<4x8xbf16>) -> tensor<3x8xbf16>
  return %y, %z : tensor<3x8xbf16>, tensor<3x8xbf16>
}
