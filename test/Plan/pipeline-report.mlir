// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --pipeline="axis=pipe schedule=zb-h1" --target=none -o %t.plan | FileCheck %s --check-prefix=HALVES
// RUN: shard-compile %s --pipeline="axis=pipe schedule=interleaved-1f1b chunks=2" --mesh=pipe=2 --target=none -o %t.plan | FileCheck %s --check-prefix=CHUNKS
// RUN: shard-run %t.plan --dump=states | FileCheck %s --check-prefix=STATES
// RUN: shard-compile %s --pipeline="axis=pipe" --target=cuda:sm_90 --ptxas=none -o %t.plan | FileCheck %s --check-prefix=CUDA

// CUDA: kernels for sm_90: PTX only
// CUDA-NEXT: entry step: 44 GEMMs
// CUDA-NEXT: 1f1b, 4 ranks, 4 micro-batches, 1 stage per rank, along "pipe"

// One section for the entry, none for its segments. Nobody waits for an input
// gradient of the first stage. What is alive at the peak is alive in the update
// of a rank, and beside it in the slots of its states.

// HALVES: entry step: 44 GEMMs, 52 kernel launches, 5 collectives, 1 copy
// HALVES-NEXT: zb-h1, 4 ranks, 4 micro-batches, 1 stage per rank, along "pipe"
// HALVES-NEXT: forward backward input-gradient weight-gradient once a step sent to sent in
// HALVES-NEXT: stage rank parameters FLOPs FLOPs FLOPs FLOPs FLOPs stages collectives bubble memory
// HALVES-NEXT: 0 0 256 MiB 68.7 G 68.7 G 0 68.7 G 67.1 M 64.0 MiB 256 MiB {{[0-9.]+}} % {{[0-9]+}} MiB
// HALVES-NEXT: 1 1 256 MiB 68.7 G 137 G 68.7 G 68.7 G 67.1 M 128 MiB 256 MiB {{[0-9.]+}} % {{[0-9]+}} MiB
// HALVES-NEXT: 2 2 256 MiB 68.7 G 137 G 68.7 G 68.7 G 67.1 M 128 MiB 256 MiB {{[0-9.]+}} % {{[0-9]+}} MiB
// HALVES-NEXT: 3 3 256 MiB 68.7 G 137 G 68.7 G 68.7 G 67.1 M 64.0 MiB 256 MiB {{[0-9.]+}} % {{[0-9]+}} MiB
// HALVES-NEXT: estimated for the micro-batches: makespan {{[0-9.]+}} ms ({{1[.][0-9]+}}x the lower bound), bubble {{[0-9.]+}} % of the makespan; before and behind them {{[0-9.]+}} ms
// HALVES-NEXT: rank 0 |F0 F1
// HALVES-NEXT: rank 1 |...F
// HALVES-NEXT: rank 2 |
// HALVES-NEXT: rank 3 |
// HALVES-NEXT: message bytes sent count queue
// HALVES-NEXT: activations of stage 0 for stage 1 16.0 MiB 4 0
// HALVES-NEXT: activations of stage 1 for stage 2 16.0 MiB 4 1
// HALVES-NEXT: gradients of stage 1 for stage 0 16.0 MiB 4 2
// HALVES-NEXT: activations of stage 2 for stage 3 16.0 MiB 4 3
// HALVES-NEXT: gradients of stage 2 for stage 1 16.0 MiB 4 4
// HALVES-NEXT: gradients of stage 3 for stage 2 16.0 MiB 4 5
// HALVES-NEXT: 384 MiB (402653184 bytes) sent from stage to stage per call
// HALVES-NEXT: collective axes bytes sent count cause
// HALVES-NEXT: all_reduce data 256 MiB 1 partial sums over {"data"} of weft.microbatch_sum (gradient of w0, pipeline-report.mlir:{{[0-9]+}}),
// HALVES-NEXT: all_reduce data 256 MiB 1 partial sums over {"data"} of weft.microbatch_sum (gradient of w1, pipeline-report.mlir:{{[0-9]+}}),
// HALVES-NEXT: all_reduce data 256 MiB 1 partial sums over {"data"} of weft.microbatch_sum (gradient of w2, pipeline-report.mlir:{{[0-9]+}}),
// HALVES-NEXT: all_reduce data 256 MiB 1 partial sums over {"data"} of weft.microbatch_sum (gradient of w3, pipeline-report.mlir:{{[0-9]+}}),
// HALVES-NEXT: all_reduce data 4 B 1 partial sums over {"data"} of weft.microbatch_sum (pipeline-report.mlir:{{[0-9]+}}),
// HALVES-NEXT: 1.00 GiB (1073741828 bytes) sent by the stages per call
// HALVES-NEXT: memory of a rank in step, at its peak
// HALVES-NEXT: communication
// HALVES-NEXT: rank parameters gradients activations buffers arguments results constants temporaries free arena
// HALVES-NEXT: 0 256 MiB 512 MiB {{.*}} {{[0-9]+}} MiB
// HALVES-NEXT: 1 256 MiB 512 MiB {{.*}} {{[0-9]+}} MiB
// HALVES-NEXT: 2 256 MiB 512 MiB {{.*}} {{[0-9]+}} MiB
// HALVES-NEXT: 3 256 MiB 512 MiB {{.*}} {{[0-9]+}} MiB
// HALVES-NEXT: rank 1: 1.000x the liveness lower bound
// HALVES-NEXT: alive at the peak of rank 1 (step.1U0, pipeline-report.mlir:{{[0-9]+}})
// HALVES-NEXT: 256 MiB parameters f32[8192x8192] w1
// HALVES-NEXT: 256 MiB gradients f32[8192x8192] gradient of w1, pipeline-report.mlir:{{[0-9]+}}
// HALVES-NEXT: 256 MiB gradients f32[8192x8192] gradient of w1, pipeline-report.mlir:{{[0-9]+}}
// HALVES-NEXT: {{[0-9.]+}} MiB activations f32[512x8192] pipeline-report.mlir:{{[0-9]+}}, {{[0-9]}} slots

