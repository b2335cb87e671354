// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The discardable attributes weft.* on functions and ops.
// RUN: shard-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{sharding of argument 0 must be a #weft.sharding, got "x"}}
func.func private @f(tensor<8xf32> {weft.sharding = "x"})

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
// expected-error @below {{argument 0 has a sharding but its type 'index' is not a ranked tensor}}
func.func private @f(index {weft.sharding = #weft.sharding<@mesh, []>})

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
// expected-error @below {{sharding of result 1: unknown axis "z"; the mesh has "x", "y"}}
func.func private @f() -> (tensor<f32>, tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"z"}]>})

// -----

// expected-error @below {{weft.global_type of argument 0 must be a static ranked tensor type, got 1}}
func.func private @f(tensor<8xf32> {weft.global_type = 1})

// -----

// expected-error @below {{weft.global_type of argument 0 must be a static ranked tensor type, got tensor<?xf32>}}
func.func private @f(tensor<8xf32> {weft.global_type = tensor<?xf32>})

// -----

// expected-error @below {{weft.global_type of result 0 must have the rank and element type of 'tensor<8xf32>', got 'tensor<8x8xf32>'}}
func.func private @f() -> (tensor<8xf32> {weft.global_type = tensor<8x8xf32>})

// -----

// expected-error @below {{weft.name of argument 0 must be a string with at least one character}}
func.func private @f(tensor<8xf32> {weft.name = ""})

// -----

// Every bad name is reported.
// expected-error @below {{weft.name of an argument or result must hold no "=" and no control characters, got 0x3D in "lr=2"}}
// expected-error @below {{got 0x0 in "a\00b"}}
// expected-error @below {{got 0x7F in "\7F"}}
// expected-error @below {{weft.name of an argument or result must not be "__metadata__", which files of tensors reserve}}
func.func private @f(tensor<8xf32> {weft.name = "lr=2"}, tensor<8xf32> {weft.name = "a\00b"}, tensor<8xf32> {weft.name = "\7F"})
    -> (tensor<8xf32> {weft.name = "__metadata__"})

// -----

// Any other text is a name.
func.func private @f(tensor<8xf32> {weft.name = "h.0/W [é]"})

// -----

// expected-error @below {{weft.shardings is for ops; result 0 takes weft.sharding}}
func.func private @f() -> (tensor<8xf32> {weft.shardings = []})

// -----

// expected-error @below {{weft.name is for arguments and results of functions, not for ops}}
func.func private @f() attributes {weft.name = "f"}

// -----

// expected-error @below {{weft.kernel is for functions}}
module attributes {weft.kernel} {}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{weft.shardings must be an array of #weft.sharding, got 1}}
  %y = arith.negf %x {weft.shardings = 1} : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{weft.shardings must have one sharding for each of the op's 1 results, got 0}}
  %y = arith.negf %x {weft.shardings = []} : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{sharding of result 0 must be a #weft.sharding, got unit}}
  %y = arith.negf %x {weft.shardings = [unit]} : tensor<8xf32>
  return
}

// -----

weft.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{sharding of result 0: sharding has 2 dimensions but the tensor has rank 1}}
  %y = arith.negf %x {weft.shardings = [#weft.sharding<@mesh, [{}, {}]>]} : tensor<8xf32>
  return
}

// -----

// All problems of a signature at once, with the names of arguments and results.
weft.mesh @mesh = <["x"=2, "y"=4]>
// expected-error @below {{sharding of result 0 "d": unknown axis "w"; the mesh has "x", "y"}}
func.func @step(
    // expected-error @below {{sharding of argument 0 "a": unknown axis "z"; the mesh has "x", "y"}}
    %a: tensor<8xf32> {weft.name = "a", weft.sharding = #weft.sharding<@mesh, [{"z"}]>},
    %b: tensor<8xf32> {weft.name = "b", weft.sharding = #weft.sharding<@mesh, [{"x"}]>},
    // expected-error @below {{sharding of argument 2: sharding has 2 dimensions but the tensor has rank 1}}
    %c: tensor<8xf32> {weft.sharding = #weft.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8xf32> {weft.name = "d", weft.sharding = #weft.sharding<@mesh, [{"w"}]>}) {
  return %a : tensor<8xf32>
}

// -----

// expected-error @below {{role of weft.segment must be at least 0, got -1}}
func.func private @f() attributes {weft.segment = #weft.segment<entry = "step", action = "0F", role = -1>}

// -----

// expected-error @below {{weft.segment must be a #weft.segment of a function, got 0 : i64}}
func.func private @f() attributes {weft.segment = 0}

// -----

// expected-error @below {{weft.observed of argument 0 is for results of functions}}
func.func private @f(tensor<4xf32> {weft.observed = {}})

// -----

// expected-error @below {{weft.observed of result 0 must be a dictionary of order, number, kind, terms, name and sources}}
func.func private @f() -> (tensor<4xf32> {weft.observed = {order = 0 : i64, number = 0 : i64, kind = "other", terms = 0 : i64, name = "x", sources = array<i64>}})
