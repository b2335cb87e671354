// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --emit=graph | FileCheck %s --check-prefix=GRAPH
// RUN: shard-compile %s --emit=sharded | FileCheck %s --check-prefix=SHARDED
// RUN: shard-compile %s --emit=spmd | FileCheck %s --check-prefix=SPMD
// RUN: shard-compile %s --emit=schedule -o %t.mlir
// RUN: FileCheck %s --check-prefix=SCHEDULE --input-file=%t.mlir
// RUN: shard-compile %s --emit=schedule --overlap-collectives=false | FileCheck %s --check-prefix=APART
// RUN: shard-compile %s --emit=spmd --mesh "data=4" | FileCheck %s --check-prefix=MESH
// RUN: shard-compile %s --emit=plan -o %t.plan --target=cpu:x86-64-v3
// RUN: shard-run %t.plan --dump | FileCheck %s --check-prefix=TARGET

// The same through the pipelines of shard-opt.
// RUN: shard-opt %s --weft-pipeline=stop-after=spmd | FileCheck %s --check-prefix=SPMD
// RUN: shard-opt %s --weft-pipeline | FileCheck %s --check-prefix=SCHEDULE
// RUN: shard-opt %s --weft-pipeline=overlap-collectives=false | FileCheck %s --check-prefix=APART
// RUN: shard-opt %s --weft-propagate-pipeline --weft-partition-pipeline | FileCheck %s --check-prefix=SPMD
// RUN: shard-opt %s --weft-pipeline=stop-after=spmd | shard-opt --weft-schedule-pipeline=overlap-collectives=false | FileCheck %s --check-prefix=APART

weft.mesh @mesh = <["data"=2, "model"=1]>
func.func @f(%x: tensor<8x4xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
             %w: tensor<4x4xf32>)
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{}]>}, tensor<4x4xf32>) {
  %s = weft.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %v = weft.dot_general %w, %w contracting = [1] x [0]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s, %v : tensor<4xf32>, tensor<4x4xf32>
}

// GRAPH: weft.reduce sum %{{.*}} dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
// SHARDED: weft.reduce sum {{.*}} {weft.shardings = {{.*}}} : tensor<8x4xf32> -> tensor<4xf32>
// SPMD: weft.reduce sum {{.*}} : tensor<4x4xf32> -> tensor<4xf32>
// SPMD: weft.all_reduce
// SCHEDULE: weft.launch
// SCHEDULE: weft.start all_reduce
// SCHEDULE: weft.gemm
// SCHEDULE: weft.wait
// APART: weft.start all_reduce
// APART-NEXT: weft.wait
// MESH: weft.mesh @mesh = <["data"=4, "model"=1]>
// MESH: weft.reduce sum {{.*}} : tensor<2x4xf32> -> tensor<4xf32>
// TARGET: target cpu x86-64-v3 features [avx, avx2,
// TARGET-SAME: ssse3]
