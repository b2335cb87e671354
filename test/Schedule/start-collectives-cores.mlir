// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Between threads that have no core to spare, communication takes the time of
// computation: it is waited for at once. With spare cores, or where other
// hardware moves the data, the launch runs beside it.

// RUN: shard-opt %s --weft-start-collectives=cluster=cpu-2core | FileCheck %s --check-prefix=TURNS
// RUN: sed 's/^devices = 2/devices = 4/' %source/clusters/cpu-2core.toml > %t.cores.toml
// RUN: shard-opt %s --weft-start-collectives=cluster=%t.cores.toml | FileCheck %s --check-prefix=BESIDE
// RUN: sed 's/^collective_cores = 1/collective_cores = 0/' %source/clusters/cpu-2core.toml > %t.offloaded.toml
// RUN: shard-opt %s --weft-start-collectives=cluster=%t.offloaded.toml | FileCheck %s --check-prefix=BESIDE

weft.mesh @mesh = <["data"=2]>
func.func private @use(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {weft.kernel}

func.func @step(%x: tensor<1024x1024xf32>, %y: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  // TURNS: weft.start
  // TURNS-NEXT: weft.wait
  // TURNS-NEXT: weft.launch
  // BESIDE: weft.start
  // BESIDE-NEXT: weft.launch
  // BESIDE-NEXT: weft.wait
  %sum = weft.all_reduce sum %x over <@mesh, {"data"}> : tensor<1024x1024xf32>
  %r = weft.launch @use(%y) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %sum, %r : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
