// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --target=none --explain=collectives -o %t.plan | FileCheck %s

// A text without locations is without explanations as well; one with locations
// is compiled to a plan that has them.
// RUN: shard-compile %s --emit=sharded | FileCheck %s --check-prefix=PLAIN
// RUN: shard-compile %s --emit=spmd | FileCheck %s --check-prefix=PLAIN
// RUN: shard-compile %s --emit=sharded --mlir-print-debuginfo -o %t.sharded
// RUN: FileCheck %s --check-prefix=SHARDED --input-file=%t.sharded
// RUN: shard-compile %t.sharded --target=none --explain=collectives -o %t.again.plan | FileCheck %s
// PLAIN-NOT: weft.provenance
// PLAIN-NOT: weft.reasons
// SHARDED: weft.provenance = {annotation =

// CHECK: why entry step communicates
// CHECK-NEXT: all_reduce over data, 1 x
// CHECK-NEXT:   partial sums over {"data"} of weft.dot_general (shard-compile-explain.mlir:[[#]]), needed as [{}, {}] by result "y"
// CHECK-NEXT:     held: weft.dot_general (shard-compile-explain.mlir:[[#]]), which adds up what is split over {"data"}: "x" (argument 0) annotated as [{}, {"data"}] (shard-compile-explain.mlir:[[#]])
// CHECK-NEXT:     needed added up over {"data"}: result "y" annotated as [{}, {}] (shard-compile-explain.mlir:[[#]])
// CHECK-NEXT:   alternatives
// CHECK-NEXT:     as it is: {{.*}} KiB, {{.*}} us
// CHECK-NEXT:     taken as [{"data"}, {}]: {{.*}} KiB, {{.*}} us
// CHECK-NEXT:   edit: annotate result "y" as [{"data"}, {}], which only scatters the sums
weft.mesh @mesh = <["data"=2]>
func.func @step(%x: tensor<64x128xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{}, {"data"}]>},
                %w: tensor<128x64xf32> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<64x64xf32> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
