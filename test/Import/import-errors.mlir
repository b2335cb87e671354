// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.add is malformed: it must have 2 operands, got 1}}
  %r = "stablehlo.add"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  %e = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<0xf32>
  // expected-error@below {{stablehlo.pad is malformed: what it pads with or begins with must be a scalar}}
  %r = "stablehlo.pad"(%e, %x) <{edge_padding_low = array<i64: 4>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<0xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.exponential is malformed: it must have 1 operands, got 0}}
  %r = "stablehlo.exponential"() : () -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.negate is malformed: it has no operand 0}}
  %r = "stablehlo.negate"() : () -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.tanh is malformed: result 0 should be tensor<4xf32>, but its operands make it tensor<4x8xf32>}}
  %r = "stablehlo.tanh"(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %y: tensor<4xf32>) {
  // expected-error@below {{stablehlo.add is malformed: 'arith.addf' op requires the same type for all operands and results}}
  %r = "stablehlo.add"(%x, %y) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.transpose is malformed: it has no permutation}}
  %r = "stablehlo.transpose"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.transpose is malformed: permutation names dim 5 of a tensor of rank 2}}
  %r = "stablehlo.transpose"(%x) <{permutation = array<i64: 5, 0>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.transpose is malformed: cannot read its permutation, "all"}}
  %r = "stablehlo.transpose"(%x) <{permutation = "all"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.compare is malformed: cannot read its comparison_direction, #stablehlo<comparison_direction LIKE>}}
  %r = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction LIKE>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.broadcast_in_dim is malformed: broadcast_dimensions must name a dim of the result for each dim of the operand}}
  %r = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.slice is malformed: start_indices, limit_indices and strides must have a number for each dim}}
  %r = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.slice is malformed: 'weft.slice' op dim 1 needs 0 <= start < limit <= 8, got start 4 and limit 9}}
  %r = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 4>, limit_indices = array<i64: 4, 9>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.reverse is malformed: dimensions names dim 2}}
  %r = "stablehlo.reverse"(%x) <{dimensions = array<i64: 2>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error@below {{stablehlo.pad is malformed: it must have an amount of padding for each dim}}
  %r = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error@below {{stablehlo.pad is malformed: amounts of padding are out of range}}
  %r = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: 0, 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, -1>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error@below {{stablehlo.pad is malformed: its result has not the size that its padding makes}}
  %r = "stablehlo.pad"(%x, %v) <{edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.dot_general is malformed: cannot read its dot_dimension_numbers, #stablehlo.dot<lhs = [0]>}}
  %r = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs = [0]>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4xi32>) {
  // expected-error@below {{stablehlo.reduce_precision is malformed: it rounds floating-point numbers to a number of bits}}
  %r = "stablehlo.reduce_precision"(%x) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.constant is malformed: cannot read its value, dense<0.000000e+00> : tensor<2xf32>}}
  %r = "stablehlo.constant"() <{value = dense<0.0> : tensor<2xf32>}> : () -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.reduce is malformed: its initial value must be a scalar of the elements' type}}
  %r = "stablehlo.reduce"(%x, %x) <{dimensions = array<i64: 1>}> ({}) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>) {
  // expected-error@below {{stablehlo.gather is malformed: its dimension numbers do not fit its operands}}
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [9], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>) {
  // expected-error@below {{stablehlo.gather is malformed: its slices are larger than its operand}}
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 9>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %i: tensor<f32>) {
  // expected-error@below {{stablehlo.dynamic_slice is malformed: its starts must be integers}}
  %r = "stablehlo.dynamic_slice"(%x, %i, %i) <{slice_sizes = array<i64: 4, 8>}> : (tensor<4x8xf32>, tensor<f32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %i: tensor<i32>) {
  // expected-error@below {{stablehlo.dynamic_slice is malformed: it must have a size for each dim}}
  %r = "stablehlo.dynamic_slice"(%x, %i, %i) <{slice_sizes = array<i64: 4>}> : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %i: tensor<i32>) {
  // expected-error@below {{stablehlo.dynamic_slice is malformed: its slice is larger than its operand}}
  %r = "stablehlo.dynamic_slice"(%x, %i, %i) <{slice_sizes = array<i64: 4, 9>}> : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %u: tensor<1x8xi32>, %i: tensor<i32>) {
  // expected-error@below {{stablehlo.dynamic_update_slice is malformed: its update must have the operand's type of elements}}
  %r = "stablehlo.dynamic_update_slice"(%x, %u, %i, %i) : (tensor<4x8xf32>, tensor<1x8xi32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%p: tensor<i1>) {
  // expected-error@below {{stablehlo.if is malformed: it has a condition and two branches}}
  %r = "stablehlo.if"(%p) ({}) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @main(%p: tensor<i32>) {
  // expected-error@below {{stablehlo.case is malformed: it has an index and branches}}
  %r = "stablehlo.case"(%p) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func @main(%p: tensor<i1>) {
  // expected-error@below {{stablehlo.if is malformed: branch 0 must return 1 values, got 0}}
  %r = "stablehlo.if"(%p) ({
    "stablehlo.return"() : () -> ()
  }, {
    "stablehlo.return"() : () -> ()
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.while is malformed: region 0 must have one block}}
  %r = "stablehlo.while"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.while is malformed: its region takes 0 values, but it has 1 for it}}
  %r = "stablehlo.while"(%x) ({
    "stablehlo.return"() : () -> ()
  }, {
    "stablehlo.return"() : () -> ()
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.while is malformed: its condition must be one value}}
  %r = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4x8xf32>):
    "stablehlo.return"() : () -> ()
  }, {
    "stablehlo.return"() : () -> ()
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.while is malformed: argument 0 of its region has type tensor<4xf32>, but the value is tensor<4x8xf32>}}
  %r = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "stablehlo.return"() : () -> ()
  }, {
    "stablehlo.return"() : () -> ()
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.while is malformed: its body must return 1 values, got 0}}
  %r = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4x8xf32>):
    %t = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4x8xf32>):
    "stablehlo.return"() : () -> ()
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%p: tensor<i1>) {
  // expected-error@below {{stablehlo.if is malformed: its region does not end with a return}}
  %r = "stablehlo.if"(%p) ({
    %c = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  }, {
    %c = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.composite is malformed: its second operand is no result of a weft.stage_boundary of the type of the first; put a boundary behind a lax.cond, not into a branch}}
  %r = "stablehlo.composite"(%x, %x) <{name = "weft.stage_boundary_back", decomposition = @nothing}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.composite is malformed: it calls no function of the program}}
  %r = "stablehlo.composite"(%x) <{decomposition = @nothing}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{stablehlo.optimization_barrier is malformed: it should have 1 results, got 2}}
  %r:2 = "stablehlo.optimization_barrier"(%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{a sharding names mesh @grid, which is not declared}}
  %r = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@grid, [{}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>) {
  // expected-error@below {{sdy.sharding_constraint is malformed: cannot read its sharding, #sdy.sharding<@grid, [{}, {"a" "b"}]>}}
  %r = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@grid, [{}, {"a" "b"}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main() {
  // expected-error@below {{stablehlo.iota is malformed: it has no result 0}}
  "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> ()
  return
}

// -----

"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "rows"}> : () -> ()
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "columns"}> : () -> ()
func.func @meshes(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@rows, [{"x"}]>},
                  // expected-error@below {{a program has one mesh, got <["x"=4]> beside <["x"=2]>}}
                  %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@columns, [{"x"}]>}) {
  return
}

