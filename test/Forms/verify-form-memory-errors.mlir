// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --split-input-file --weft-verify-form=form=schedule --verify-diagnostics -o /dev/null

// Two values that are alive at one instruction share bytes: here all have offset 0.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(
    %y: tensor<16xf32> {weft.name = "y", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>},
    // expected-error @below {{after schedule: buffers "y" [0, 64) and "x" [0, 64) overlap while both are alive at instruction 0; run --weft-plan-memory}}
    %x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  // expected-error @below {{after schedule: buffers "y" [0, 64) and the result of instruction 0 (weft.launch) [0, 64) overlap while both are alive at instruction 0; run --weft-plan-memory}}
  %a = weft.launch @add(%y, %x) {weft.offsets = array<i64: 0>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %r = weft.launch @scale(%a) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// A value that is read later is written over.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %a = weft.launch @scale(%x) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{after schedule: buffers the result of instruction 0 (weft.launch) [64, 128) and the result of instruction 1 (weft.launch) [64, 128) overlap while both are alive from instruction 1 to 2; run --weft-plan-memory}}
  %b = weft.launch @scale(%x) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = weft.launch @add(%a, %b) {weft.offsets = array<i64: 128>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %r = weft.launch @scale(%c) {weft.offsets = array<i64: 192>} : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// What a collective reads and writes is in use until its wait.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}, tensor<16xf32> {weft.name = "s", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %p = weft.start all_reduce %x sum over <@mesh, {"x"}> {weft.offsets = array<i64: 64>} : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  // expected-error @below {{after schedule: buffers "x" [0, 64) and the result of instruction 1 (weft.launch) [0, 64) overlap while both are alive from instruction 1 to 2; run --weft-plan-memory}}
  %a = weft.launch @scale(%x) {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %w = weft.wait %p {weft.offsets = array<i64: 64>} : !weft.pending<tensor<16xf32>>
  %r = weft.launch @scale(%a) {weft.offsets = array<i64: 128>} : (tensor<16xf32>) -> tensor<16xf32>
  return %r, %w : tensor<16xf32>, tensor<16xf32>
}

// -----

// No offsets at all.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
// expected-error @below {{after schedule: @step has no weft.arena_bytes; run --weft-plan-memory}}
func.func @step(
    // expected-error @below {{after schedule: argument 0 of @step has no weft.offset; run --weft-plan-memory}}
    %x: tensor<16xf32> {weft.name = "x", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) {
  // expected-error @below {{after schedule: weft.launch has no weft.offsets; run --weft-plan-memory}}
  %r = weft.launch @scale(%x) : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// One offset for two results.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func private @two(%a: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {weft.kernel} {
  return %a, %a : tensor<16xf32>, tensor<16xf32>
}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}, tensor<16xf32> {weft.name = "s", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  // expected-error @below {{after schedule: weft.launch has 2 results, but weft.offsets of 1 elements; run --weft-plan-memory}}
  %r:2 = weft.launch @two(%x) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %r#0, %r#1 : tensor<16xf32>, tensor<16xf32>
}

// -----

// An offset that is no multiple of 64, and one above the arena.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(
    // expected-error @below {{after schedule: buffer "x" [32, 96) does not start at a multiple of 64; run --weft-plan-memory}}
    %x: tensor<16xf32> {weft.name = "x", weft.offset = 32 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 128} {
  // expected-error @below {{after schedule: buffer the result of instruction 0 (weft.launch) [128, 192) ends above the arena of 128 bytes; run --weft-plan-memory}}
  %r = weft.launch @scale(%x) {weft.offsets = array<i64: 128>} : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// A view has the place of what it views.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  // expected-error @below {{after schedule: the result of instruction 0 (weft.reshape) has the buffer of "x", which is at offset 0, but is at 64; run --weft-plan-memory}}
  %v = weft.reshape %x {weft.offsets = array<i64: 64>} : tensor<16xf32> -> tensor<4x4xf32>
  %u = weft.reshape %v {weft.offsets = array<i64: 64>} : tensor<4x4xf32> -> tensor<16xf32>
  %r = weft.launch @scale(%u) {weft.offsets = array<i64: 128>} : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// A kernel writes over an operand that its code reads again.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %a = weft.launch @scale(%x) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{after schedule: weft.launch writes result 0 over operand 0, which weft.in_place of kernel @scale does not list; run --weft-find-in-place and --weft-plan-memory}}
  %r = weft.launch @scale(%a) in_place = [0] {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// What is written in place is read later.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %a = weft.launch @scale(%x) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{after schedule: the result of instruction 1 (weft.launch) is written over the result of instruction 0 (weft.launch), which instruction 2 (weft.launch) reads later; run --weft-plan-memory}}
  %b = weft.launch @add(%a, %x) in_place = [0] {weft.offsets = array<i64: 64>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %c = weft.launch @scale(%a) {weft.offsets = array<i64: 128>} : (tensor<16xf32>) -> tensor<16xf32>
  %r = weft.launch @add(%b, %c) in_place = [0] {weft.offsets = array<i64: 64>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// Constants are filled once, when a plan is loaded.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %c = arith.constant {weft.offsets = array<i64: 64>} dense<2.0> : tensor<16xf32>
  // expected-error @below {{after schedule: the result of instruction 0 (weft.launch) is written over a constant; run --weft-plan-memory}}
  %a = weft.launch @add(%c, %x) in_place = [0] {weft.offsets = array<i64: 64>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %r = weft.launch @scale(%a) {weft.offsets = array<i64: 128>} : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// A constant of one entry is there in the others, too.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @first(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %c = arith.constant {weft.offsets = array<i64: 64>} dense<2.0> : tensor<16xf32>
  %r = weft.launch @add(%c, %x) {weft.offsets = array<i64: 128>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
func.func @second(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  // expected-error @below {{after schedule: buffers a constant [64, 128) and the result of instruction 0 (weft.launch) [64, 128) overlap while both are alive from instruction 0 to 1; run --weft-plan-memory}}
  %r = weft.launch @scale(%x) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// Code may count on it that operands do not share memory.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  // expected-error @below {{after schedule: operands 0 and 1 of weft.launch are one buffer, that of "x"; run --weft-plan-memory}}
  %r = weft.launch @add(%x, %x) {weft.offsets = array<i64: 64>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// A state has one place.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @init(%x: tensor<16xf32> {weft.name = "x", weft.offset = 64 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "w", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %w = weft.launch @scale(%x) {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  return %w : tensor<16xf32>
}
func.func @step(
    // expected-error @below {{after schedule: state "w" must have one offset in all entries, got 128 as argument 0 of @step and 0 before; run --weft-plan-memory}}
    %w: tensor<16xf32> {weft.name = "w", weft.offset = 128 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "w", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  // expected-error @below {{after schedule: state "w" must have one offset in all entries, got 128 as result 0 of @step and 0 before; run --weft-plan-memory}}
  return %w : tensor<16xf32>
}

// -----

// Nothing else is in it, in entries that do not mention it either.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%w: tensor<16xf32> {weft.name = "w", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "w", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  return %w : tensor<16xf32>
}
func.func @other(
    // expected-error @below {{after schedule: buffers "w" [0, 64) and "x" [0, 64) overlap while both are alive at instruction 0; run --weft-plan-memory}}
    %x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %r = weft.launch @scale(%x) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// The new value of a state comes before the last reader of the old one.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%w: tensor<16xf32> {weft.name = "w", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "w", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}, tensor<16xf32> {weft.name = "y", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  // expected-error @below {{after schedule: the result of instruction 0 (weft.launch) is written over state "w", whose old value is read until instruction 1; run --weft-plan-memory}}
  %n = weft.launch @scale(%w) {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %y = weft.launch @scale(%w) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return %n, %y : tensor<16xf32>, tensor<16xf32>
}

// -----

// A state is destroyed.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
// expected-error @below {{after schedule: @step writes over state "w" and does not return what it wrote; run --weft-plan-memory}}
func.func @step(%w: tensor<16xf32> {weft.name = "w", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}, %x: tensor<16xf32> {weft.name = "x", weft.offset = 64 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "y", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %a = weft.launch @add(%w, %x) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %y = weft.launch @scale(%a) {weft.offsets = array<i64: 128>} : (tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}
func.func @init(%x: tensor<16xf32> {weft.name = "x", weft.offset = 64 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "w", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  %w = weft.launch @scale(%x) {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  return %w : tensor<16xf32>
}

// -----

// An output outlives the call; a state changes.
weft.mesh @mesh = <["x"=2]>
func.func private @scale(%a: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  %n = arith.addf %a, %b : tensor<16xf32>
  return %n : tensor<16xf32>
}
func.func @step(%w: tensor<16xf32> {weft.name = "w", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) -> (tensor<16xf32> {weft.name = "w", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}, tensor<16xf32> {weft.name = "y", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 512} {
  // expected-error @below {{after schedule: result "y" of @step shares the memory of a state, which the next call overwrites; run --weft-plan-memory}}
  return %w, %w : tensor<16xf32>, tensor<16xf32>
}

// -----

// A loop: what is carried on lies elsewhere.
weft.mesh @mesh = <["a"=1]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %x : tensor<16xf32>
}
func.func @carried_elsewhere() -> (tensor<16xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{}]>, weft.global_type = tensor<16xf32>})
    attributes {weft.arena_bytes = 128 : i64, weft.liveness_bytes = 128 : i64} {
  %zero = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  // expected-error @below {{the result of instruction 2 (weft.launch) is carried on at offset 0, but is at 64; run --weft-plan-memory}}
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) attributes {weft.offsets = array<i64: 0>} {
    %n = weft.launch @scale(%a) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
    weft.yield %n : tensor<16xf32>
  }
  return %s : tensor<16xf32>
}

// -----

// The next value is written while the old one is still read.
weft.mesh @mesh = <["a"=1]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %x : tensor<16xf32>
}
func.func @carried_too_early() -> (tensor<16xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{}]>, weft.global_type = tensor<16xf32>})
    attributes {weft.arena_bytes = 128 : i64, weft.liveness_bytes = 128 : i64} {
  %zero = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  // expected-error @below {{the result of instruction 2 (weft.launch) is written over what the loop carries, whose old value is read until instruction 2}}
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) attributes {weft.offsets = array<i64: 0>} {
    // expected-error @below {{buffers the result of instruction 0 (weft.launch) [0, 64) and the result of instruction 2 (weft.launch) [0, 64) overlap while both are alive at instruction 2}}
    %n = weft.launch @scale(%a) {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
    weft.yield %n : tensor<16xf32>
  }
  return %s : tensor<16xf32>
}

// -----

// A loop begins with a constant, which the next call would find changed.
weft.mesh @mesh = <["a"=1]>
func.func @over_constant() -> (tensor<16xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{}]>, weft.global_type = tensor<16xf32>})
    attributes {weft.arena_bytes = 64 : i64, weft.liveness_bytes = 64 : i64} {
  %c = arith.constant {weft.offsets = array<i64: 0>} dense<1.0> : tensor<16xf32>
  // expected-error @below {{a loop begins with a constant, which it writes over; run --weft-plan-memory}}
  %s = weft.repeat 4 carry (%a = %c) : (tensor<16xf32>) attributes {weft.offsets = array<i64: 0>} {
    weft.yield %a : tensor<16xf32>
  }
  return %s : tensor<16xf32>
}

// -----

// What the loop begins with is read after it.
weft.mesh @mesh = <["a"=1]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func @read_after_loop() -> (tensor<16xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{}]>, weft.global_type = tensor<16xf32>})
    attributes {weft.arena_bytes = 128 : i64, weft.liveness_bytes = 128 : i64} {
  %zero = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  // expected-error @below {{a loop writes over the result of instruction 0 (weft.launch), which instruction 3 (weft.launch) reads later; run --weft-plan-memory}}
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) attributes {weft.offsets = array<i64: 0>} {
    %n = weft.launch @scale(%a) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
    weft.yield %n : tensor<16xf32>
  }
  %t = weft.launch @scale(%zero) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return %t : tensor<16xf32>
}

// -----

// A value from before a loop is written over in the loop.
weft.mesh @mesh = <["a"=1]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func @over_what_is_read_again()
    attributes {weft.arena_bytes = 128 : i64, weft.liveness_bytes = 128 : i64} {
  %w = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  weft.repeat 4 {
    // expected-error @below {{the result of instruction 2 (weft.launch) is written over the result of instruction 0 (weft.launch), which the next iteration of the loop reads again; run --weft-plan-memory}}
    %n = weft.launch @scale(%w) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
    weft.yield
  }
  return
}

// -----

// A loop reads a state in another shape; behind the loop it may be written over.
weft.mesh @mesh = <["a"=1]>
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func private @copy(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {weft.kernel} {
  return %x : tensor<4x4xf32>
}
func.func @over_what_a_loop_has_read(
    %x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>})
    -> (tensor<16xf32> {weft.name = "x", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>})
    attributes {weft.arena_bytes = 128 : i64, weft.liveness_bytes = 128 : i64} {
  weft.repeat 4 {
    %v = weft.reshape %x {weft.offsets = array<i64: 0>} : tensor<16xf32> -> tensor<4x4xf32>
    %s = weft.launch @copy(%v) {weft.offsets = array<i64: 64>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    weft.yield
  }
  %n = weft.launch @scale(%x) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  return %n : tensor<16xf32>
}

// -----

// The rest of the iteration writes what is being reduced.
weft.mesh @mesh = <["a"=1]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func @touched_beside() -> (tensor<16xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{}]>, weft.global_type = tensor<16xf32>})
    attributes {weft.arena_bytes = 128 : i64, weft.liveness_bytes = 128 : i64} {
  %zero = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) attributes {weft.offsets = array<i64: 0>} {
    %n = weft.launch @scale(%a) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
    %m = weft.launch @scale(%n) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
    weft.yield %m : tensor<16xf32>
  }
  // expected-error @below {{a collective starts behind instruction 2, but instruction 3 of the loop touches its operand; run --weft-plan-memory}}
  %p = weft.start all_reduce %s sum over <@mesh, {"a"}> {in_place, weft.behind = 0 : i64, weft.offsets = array<i64: 0>} : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %w = weft.wait %p {weft.offsets = array<i64: 0>} : !weft.pending<tensor<16xf32>>
  return %w : tensor<16xf32>
}

// -----

// The loop has two instructions.
weft.mesh @mesh = <["a"=1]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func @behind_nothing() -> (tensor<16xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{}]>, weft.global_type = tensor<16xf32>})
    attributes {weft.arena_bytes = 128 : i64, weft.liveness_bytes = 128 : i64} {
  %zero = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) attributes {weft.offsets = array<i64: 0>} {
    %n = weft.launch @scale(%a) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
    %m = weft.launch @scale(%n) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
    weft.yield %m : tensor<16xf32>
  }
  // expected-error @below {{weft.behind of a weft.start must be the index of an instruction in the loop that carries its operand, got 2 : i64; run --weft-start-in-loops}}
  %p = weft.start all_reduce %s sum over <@mesh, {"a"}> {in_place, weft.behind = 2 : i64, weft.offsets = array<i64: 0>} : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %w = weft.wait %p {weft.offsets = array<i64: 0>} : !weft.pending<tensor<16xf32>>
  return %w : tensor<16xf32>
}

