// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-start-collectives=overlap-collectives=false | FileCheck %s --check-prefix=APART
// RUN: shard-opt %s --weft-start-collectives=overlap-collectives=true | FileCheck %s --check-prefix=OVERLAP

weft.mesh @mesh = <["data"=2]>
func.func private @use(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {weft.kernel}

func.func @step(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  // APART: weft.start
  // APART-NEXT: weft.wait
  // APART-NEXT: weft.launch
  // OVERLAP: weft.start
  // OVERLAP-NEXT: weft.launch
  // OVERLAP-NEXT: weft.wait
  %sum = weft.all_reduce sum %x over <@mesh, {"data"}> : tensor<64x64xf32>
  %r = weft.launch @use(%y) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %sum, %r : tensor<64x64xf32>, tensor<64x64xf32>
}
