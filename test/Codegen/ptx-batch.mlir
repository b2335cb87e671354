// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-print-ptx=max-batch=3 | FileCheck %s
// RUN: not shard-opt %s --weft-print-ptx=max-batch=1366 2>&1 | FileCheck %s --check-prefix=MANY

// Parameters are a table of three times three addresses, and a position; the
// row of the block says which addresses are its own. Accesses are as wide as
// those of a single set, and what is only read comes through the read-only
// cache.
// CHECK: // shifted: 4 blocks of 256 threads, 0 bytes of shared memory, 0 bytes of workspace
// CHECK: .entry shifted(
// CHECK-NEXT: .param .align 8 .b8 shifted_param_0[72],
// CHECK-NEXT: .param .u64 shifted_param_1
// CHECK: %ctaid.y
// CHECK-COUNT-3: ld.param.b64 %rd{{[0-9]+}}, [%rd
// CHECK-NOT: ld.global.v4
// CHECK: ld.global.nc.v4.b32
// CHECK: ld.global.nc.v4.b32
// CHECK: st.global.v4.b32
// MANY: error: 'func.func' op is launched for 1366 sets of arguments at once, whose parameters take 32792 bytes; a GPU takes 32764
#map = affine_map<(i) -> (i)>
#one = affine_map<(i) -> ()>
func.func private @shifted(%a: tensor<4096xf32>, %b: tensor<4096xf32>, %at: tensor<i32> {weft.position})
    -> tensor<4096xf32> attributes {weft.kernel} {
  %e = tensor.empty() : tensor<4096xf32>
  %r = linalg.generic {indexing_maps = [#map, #map, #one, #map], iterator_types = ["parallel"]}
      ins(%a, %b, %at : tensor<4096xf32>, tensor<4096xf32>, tensor<i32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%x: f32, %y: f32, %i: i32, %out: f32):
    %f = arith.sitofp %i : i32 to f32
    %p = arith.mulf %x, %f : f32
    %s = arith.addf %p, %y : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
