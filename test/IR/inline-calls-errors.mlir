// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --weft-inline-calls --split-input-file --verify-diagnostics

func.func private @declared(tensor<f32>) -> tensor<f32>
func.func @public(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func private @jumps(%x: tensor<f32>) -> tensor<f32> {
  cf.br ^next
^next:
  return %x : tensor<f32>
}
func.func @step(%x: tensor<f32>) {
  // expected-error @below {{cannot be inlined: @declared is declared only; give it a body}}
  %a = call @declared(%x) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{cannot be inlined: @public is public and thus an entry of its own; make it private}}
  %b = call @public(%x) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{cannot be inlined: @jumps has control flow; a program is one block}}
  %c = call @jumps(%x) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @step(%x: tensor<f32>) {
  %a = call @even(%x) : (tensor<f32>) -> tensor<f32>
  return
}
func.func private @even(%x: tensor<f32>) -> tensor<f32> {
  %a = call @odd(%x) : (tensor<f32>) -> tensor<f32>
  return %a : tensor<f32>
}
func.func private @odd(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{cannot be inlined: @even calls itself}}
  %a = call @even(%x) : (tensor<f32>) -> tensor<f32>
  return %a : tensor<f32>
}
