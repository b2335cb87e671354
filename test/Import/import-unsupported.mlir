// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not shard-opt %s --allow-unregistered-dialect --weft-import-stablehlo --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s

// Everything that cannot be imported is one error, with a note for each line of
// the source and each kind of op. What uses 

// CHECK: error: cannot import 43 ops of the program
// CHECK: model.py:7:3: note: 3 times stablehlo.cholesky: not supported
// CHECK: model.py:8:3: note: stablehlo.cholesky: not supported
// CHECK: note: stablehlo.reduce: of 2 tensors at once, other than argmax and argmin
// CHECK: note: stablehlo.reduce: with another function than add, multiply, maximum, minimum, and, or, xor
// CHECK: note: stablehlo.reduce_window: with another function than add, multiply, maximum, minimum, and, or, xor
// CHECK: note: stablehlo.reduce_window: of more than 128 elements along a dim, other than sums, maxima and minima of floating-point numbers, and running ones along a dim, as of cumsum
// CHECK: note: stablehlo.select_and_scatter: other than the sum of floating-point numbers at maxima or minima, as of the derivative of a pooling
// CHECK: note: stablehlo.select_and_scatter: with windows that lack elements of the operand
// CHECK: note: stablehlo.convolution: with a window that is turned around; reverse the kernel instead
// CHECK: note: stablehlo.convolution: of floating-point numbers, to integers
// CHECK: note: stablehlo.convolution: of integers, with windows of more than 256 elements
// CHECK: note: stablehlo.while: with a condition that depends on computed values alone, where loops are unrolled; bound it by a counter that begins at a constant, as in (i < 20) & (error > tolerance), or use lax.scan or lax.fori_loop between constants, with jnp.where for steps that are not to count; what a loop of a library finds can be computed outside and passed as an argument
// CHECK: note: stablehlo.while: with a condition that depends on computed values, and which may hold for more than 1000 iterations, where loops are unrolled; bound it by a smaller number, as in (i < 20) & (error > tolerance) or lax.fori_loop(0, jnp.minimum(n, 20), ...); what a loop of a library finds can be computed outside and passed as an argument
// CHECK: note: stablehlo.custom_call: @Sharding: shardings without names of axes; lower again with JAX 0.8 or later, and with jax_use_shardy_partitioner
// CHECK: note: stablehlo.custom_call: @lapack_spotrf_ffi: linear algebra, which a graph has no ops for; weft.from_jax writes out cholesky, triangular_solve, lu and qr of real matrices of up to 128 columns, and what JAX makes of them; call others outside and pass their results as arguments, or write them with matmuls, such as Newton-Schulz iterations for inverses and roots
// CHECK: note: stablehlo.custom_call: @xla_ffi_python_cpu_callback: a function of Python, which a plan cannot call; return what it reads, and remove debugging output and checks
// CHECK: note: stablehlo.custom_call: @ApproxTopK: elements that are nearly the largest; use lax.top_k
// CHECK: note: stablehlo.custom_call: @other: a function outside of the program; lower with lowering_platforms=("cpu",) if it is one of a GPU, and otherwise call it outside and pass its results as arguments
// CHECK: note: stablehlo.rng: random bits of the device; use jax.random with its keys
// CHECK: note: stablehlo.rng_bit_generator: by THREE_FRY; PHILOX, which DEFAULT is, is supported
// CHECK: note: sdy.manual_computation: programs for each device (shard_map); weft.from_jax imports the function that has them
// CHECK: note: stablehlo.partition_id: it asks for the device; a graph is the program of all devices
// CHECK: note: stablehlo.all_reduce: a collective between devices (of shard_map); a graph is the program of all devices
// CHECK: note: stablehlo.convert: type tensor<4xf8E5M2>: elements of a graph are f32, bf16, f16, f64, i64, i32, i16, i8 or i1
// CHECK: note: stablehlo.convert: type tensor<?xf32>: sizes must be known
// CHECK: note: stablehlo.gather: of a tensor without elements
// CHECK: note: stablehlo.scatter: at indices without numbers
// CHECK: note: stablehlo.convert: type tensor<4xf32, "sparse">: a tensor of a graph has no encoding
// CHECK: note: stablehlo.convert: type tuple<>: values of a graph are ranked tensors
// CHECK: note: stablehlo.sort: with another comparator than one of elements, the least or the greatest first, as of jax.lax.sort
// CHECK: note: stablehlo.and: on elements of this type
// CHECK: note: stablehlo.reduce_precision: to 5 bits of exponent and 10 of mantissa; f32 and bf16 are the types known
// CHECK: note: stablehlo.bitcast_convert: of booleans to elements of another width
// CHECK: note: stablehlo.dot_general: of floating-point numbers, to integers
// CHECK: note: chlo.bessel_i1e: on elements of type f64
// CHECK: note: chlo.next_after: on elements of this type
// CHECK: note: stablehlo.scatter: with another function than set, add, subtract, multiply, maximum, minimum, and, or, xor; write x.at[i].set(f(x[i])) for x.at[i].apply(f)
// CHECK: note: stablehlo.gather: of slices that are cut along a dim without an index
// CHECK: note: stablehlo.scatter: into several tensors at once
// CHECK: note: stablehlo.constant: its elements are not in the text
// CHECK: note: func.call: @recursive calls itself
// CHECK-NOT: tanh
#seven = loc("model.py":7:3)
#eight = loc("model.py":8:3)
func.func @main(%x: tensor<4xf32>, %i: tensor<4xi32>, %n: tensor<i32>, %d: tensor<4xf64>, %m: tensor<8x8xf32>, %at: tensor<3x1xi32>) -> tensor<4xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %izero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %0 = "stablehlo.cholesky"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#seven)
  %1 = "stablehlo.cholesky"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#seven)
  %2 = "stablehlo.cholesky"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("cholesky"(#seven))
  %3 = "stablehlo.cholesky"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#eight)
  %4 = "stablehlo.tanh"(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5:2 = "stablehlo.reduce"(%x, %i, %zero, %izero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %e: tensor<i32>):
    "stablehlo.return"(%a, %b) : (tensor<f32>, tensor<i32>) -> ()
  }) : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  %6 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.subtract"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %32 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.subtract"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  %wide = "stablehlo.broadcast_in_dim"(%izero) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x300x1xi32>
  %40 = "stablehlo.reduce_window"(%wide, %izero) <{window_dimensions = array<i64: 1, 200, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%c) : (tensor<i32>) -> ()
  }) : (tensor<1x300x1xi32>, tensor<i32>) -> tensor<1x101x1xi32>
  %33 = "stablehlo.select_and_scatter"(%x, %x, %zero) <{window_dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %two = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<2xf32>
  %34 = "stablehlo.select_and_scatter"(%x, %two, %zero) <{window_dimensions = array<i64: 2>, padding = dense<[[-1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %35 = "stablehlo.convolution"(%m, %m) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64, window_reversal = array<i1: true>}> : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %36 = "stablehlo.convolution"(%m, %m) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi32>
  %41 = "stablehlo.convolution"(%wide, %wide) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[i, 0, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<1x300x1xi32>, tensor<1x300x1xi32>) -> tensor<1x1x1xi32>
  %8 = "stablehlo.while"(%n) ({
  ^bb0(%a: tensor<i32>):
    %c = "stablehlo.compare"(%a, %izero) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<i32>):
    "stablehlo.return"(%a) : (tensor<i32>) -> ()
  }) : (tensor<i32>) -> tensor<i32>
  %39:2 = "stablehlo.while"(%izero, %n) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %most = "stablehlo.constant"() <{value = dense<2000> : tensor<i32>}> : () -> tensor<i32>
    %c = "stablehlo.compare"(%a, %most) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %e = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %both = "stablehlo.and"(%c, %e) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%both) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %next = "stablehlo.add"(%a, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%next, %b) : (tensor<i32>, tensor<i32>) -> ()
  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %9 = "stablehlo.custom_call"(%x) <{call_target_name = "Sharding"}> : (tensor<4xf32>) -> tensor<4xf32>
  %10 = "stablehlo.custom_call"(%x) <{call_target_name = "lapack_spotrf_ffi"}> : (tensor<4xf32>) -> tensor<4xf32>
  %c0 = "stablehlo.custom_call"(%x) <{call_target_name = "xla_ffi_python_cpu_callback"}> : (tensor<4xf32>) -> tensor<4xf32>
  %c1 = "stablehlo.custom_call"(%x) <{call_target_name = "ApproxTopK"}> : (tensor<4xf32>) -> tensor<4xf32>
  %c2 = "stablehlo.custom_call"(%x) <{call_target_name = "other"}> : (tensor<4xf32>) -> tensor<4xf32>
  %11 = "stablehlo.rng"(%zero, %zero, %i) : (tensor<f32>, tensor<f32>, tensor<4xi32>) -> tensor<4xf32>
  %key = "stablehlo.constant"() <{value = dense<1> : tensor<2xui64>}> : () -> tensor<2xui64>
  %42:2 = "stablehlo.rng_bit_generator"(%key) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %12 = "sdy.manual_computation"(%x) ({}) : (tensor<4xf32>) -> tensor<4xf32>
  %13 = "stablehlo.partition_id"() : () -> tensor<ui32>
  %14 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({}) : (tensor<4xf32>) -> tensor<4xf32>
  %15 = "stablehlo.convert"(%x) : (tensor<4xf32>) -> tensor<4xf8E5M2>
  %16 = "stablehlo.convert"(%x) : (tensor<4xf32>) -> tensor<?xf32>
  %empty = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<0xf32>
  %izeros = "stablehlo.constant"() <{value = dense<0> : tensor<2x1xi32>}> : () -> tensor<2x1xi32>
  %17 = "stablehlo.gather"(%empty, %izeros) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<0xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  %nowhere = "stablehlo.constant"() <{value = dense<> : tensor<2x0xi32>}> : () -> tensor<2x0xi32>
  %rows = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<2x4xf32>
  %places = "stablehlo.scatter"(%x, %nowhere, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<2x0xi32>, tensor<2x4xf32>) -> tensor<4xf32>
  %18 = "stablehlo.convert"(%x) : (tensor<4xf32>) -> tensor<4xf32, "sparse">
  %19 = "stablehlo.convert"(%x) : (tensor<4xf32>) -> tuple<>
  %20 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %21 = "stablehlo.and"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %22 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  %flags = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %23 = "stablehlo.bitcast_convert"(%flags) : (tensor<4xi1>) -> tensor<4xi8>
  %24 = "stablehlo.dot_general"(%x, %i) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<4xf32>, tensor<4xi32>) -> tensor<i32>
  %37 = "chlo.bessel_i1e"(%d) : (tensor<4xf64>) -> tensor<4xf64>
  %38 = "chlo.next_after"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %26 = "stablehlo.scatter"(%x, %at, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<3x1xi32>, tensor<4xf32>) -> tensor<4xf32>
  %27 = "stablehlo.gather"(%m, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x8xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %30:2 = "stablehlo.scatter"(%x, %x, %at, %x, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({}) : (tensor<4xf32>, tensor<4xf32>, tensor<3x1xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %31 = "stablehlo.constant"() <{value = dense_resource<elsewhere> : tensor<4xf32>}> : () -> tensor<4xf32>
  %28 = func.call @recursive(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
func.func private @recursive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @recursive(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
