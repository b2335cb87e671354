// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Of collectives over several axes, what is exposed is told apart: "tanh" needs
// that over "model", and the one over "data" hides behind it.

// RUN: shard-compile %s --cluster=%S/../Partition/Inputs/uniform.toml --target=none --explain=schedule -o %t.plan | FileCheck %s

// CHECK: step: {{.*}} 2 collectives, {{[0-9.]+}} us, exposed [[EXPOSED:[0-9.]+ us]]
// CHECK-NEXT: over {"model"}: 1 collective, {{[0-9.]+}} us, exposed [[EXPOSED]] (by themselves [[EXPOSED]], in any order at least [[EXPOSED]])
// CHECK-NEXT: over {"data"}: 1 collective, {{[0-9.]+}} us, exposed 0.0 us (by themselves 0.0 us, in any order at least 0.0 us)
weft.mesh @mesh = <["data"=2, "model"=2]>
func.func @step(%x: tensor<512x8192xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"model"}]>},
                %w: tensor<8192x8192xf32> {weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>},
                %s: tensor<2x128x128xf32> {weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>})
    -> (tensor<512x8192xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
        tensor<128x128xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {}]>}) {
  %a = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<512x8192xf32>, tensor<8192x8192xf32>) -> tensor<512x8192xf32>
  %b = math.tanh %a : tensor<512x8192xf32>
  %r = weft.reduce sum %s dims = [0] : tensor<2x128x128xf32> -> tensor<128x128xf32>
  return %b, %r : tensor<512x8192xf32>, tensor<128x128xf32>
}