// -----

// expected-error@below {{axis "x" of a mesh is declared twice}}
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "x"=2]>, sym_name = "mesh"}> : () -> ()
// expected-error@below {{sdy.mesh is malformed: it needs a sym_name and a mesh}}
"sdy.mesh"() <{mesh = #sdy.mesh<"x">, sym_name = "other"}> : () -> ()

// -----

module attributes {mhlo.num_partitions = 1 : i32} {
  func.func @main(
    // expected-error@below {{cannot read the sharding "all"}}
    %a: tensor<4xf32> {sdy.sharding = "all"},
    // expected-error@below {{mhlo.sharding: shardings without names of axes; lower again with JAX 0.8 or later, and with jax_use_shardy_partitioner}}
    %b: tensor<4xf32> {mhlo.sharding = "{replicated}"},
    // expected-error@below {{tf.aliasing_output of argument 2: it names no result}}
    %c: tensor<4xf32> {tf.aliasing_output = 7 : i32},
    // expected-error@below {{tf.aliasing_output of argument 3: the result has another type}}
    %d: tensor<8xf32> {tf.aliasing_output = 0 : i32},
    %e: tensor<4xf32> {tf.aliasing_output = 0 : i32},
    // expected-error@below {{tf.aliasing_output of argument 5: argument 4 has that result}}
    %f: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 1 : i32} {
  func.func @main(
    // expected-error@below {{argument 0 has type tensor<4xi4>: elements of a graph are f32, bf16, f16, f64, i64, i32, i16, i8 or i1}}
    %a: tensor<4xi4>) {
    return
  }
}

// -----

func.func @main(%p: tensor<i1>) {
  %r = "stablehlo.if"(%p) ({
    // expected-error@below {{stablehlo.tanh is malformed: operand 0 is used before it is defined}}
    %a = "stablehlo.tanh"(%b) : (tensor<f32>) -> tensor<f32>
    %b = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }, {
    %c = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

// expected-error@below {{func.func is malformed: @main must have one block}}
func.func @main(%p: tensor<i1>) {
  "stablehlo.after_all"() : () -> ()
  cf.br ^bb1
^bb1:
  return
}

// -----

// expected-error@below {{cannot import 1 op of the program}}
module attributes {mhlo.num_partitions = 1 : i32} {
  // expected-note@below {{ml_program.global: a program consists of functions and a mesh}}
  ml_program.global private mutable @weights : tensor<4xf32>
}

// -----

// A loop that does not end.

func.func @main(%x: tensor<4xf32>) {
  %true = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
  %r = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "stablehlo.return"(%true) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>):
    // expected-error@below {{the program is too large: with loops unrolled it has more than 1000000 ops}}
    %b = "stablehlo.abs"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%b) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4xi32>, %y: tensor<i32>) {
  // expected-error@below {{stablehlo.reduce_window is malformed: its windows must fit in}}
  %r = "stablehlo.reduce_window"(%x, %y) <{window_dimensions = array<i64: 5>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%c) : (tensor<i32>) -> ()
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
  return
}

// -----

func.func @main(%x: tensor<4xi32>) {
  // expected-error@below {{stablehlo.bitcast_convert is malformed: elements of another width need a last dim of as many as make up one}}
  %r = "stablehlo.bitcast_convert"(%x) : (tensor<4xi32>) -> tensor<4x2xi8>
  return
}

// -----

func.func @main(%x: tensor<4xui64>) {
  // expected-error@below {{stablehlo.rng_bit_generator is malformed: its state must be two or three integers of 64 bits, and its bits integers}}
  %r:2 = "stablehlo.rng_bit_generator"(%x) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<4xui64>) -> (tensor<4xui64>, tensor<3xui32>)
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %y: tensor<f32>) {
  // expected-error@below {{stablehlo.reduce_window is malformed: its windows and initial value must fit its operand}}
  %r = "stablehlo.reduce_window"(%x, %y) <{window_dimensions = array<i64: 4>}> ({}) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<f32>) {
  // expected-error@below {{stablehlo.reduce_window is malformed: cannot read its padding, dense<0.000000e+00> : tensor<1x2xf32>}}
  %r = "stablehlo.reduce_window"(%x, %y) <{window_dimensions = array<i64: 4>, padding = dense<0.0> : tensor<1x2xf32>}> ({}) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error@below {{stablehlo.sort is malformed: it must have a comparator, and a result for each operand}}
  %r = "stablehlo.sort"(%x, %x) <{dimension = 0 : i64}> ({}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error@below {{stablehlo.sort is malformed: its operands must have one shape with the dimension}}
  %r = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({}) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error@below {{chlo.top_k is malformed: its k must be from 1 to the size of its last dim}}
  %r:2 = "chlo.top_k"(%x) <{k = 5 : i64}> : (tensor<4xf32>) -> (tensor<5xf32>, tensor<5xi32>)
  return
}

// -----

func.func @main(%x: tensor<4xi32>) {
  // expected-error@below {{chlo.lgamma is malformed: it is a function of floating-point numbers}}
  %r = "chlo.lgamma"(%x) : (tensor<4xi32>) -> tensor<4xi32>
  return
}
