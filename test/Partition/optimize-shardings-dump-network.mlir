// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-optimize-shardings=dump-network=- -o /dev/null | FileCheck %s
// RUN: not shard-opt %s --weft-propagate --weft-optimize-shardings=dump-network=%t.missing/network.json 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK: {"functions":[{"assignment":[{{[0-9]+}}],"cost":{{[0-9]+}},"exclusions":[],"factors":[{"scope":[0],"table":0}
// CHECK-SAME: "fixedCost":0
// CHECK-SAME: "foundCarriedOut":{{[0-9]+}},"isOptimal":true,"name":"exp","sizes":[{{[0-9]+}}],"startCarriedOut":{{[0-9]+}},"tables":[

// The sum is not kept whole to be sliced by both of its users.
// CHECK-SAME: {{"exclusions":\[\[{"values":\[[0-9]+\],"variable":3},{"values":\[[0-9]+\],"variable":0},{"values":\[[0-9]+\],"variable":1},{"values":\[[0-9]+\],"variable":2}\]}}
// CHECK-SAME: "name":"sums"

// ERROR: error: cannot write the network of choices to "{{.*}}network.json": No such file or directory

weft.mesh @mesh = <["x"=2]>

func.func @exp(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func @sums(%x: tensor<4x4xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}, tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) {
  %s = weft.reduce sum %x dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %a = math.exp %s : tensor<4xf32>
  %b = math.tanh %s : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
