// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --emit=spmd --combine-collectives=false | FileCheck %s --check-prefix=NARROW
// RUN: shard-compile %s --emit=spmd --combine-collectives=false --reduce-dtype=float32 | FileCheck %s --check-prefix=WIDE
// RUN: shard-opt %s --weft-pipeline="stop-after=spmd combine-collectives=false reduce-dtype=float32" | FileCheck %s --check-prefix=WIDE
// RUN: shard-compile %s --emit=graph | shard-compile - --emit=spmd --combine-collectives=false --reduce-dtype=float32 | FileCheck %s --check-prefix=WIDE
// RUN: shard-compile %s --emit=graph | shard-opt --strip-debuginfo | shard-compile - --emit=spmd --combine-collectives=false --reduce-dtype=float32 | FileCheck %s --check-prefix=WIDE
// RUN: shard-compile %s --combine-collectives=false --reduce-dtype=float32 -o %t.plan | FileCheck %s --check-prefix=REPORT

// The gradient is reduced in f32 and its bytes are twice as many; activations,
// whose sum "model" needs, stay as they are. Locations have no say in it.

// NARROW: weft.all_reduce sum {{.*}} over <@mesh, {"model"}> {{.*}} : tensor<4x8xbf16>
// NARROW: weft.dot_general {{.*}} -> tensor<4x8xbf16>
// NARROW-NEXT: weft.all_reduce sum {{.*}} over <@mesh, {"data"}> {{.*}} : tensor<4x8xbf16>

// WIDE: weft.all_reduce sum {{.*}} over <@mesh, {"model"}> {{.*}} : tensor<4x8xbf16>
// WIDE: %[[TERMS:.*]] = weft.dot_general {{.*}} : (tensor<4x4xbf16>, tensor<4x8xbf16>) -> tensor<4x8xf32>
// WIDE-NEXT: %[[SUM:.*]] = weft.all_reduce sum %[[TERMS]] over <@mesh, {"data"}> {{.*}} : tensor<4x8xf32>
// WIDE-NEXT: arith.truncf %[[SUM]] {{.*}} : tensor<4x8xf32> to tensor<4x8xbf16>

// REPORT: all_reduce  data         4 B      1  partial sums over {"data"} of weft.reduce
// REPORT: all_reduce  data       128 B      1  partial sums over {"data"} of weft.dot_general (gradient of w,

weft.mesh @mesh = <["data"=2, "model"=2]>

func.func private @loss(%x: tensor<8x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<f32> {
  %y = weft.dot_general %x, %w contracting = [1] x [0] : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %c = weft.constraint %y <@mesh, [{"data"}, {}]> : tensor<8x8xbf16>
  %t = math.tanh %c : tensor<8x8xbf16>
  %f = arith.extf %t : tensor<8x8xbf16> to tensor<8x8xf32>
  %l = weft.reduce sum %f dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

func.func @step(
    %x: tensor<8x8xbf16> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {"model"}]>},
    %w: tensor<8x8xbf16> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x8xbf16> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"model"}, {}]>}) {
  %loss, %dw = weft.value_and_grad @loss(%x, %w) wrt = [1]
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> (tensor<f32>, tensor<8x8xbf16>)
  %new = arith.subf %w, %dw : tensor<8x8xbf16>
  return %loss, %new : tensor<f32>, tensor<8x8xbf16>
}
