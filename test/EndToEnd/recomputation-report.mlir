// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What kernels recompute, and what that saves, is printed; an option turns it
// off.
// RUN: shard-compile %s --target=none -o %t.plan | FileCheck %s
// RUN: shard-compile %s --target=none -o %t.plan --recompute-in-kernels=false | FileCheck %s --check-prefix=OFF --implicit-check-not="recomputed in"

// CHECK: 5 GEMMs
// CHECK: recomputed in kernels of step: {{[0-9]+}} ops, some {{.*}} MiB less at the peak
// OFF: 5 GEMMs
func.func private @loss(%w: tensor<512x512xf32>, %a: tensor<1024x512xf32>)
    -> tensor<f32> {
  %x = weft.dot_general %a, %w contracting = [1] x [0] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %t = math.tanh %x : tensor<1024x512xf32>
  %e = math.exp %t : tensor<1024x512xf32>
  %h = arith.mulf %x, %e : tensor<1024x512xf32>
  %y = weft.dot_general %h, %w contracting = [1] x [0] : (tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>
  %s = arith.mulf %y, %y : tensor<1024x512xf32>
  %sum = weft.reduce sum %s dims = [0, 1] : tensor<1024x512xf32> -> tensor<f32>
  return %sum : tensor<f32>
}
func.func @step(%w: tensor<512x512xf32> {weft.name = "w"}, %a: tensor<1024x512xf32>)
    -> (tensor<f32> {weft.name = "loss"}, tensor<512x512xf32> {weft.name = "g"}) {
  %loss, %g = weft.value_and_grad @loss(%w, %a) wrt = [0] : (tensor<512x512xf32>, tensor<1024x512xf32>) -> (tensor<f32>, tensor<512x512xf32>)
  return %loss, %g : tensor<f32>, tensor<512x512xf32>
}