// The stages of a rank share its update and its memory; each reduces its own
// gradient.

// CHUNKS: entry step: 44 GEMMs, 52 kernel launches, 5 collectives, 1 copy
// CHUNKS-NEXT: interleaved-1f1b, 2 ranks, 4 micro-batches, 2 stages per rank, along "pipe"
// CHUNKS-NEXT: forward backward once a step sent to sent in
// CHUNKS-NEXT: stage rank parameters FLOPs FLOPs FLOPs stages collectives bubble memory
// CHUNKS-NEXT: 0 0 256 MiB 68.7 G 68.7 G 134 M 64.0 MiB 256 MiB {{[0-9.]+}} % {{[0-9.]+}} GiB
// CHUNKS-NEXT: 1 1 256 MiB 68.7 G 137 G 134 M 128 MiB 256 MiB {{[0-9.]+}} % {{[0-9.]+}} GiB
// CHUNKS-NEXT: 2 0 256 MiB 68.7 G 137 G 128 MiB 256 MiB
// CHUNKS-NEXT: 3 1 256 MiB 68.7 G 137 G 64.0 MiB 256 MiB
// CHUNKS-NEXT: estimated for the micro-batches: makespan {{[0-9.]+}} ms ({{1[.][0-9]+}}x the lower bound), bubble {{[0-9.]+}} % of the makespan; before and behind them {{[0-9.]+}} ms
// CHUNKS-NEXT: rank 0 |F0 F1
// CHUNKS-NEXT: rank 1 |...F

// What one segment leaves for others of its role is an activation, what is only
// sent or received a communication buffer.

// STATES: state "x" {{.*}} argument role 0 internal
// STATES: state "micro-batch" {{.*}} temporary role 0 slots 4
// STATES: state "w0" {{.*}} parameter role 0{{$}}
// STATES: state "0F:0" {{.*}} activation role 0
// STATES: state "1B:0" {{.*}} communication role 0
// STATES: state "gradient of w0" {{.*}} gradient role 0
// STATES: state "0F:0" {{.*}} activation role 1
// STATES: state "1B:0" {{.*}} communication role 1
// STATES: state "3F:1" {{.*}} temporary role 1
// STATES: state "loss" {{.*}} result role 1

weft.mesh @mesh = <["pipe"=4, "data"=2]>

