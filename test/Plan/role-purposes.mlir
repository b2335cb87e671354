// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --pipeline="axis=pipe" --target=none -o %t.plan | FileCheck %s
// RUN: shard-run %t.plan --dump=states | FileCheck %s --check-prefix=STATES

// What the prologue gathers of parameters is a communication buffer, also where
// one collective gathers several and a kernel takes them apart; so is what is
// only sent or received. A sum that is no gradient is a temporary.

// Parameters are those at rest. The passes are so short that nothing would be
// seen of them beside transfers.
// CHECK: 0 0 256 B
// CHECK-NEXT: 1 1 256 B
// CHECK-NEXT: bubble {{[0-9.]+}} % of the makespan
// CHECK-NEXT: transfers take most of the time; drawn without them, forward passes, input and weight gradients equally long
// CHECK-NEXT: rank 0 |F0 F1 ......B0    F2 B1    F3 B2    ...B3    |

// STATES-DAG: state "x" {{.*}} argument role 0
// STATES-DAG: state "micro-batch" {{.*}} temporary role 0
// STATES-DAG: state "a" {{.*}} parameter role 0{{$}}
// STATES-DAG: state "m" {{.*}} optimizer state role 0{{$}}
// STATES-DAG: state "0P0:{{[0-9]}}" {{.*}} communication role 0
// STATES-DAG: state "0P0:{{[0-9]}}" {{.*}} communication role 0
// STATES-DAG: state "gradient of a" {{.*}} gradient role 0
// STATES-DAG: state "0F:{{[0-9]}}" {{.*}} activation role 0
// STATES-DAG: state "1B:{{[0-9]}}" {{.*}} communication role 0
// STATES-DAG: state "0F:{{[0-9]}}" {{.*}} activation role 1
// STATES-DAG: state "1B:{{[0-9]}}" {{.*}} communication role 1
// STATES-DAG: state "1F:{{[0-9]}}" {{.*}} temporary role 1
// STATES-DAG: state "loss" {{.*}} result role 1
// STATES-NOT: 0P0:{{.*}}activation

weft.mesh @mesh = <["pipe"=2, "data"=2]>

func.func private @loss(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>, %x: tensor<4x8xf32>) -> tensor<f32> {
  %s = weft.dot_general %x, %a contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h = math.tanh %s : tensor<4x8xf32>
  %t = weft.dot_general %h, %b contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %k = math.tanh %t : tensor<4x8xf32>
  %cut = weft.stage_boundary %k : tensor<4x8xf32>
  %u = weft.dot_general %cut, %c contracting = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = math.tanh %u : tensor<4x8xf32>
  %l = weft.reduce sum %y dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

func.func @step(
    %x: tensor<16x8xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %a: tensor<8x8xf32> {weft.name = "a", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %b: tensor<8x8xf32> {weft.name = "b", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %c: tensor<8x8xf32> {weft.name = "c", weft.sharding = #weft.sharding<@mesh, [{}, {}]>},
    %m: tensor<8x8xf32> {weft.name = "m", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<f32> {weft.name = "loss"}, tensor<8x8xf32> {weft.name = "a"}, tensor<8x8xf32> {weft.name = "b"},
        tensor<8x8xf32> {weft.name = "c"}, tensor<8x8xf32> {weft.name = "m"}) {
  %ai = weft.microbatch_use %a of <"batch", 4> : tensor<8x8xf32>
  %bi = weft.microbatch_use %b of <"batch", 4> : tensor<8x8xf32>
  %ci = weft.microbatch_use %c of <"batch", 4> : tensor<8x8xf32>
  %rows = weft.reshape %x : tensor<16x8xf32> -> tensor<4x4x8xf32>
  %xi = weft.microbatch_slice %rows dim = 1 of <"batch", 4> : tensor<4x4x8xf32> -> tensor<4x8xf32>
  %l, %da, %db, %dc = weft.value_and_grad @loss(%ai, %bi, %ci, %xi) wrt = [0, 1, 2]
      : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>)
      -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
  %loss = weft.microbatch_sum %l of <"batch", 4> : tensor<f32>
  %ga = weft.microbatch_sum %da of <"batch", 4> : tensor<8x8xf32>
  %gb = weft.microbatch_sum %db of <"batch", 4> : tensor<8x8xf32>
  %gc = weft.microbatch_sum %dc of <"batch", 4> : tensor<8x8xf32>
  %new_m = arith.addf %m, %ga : tensor<8x8xf32>
  %new_a = arith.subf %a, %new_m : tensor<8x8xf32>
  %new_b = arith.subf %b, %gb : tensor<8x8xf32>
  %new_c = arith.subf %c, %gc : tensor<8x8xf32>
  return %loss, %new_a, %new_b, %new_c, %new_m
      : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
