// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-propagate --weft-optimize-shardings=dump-network=- -o /dev/null | FileCheck %s
// RUN: not shard-opt %s --weft-propagate --weft-optimize-shardings=dump-network=%t.missing/network.json 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK: {"functions":[{"assignment":[{{[0-9]+}}],"cost":{{[0-9]+}},"factors":[{"scope":[0],"table":0}
// CHECK-SAME: "fixedCost":0
// CHECK-SAME: "foundCarriedOut":{{[0-9]+}},"isOptimal":true,"name":"exp","sizes":[{{[0-9]+}}],"startCarriedOut":{{[0-9]+}},"tables":[

// ERROR: error: cannot write the network of choices to "{{.*}}network.json": No such file or directory

weft.mesh @mesh = <["x"=2]>

func.func @exp(%x: tensor<4xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