func.func private @loss(%w0: tensor<8192x8192xf32>, %w1: tensor<8192x8192xf32>, %w2: tensor<8192x8192xf32>, %w3: tensor<8192x8192xf32>,
    %x: tensor<1024x8192xf32>) -> tensor<f32> {
  %s0 = weft.dot_general %x, %w0 contracting = [1] x [0] : (tensor<1024x8192xf32>, tensor<8192x8192xf32>) -> tensor<1024x8192xf32>
  %h0 = math.tanh %s0 : tensor<1024x8192xf32>
  %b0 = weft.stage_boundary %h0 : tensor<1024x8192xf32>
  %s1 = weft.dot_general %b0, %w1 contracting = [1] x [0] : (tensor<1024x8192xf32>, tensor<8192x8192xf32>) -> tensor<1024x8192xf32>
  %h1 = math.tanh %s1 : tensor<1024x8192xf32>
  %b1 = weft.stage_boundary %h1 : tensor<1024x8192xf32>
  %s2 = weft.dot_general %b1, %w2 contracting = [1] x [0] : (tensor<1024x8192xf32>, tensor<8192x8192xf32>) -> tensor<1024x8192xf32>
  %h2 = math.tanh %s2 : tensor<1024x8192xf32>
  %b2 = weft.stage_boundary %h2 : tensor<1024x8192xf32>
  %s3 = weft.dot_general %b2, %w3 contracting = [1] x [0] : (tensor<1024x8192xf32>, tensor<8192x8192xf32>) -> tensor<1024x8192xf32>
  %h3 = math.tanh %s3 : tensor<1024x8192xf32>
  %l = weft.reduce sum %h3 dims = [0, 1] : tensor<1024x8192xf32> -> tensor<f32>
  return %l : tensor<f32>
}

func.func @step(
    %x: tensor<4096x8192xf32> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>},
    %w0: tensor<8192x8192xf32> {weft.name = "w0"},
    %w1: tensor<8192x8192xf32> {weft.name = "w1"},
    %w2: tensor<8192x8192xf32> {weft.name = "w2"},
    %w3: tensor<8192x8192xf32> {weft.name = "w3"})
    -> (tensor<f32> {weft.name = "loss"},
        tensor<8192x8192xf32> {weft.name = "w0"},
        tensor<8192x8192xf32> {weft.name = "w1"},
        tensor<8192x8192xf32> {weft.name = "w2"},
        tensor<8192x8192xf32> {weft.name = "w3"}) {
  %u0 = weft.microbatch_use %w0 of <"batch", 4> : tensor<8192x8192xf32>
  %u1 = weft.microbatch_use %w1 of <"batch", 4> : tensor<8192x8192xf32>
  %u2 = weft.microbatch_use %w2 of <"batch", 4> : tensor<8192x8192xf32>
  %u3 = weft.microbatch_use %w3 of <"batch", 4> : tensor<8192x8192xf32>
  %rows = weft.reshape %x : tensor<4096x8192xf32> -> tensor<1024x4x8192xf32>
  %part = weft.microbatch_slice %rows dim = 1 of <"batch", 4> : tensor<1024x4x8192xf32> -> tensor<1024x8192xf32>
  %l, %g0, %g1, %g2, %g3 = weft.value_and_grad @loss(%u0, %u1, %u2, %u3, %part) wrt = [0, 1, 2, 3]
      : (tensor<8192x8192xf32>, tensor<8192x8192xf32>, tensor<8192x8192xf32>, tensor<8192x8192xf32>, tensor<1024x8192xf32>)
      -> (tensor<f32>, tensor<8192x8192xf32>, tensor<8192x8192xf32>, tensor<8192x8192xf32>, tensor<8192x8192xf32>)
  %loss = weft.microbatch_sum %l of <"batch", 4> : tensor<f32>
  %sum0 = weft.microbatch_sum %g0 of <"batch", 4> : tensor<8192x8192xf32>
  %new0 = arith.subf %w0, %sum0 : tensor<8192x8192xf32>
  %sum1 = weft.microbatch_sum %g1 of <"batch", 4> : tensor<8192x8192xf32>
  %new1 = arith.subf %w1, %sum1 : tensor<8192x8192xf32>
  %sum2 = weft.microbatch_sum %g2 of <"batch", 4> : tensor<8192x8192xf32>
  %new2 = arith.subf %w2, %sum2 : tensor<8192x8192xf32>
  %sum3 = weft.microbatch_sum %g3 of <"batch", 4> : tensor<8192x8192xf32>
  %new3 = arith.subf %w3, %sum3 : tensor<8192x8192xf32>
  return %loss, %new0, %new1, %new2, %new3
      : tensor<f32>, tensor<8192x8192xf32>, tensor<8192x8192xf32>, tensor<8192x8192xf32>, tensor<8192x8192xf32>
}
