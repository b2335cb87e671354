// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate | FileCheck %s --check-prefixes=CHECK,UNEVEN
// RUN: shard-opt %s --weft-propagate=allow-uneven=false | FileCheck %s --check-prefixes=CHECK,EVEN

// 6 rows do not divide by 4. Where the user split them all the same, what is
// computed from them is split alike, or by the part that divides.

weft.mesh @mesh = <["a"=4]>
// CHECK-LABEL: func.func @uneven
func.func @uneven(%x: tensor<6xf32> {weft.sharding = #weft.sharding<@mesh, [{"a"}]>})
    -> tensor<6xf32> {
  // UNEVEN: math.exp {{.*}}[{"a"}]
  // EVEN: math.exp {{.*}}[{"a":(1)2}]
  %y = math.exp %x : tensor<6xf32>
  return %y : tensor<6xf32>
}