// -----

// What begins in the loop overwrites what is read behind it.
weft.mesh @mesh = <["a"=1]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func @read_before_start() -> (tensor<16xf32> {weft.name = "s", weft.sharding = #weft.sharding<@mesh, [{}]>, weft.global_type = tensor<16xf32>})
    attributes {weft.arena_bytes = 128 : i64, weft.liveness_bytes = 128 : i64} {
  %zero = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  %s = weft.repeat 4 carry (%a = %zero) : (tensor<16xf32>) attributes {weft.offsets = array<i64: 0>} {
    %n = weft.launch @scale(%a) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
    %m = weft.launch @scale(%n) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
    weft.yield %m : tensor<16xf32>
  }
  %t = weft.launch @scale(%s) {weft.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{a collective that starts in a loop writes over its operand, which instruction 4 (weft.launch) behind the loop reads; run --weft-plan-memory}}
  %p = weft.start all_reduce %s sum over <@mesh, {"a"}> {in_place, weft.behind = 1 : i64, weft.offsets = array<i64: 0>} : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %w = weft.wait %p {weft.offsets = array<i64: 0>} : !weft.pending<tensor<16xf32>>
  return %w : tensor<16xf32>
}

// -----

// A value from before a loop is read in another shape in each iteration.
weft.mesh @mesh = <["a"=1]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @scale(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {weft.kernel} {
  return %x : tensor<4x4xf32>
}
func.func @over_what_is_read_again_in_another_shape()
    attributes {weft.arena_bytes = 128 : i64, weft.liveness_bytes = 128 : i64} {
  %w = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  weft.repeat 4 {
    %v = weft.reshape %w {weft.offsets = array<i64: 0>} : tensor<16xf32> -> tensor<4x4xf32>
    %n = weft.launch @scale(%v) {weft.offsets = array<i64: 64>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // expected-error @below {{buffers the result of instruction 0 (weft.launch) [0, 64) and the result of instruction 3 (weft.launch) [0, 64) overlap while both are alive at instruction 3; run --weft-plan-memory}}
    %m = weft.launch @scale(%n) {weft.offsets = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    weft.yield
  }
  return
}

// -----

// An inner loop begins with what the next iteration of the outer one reads again.
weft.mesh @mesh = <["a"=1]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @scale(%x: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}
func.func @inner_loop_over_what_is_read_again()
    attributes {weft.arena_bytes = 64 : i64, weft.liveness_bytes = 64 : i64} {
  %w = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  weft.repeat 4 {
    // expected-error @below {{a loop writes over the result of instruction 0 (weft.launch), which the next iteration of the loop around it reads again; run --weft-plan-memory}}
    %s = weft.repeat 4 carry (%a = %w) : (tensor<16xf32>) attributes {weft.offsets = array<i64: 0>} {
      %n = weft.launch @scale(%a) in_place = [0] {weft.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
      weft.yield %n : tensor<16xf32>
    }
    weft.yield
  }
  return
}

// -----

// A part of a buffer is where the whole says, at a multiple of 64 bytes.
weft.mesh @mesh = <["a"=2]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @read(%x: tensor<8xf32>) attributes {weft.kernel} {
  return
}
func.func @parts_elsewhere() attributes {weft.arena_bytes = 192 : i64} {
  %x = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  %y = weft.launch @fill() {weft.offsets = array<i64: 128>} : () -> tensor<16xf32>
  // expected-error @below {{after schedule: the result of instruction 1 (weft.launch) is a part of the result of instruction 2 (weft.concat) from byte 64 on, but is at offset 128 and that at 0; run --weft-plan-memory}}
  %c = weft.concat %x, %y dim = 0 {weft.offsets = array<i64: 0>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %p = weft.start all_reduce %c sum over <@mesh, {"a"}> {in_place, weft.offsets = array<i64: 0>} : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  %r = weft.wait %p {weft.offsets = array<i64: 0>} : !weft.pending<tensor<32xf32>>
  // expected-error @below {{after schedule: the result of instruction 4 (weft.slice) is a part of the result of instruction 3 (weft.wait) from byte 32 on, but is at offset 32 and that at 0; run --weft-plan-memory}}
  %s = weft.slice %r starts = [8] limits = [16] strides = [1] {weft.offsets = array<i64: 32>} : tensor<32xf32> -> tensor<8xf32>
  weft.launch @read(%s) : (tensor<8xf32>) -> ()
  return
}

// -----

// What has a buffer of its own is no part: an argument, or what is one already.
weft.mesh @mesh = <["a"=2]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func @parts_of_two(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 192 : i64} {
  %y = weft.launch @fill() {weft.offsets = array<i64: 64>} : () -> tensor<16xf32>
  // expected-error @below {{after schedule: "x" cannot be a part of the result of instruction 1 (weft.concat): one of them has a buffer of its own; run --weft-plan-memory}}
  %c = weft.concat %x, %y dim = 0 {weft.offsets = array<i64: 0>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  // expected-error @below {{after schedule: the result of instruction 0 (weft.launch) cannot be a part of the result of instruction 1 (weft.concat): one of them has a buffer of its own; run --weft-plan-memory}}
  %d = weft.concat %y dim = 0 {weft.offsets = array<i64: 128>} : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

// A whole is alive as long as its parts, and a result is no part.
weft.mesh @mesh = <["a"=2]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func @parts_live_on() -> (tensor<16xf32> {weft.name = "r", weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 192 : i64} {
  %z = weft.launch @fill() {weft.offsets = array<i64: 64>} : () -> tensor<16xf32>
  %x = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  %y = weft.launch @fill() {weft.offsets = array<i64: 64>} : () -> tensor<16xf32>
  // expected-error @below {{after schedule: buffers the result of instruction 3 (weft.concat) [0, 128) and the result of instruction 0 (weft.launch) [64, 128) overlap while both are alive from instruction 1 to 5; run --weft-plan-memory}}
  %c = weft.concat %x, %y dim = 0 {weft.offsets = array<i64: 0>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %p = weft.start all_reduce %c sum over <@mesh, {"a"}> {in_place, weft.offsets = array<i64: 0>} : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  %r = weft.wait %p {weft.offsets = array<i64: 0>} : !weft.pending<tensor<32xf32>>
  %s = weft.slice %r starts = [16] limits = [32] strides = [1] {weft.offsets = array<i64: 64>} : tensor<32xf32> -> tensor<16xf32>
  %t = weft.launch @add(%s, %z) {weft.offsets = array<i64: 128>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{after schedule: the result of instruction 5 (weft.slice) is returned, and shares bytes with others; run --weft-plan-memory}}
  return %s : tensor<16xf32>
}

// -----

// What is written over a buffer is written over what shares bytes with it.
weft.mesh @mesh = <["a"=2]>
func.func private @fill() -> tensor<16xf32> attributes {weft.kernel} {
  %c = arith.constant dense<0.0> : tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func private @take(%a: tensor<32xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel, weft.in_place = array<i64: 1, 0>} {
  return %b : tensor<16xf32>
}
func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {weft.kernel} {
  return %a : tensor<16xf32>
}
func.func @parts_written_over() attributes {weft.arena_bytes = 192 : i64} {
  %x = weft.launch @fill() {weft.offsets = array<i64: 0>} : () -> tensor<16xf32>
  %y = weft.launch @fill() {weft.offsets = array<i64: 64>} : () -> tensor<16xf32>
  %c = weft.concat %x, %y dim = 0 {weft.offsets = array<i64: 0>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  // expected-error @below {{after schedule: the result of instruction 2 (weft.start) is written over the result of instruction 0 (weft.launch), which instruction 5 (weft.launch) reads later; run --weft-plan-memory}}
  %p = weft.start all_reduce %c sum over <@mesh, {"a"}> {in_place, weft.offsets = array<i64: 0>} : tensor<32xf32> -> !weft.pending<tensor<32xf32>>
  %r = weft.wait %p {weft.offsets = array<i64: 0>} : !weft.pending<tensor<32xf32>>
  %s = weft.slice %r starts = [16] limits = [32] strides = [1] {weft.offsets = array<i64: 64>} : tensor<32xf32> -> tensor<16xf32>
  // expected-error @below {{after schedule: the result of instruction 4 (weft.launch) is written over the result of instruction 3 (weft.wait), which instruction 4 (weft.launch) reads later; run --weft-plan-memory}}
  %t = weft.launch @take(%r, %s) in_place = [1] {weft.offsets = array<i64: 64>} : (tensor<32xf32>, tensor<16xf32>) -> tensor<16xf32>
  %u = weft.launch @add(%x, %t) {weft.offsets = array<i64: 128>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

// Of the two numbers only one can be right.
weft.mesh @mesh = <["x"=2]>
// expected-error @below {{after schedule: @step needs 128 bytes in any layout (weft.liveness_bytes), but has weft.arena_bytes of 64; run --weft-plan-memory}}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 64, weft.liveness_bytes = 128} {
  return
}

// -----

// As much as is alive at once is needed, and the memory of states in any case.
weft.mesh @mesh = <["x"=2]>
// expected-error @below {{after schedule: @step has 64 bytes alive at once, but weft.liveness_bytes of -1; run --weft-plan-memory}}
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 64, weft.liveness_bytes = -1} {
  return
}

// -----

// Of the queues of collectives there are two.
weft.mesh @mesh = <["x"=2]>
func.func @step(%x: tensor<16xf32> {weft.name = "x", weft.offset = 0 : i64, weft.global_type = tensor<16xf32>, weft.sharding = #weft.sharding<@mesh, [{}]>}) attributes {weft.arena_bytes = 128} {
  // expected-error @below {{after schedule: weft.queue must be 0 or 1, got 256 : i64}}
  %p = weft.start all_reduce %x sum over <@mesh, {"x"}> {weft.offsets = array<i64: 64>, weft.queue = 256 : i64} : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %r = weft.wait %p {weft.offsets = array<i64: 64>} : !weft.pending<tensor<16xf32>>
  // expected-error @below {{after schedule: weft.queue must be 0 or 1, got "one"}}
  %q = weft.start all_reduce %x sum over <@mesh, {"x"}> {weft.offsets = array<i64: 64>, weft.queue = "one"} : tensor<16xf32> -> !weft.pending<tensor<16xf32>>
  %s = weft.wait %q {weft.offsets = array<i64: 64>} : !weft.pending<tensor<16xf32>>
  return
}
