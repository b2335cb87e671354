//===- mlp_lm.mlir - A byte-level language model and its training step ----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After Bengio, Ducharme, Vincent, Jauvin, "A Neural Probabilistic Language
// Model" (2003): the embeddings of 16 bytes of context, two hidden layers of
// 512 with tanh, and a softmax over the next byte; trained with stochastic
// gradient descent with momentum. Forward, backward and update are written out.
//
// One file serves every layout. The mesh below has one device; a compile
// resizes its axes:
//
//   --mesh data=4           data parallelism: every rank has a quarter of the
//                           batch; one gradient reduction a parameter
//   --mesh model=4          tensor parallelism after Megatron: w1 by columns,
//                           w2 by rows; one all-reduce forward, one backward
//   --mesh data=2,model=2   both
//
// Four values are annotated, x, y, w1 and w2; propagation finds the rest.
//
//===----------------------------------------------------------------------===//

weft.mesh @mesh = <["data"=1, "model"=1]>

// The batch is split over "data".
#batch = #weft.sharding<@mesh, [{"data"}]>
#batch_rows = #weft.sharding<@mesh, [{"data"}, {}]>
// The first hidden layer is split by units, so w1 by columns and w2 by rows.
#columns = #weft.sharding<@mesh, [{}, {"model"}]>
#rows = #weft.sharding<@mesh, [{"model"}, {}]>

// One step on 256 pairs of a context x and the byte y that follows it. A result
// with the name of an argument updates it: parameters and momenta stay in place
// from call to call.
func.func @train_step(
    %x: tensor<256x16xi32> {weft.name = "x", weft.sharding = #batch_rows},
    %y: tensor<256xi32> {weft.name = "y", weft.sharding = #batch},
    %embedding: tensor<256x64xf32> {weft.name = "embedding"},
    %w1: tensor<1024x512xf32> {weft.name = "w1", weft.sharding = #columns},
    %b1: tensor<512xf32> {weft.name = "b1"},
    %w2: tensor<512x512xf32> {weft.name = "w2", weft.sharding = #rows},
    %b2: tensor<512xf32> {weft.name = "b2"},
    %w3: tensor<512x256xf32> {weft.name = "w3"},
    %b3: tensor<256xf32> {weft.name = "b3"},
    %momentum_embedding: tensor<256x64xf32> {weft.name = "momentum.embedding"},
    %momentum_w1: tensor<1024x512xf32> {weft.name = "momentum.w1"},
    %momentum_b1: tensor<512xf32> {weft.name = "momentum.b1"},
    %momentum_w2: tensor<512x512xf32> {weft.name = "momentum.w2"},
    %momentum_b2: tensor<512xf32> {weft.name = "momentum.b2"},
    %momentum_w3: tensor<512x256xf32> {weft.name = "momentum.w3"},
    %momentum_b3: tensor<256xf32> {weft.name = "momentum.b3"})
    -> (tensor<f32> {weft.name = "loss"},
        tensor<256x64xf32> {weft.name = "embedding"},
        tensor<1024x512xf32> {weft.name = "w1"},
        tensor<512xf32> {weft.name = "b1"},
        tensor<512x512xf32> {weft.name = "w2"},
        tensor<512xf32> {weft.name = "b2"},
        tensor<512x256xf32> {weft.name = "w3"},
        tensor<256xf32> {weft.name = "b3"},
        tensor<256x64xf32> {weft.name = "momentum.embedding"},
        tensor<1024x512xf32> {weft.name = "momentum.w1"},
        tensor<512xf32> {weft.name = "momentum.b1"},
        tensor<512x512xf32> {weft.name = "momentum.w2"},
        tensor<512xf32> {weft.name = "momentum.b2"},
        tensor<512x256xf32> {weft.name = "momentum.w3"},
        tensor<256xf32> {weft.name = "momentum.b3"}) {
  %batch = arith.constant dense<256.0> : tensor<f32>

  //===--- Forward ------------------------------------------------------===//

  // Embedding lookup: row x[b, c] of the table is the product of the table with
  // a row that has its only 1 at that place.
  %x_wide = weft.broadcast %x dims = [0, 1]
      : tensor<256x16xi32> -> tensor<256x16x256xi32>
  %x_bytes = weft.iota dim = 2 : tensor<256x16x256xi32>
  %x_hit = arith.cmpi eq, %x_wide, %x_bytes : tensor<256x16x256xi32>
  %x_hot = arith.uitofp %x_hit : tensor<256x16x256xi1> to tensor<256x16x256xf32>
  %lookup = weft.dot_general %x_hot, %embedding contracting = [2] x [0]
      : (tensor<256x16x256xf32>, tensor<256x64xf32>) -> tensor<256x16x64xf32>
  %features = weft.reshape %lookup
      : tensor<256x16x64xf32> -> tensor<256x1024xf32>

  // First hidden layer: h1 = tanh(features w1 + b1). Split by units over
  // "model" it needs no communication.
  %s1 = weft.dot_general %features, %w1 contracting = [1] x [0]
      : (tensor<256x1024xf32>, tensor<1024x512xf32>) -> tensor<256x512xf32>
  %b1_rows = weft.broadcast %b1 dims = [1]
      : tensor<512xf32> -> tensor<256x512xf32>
  %z1 = arith.addf %s1, %b1_rows : tensor<256x512xf32>
  %h1 = math.tanh %z1 : tensor<256x512xf32>

  // Second hidden layer: h2 = tanh(h1 w2 + b2). A rank of "model" has some of
  // the terms of each sum h1 w2: the all-reduce of the forward pass.
  %s2 = weft.dot_general %h1, %w2 contracting = [1] x [0]
      : (tensor<256x512xf32>, tensor<512x512xf32>) -> tensor<256x512xf32>
  %b2_rows = weft.broadcast %b2 dims = [1]
      : tensor<512xf32> -> tensor<256x512xf32>
  %z2 = arith.addf %s2, %b2_rows : tensor<256x512xf32>
  %h2 = math.tanh %z2 : tensor<256x512xf32>

  // Output layer: logits = h2 w3 + b3.
  %s3 = weft.dot_general %h2, %w3 contracting = [1] x [0]
      : (tensor<256x512xf32>, tensor<512x256xf32>) -> tensor<256x256xf32>
  %b3_rows = weft.broadcast %b3 dims = [1]
      : tensor<256xf32> -> tensor<256x256xf32>
  %logits = arith.addf %s3, %b3_rows : tensor<256x256xf32>

  // Loss: the mean over the batch of
  // log(sum_j exp(logits[b, j])) - logits[b, y]. Subtracting the largest logit
  // of a row first changes nothing but the range.
  %top = weft.reduce max %logits dims = [1]
      : tensor<256x256xf32> -> tensor<256xf32>
  %top_rows = weft.broadcast %top dims = [0]
      : tensor<256xf32> -> tensor<256x256xf32>
  %shifted = arith.subf %logits, %top_rows : tensor<256x256xf32>
  %exps = math.exp %shifted : tensor<256x256xf32>
  %sums = weft.reduce sum %exps dims = [1]
      : tensor<256x256xf32> -> tensor<256xf32>
  %log_sums = math.log %sums : tensor<256xf32>
  %y_wide = weft.broadcast %y dims = [0]
      : tensor<256xi32> -> tensor<256x256xi32>
  %y_bytes = weft.iota dim = 1 : tensor<256x256xi32>
  %y_hit = arith.cmpi eq, %y_wide, %y_bytes : tensor<256x256xi32>
  %y_hot = arith.uitofp %y_hit : tensor<256x256xi1> to tensor<256x256xf32>
  %picked = arith.mulf %shifted, %y_hot : tensor<256x256xf32>
  %target = weft.reduce sum %picked dims = [1]
      : tensor<256x256xf32> -> tensor<256xf32>
  %losses = arith.subf %log_sums, %target : tensor<256xf32>
  %loss_sum = weft.reduce sum %losses dims = [0]
      : tensor<256xf32> -> tensor<f32>
  %loss = arith.divf %loss_sum, %batch : tensor<f32>

  //===--- Backward -----------------------------------------------------===//

  // d_v is the derivative of the loss by v. For the logits it is
  // (softmax(logits) - onehot(y)) / 256.
  %sums_rows = weft.broadcast %sums dims = [0]
      : tensor<256xf32> -> tensor<256x256xf32>
  %softmax = arith.divf %exps, %sums_rows : tensor<256x256xf32>
  %excess = arith.subf %softmax, %y_hot : tensor<256x256xf32>
  %batch_wide = arith.constant dense<256.0> : tensor<256x256xf32>
  %d_logits = arith.divf %excess, %batch_wide : tensor<256x256xf32>

  // Output layer. The gradient of a weight is a sum over the batch; where the
  // batch is split, a rank has some of its terms.
  %d_w3 = weft.dot_general %h2, %d_logits contracting = [0] x [0]
      : (tensor<256x512xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
  %d_b3 = weft.reduce sum %d_logits dims = [0]
      : tensor<256x256xf32> -> tensor<256xf32>
  %d_h2 = weft.dot_general %d_logits, %w3 contracting = [1] x [1]
      : (tensor<256x256xf32>, tensor<512x256xf32>) -> tensor<256x512xf32>

  // Second hidden layer; the derivative of tanh is 1 - tanh^2.
  %one_wide = arith.constant dense<1.0> : tensor<256x512xf32>
  %h2_squared = arith.mulf %h2, %h2 : tensor<256x512xf32>
  %slope2 = arith.subf %one_wide, %h2_squared : tensor<256x512xf32>
  %d_z2 = arith.mulf %d_h2, %slope2 : tensor<256x512xf32>
  %d_w2 = weft.dot_general %h1, %d_z2 contracting = [0] x [0]
      : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
  %d_b2 = weft.reduce sum %d_z2 dims = [0]
      : tensor<256x512xf32> -> tensor<512xf32>
  %d_h1 = weft.dot_general %d_z2, %w2 contracting = [1] x [1]
      : (tensor<256x512xf32>, tensor<512x512xf32>) -> tensor<256x512xf32>

  // First hidden layer. Split by units, d_features is a sum over the ranks of
  // "model": the all-reduce of the backward pass.
  %h1_squared = arith.mulf %h1, %h1 : tensor<256x512xf32>
  %slope1 = arith.subf %one_wide, %h1_squared : tensor<256x512xf32>
  %d_z1 = arith.mulf %d_h1, %slope1 : tensor<256x512xf32>
  %d_w1 = weft.dot_general %features, %d_z1 contracting = [0] x [0]
      : (tensor<256x1024xf32>, tensor<256x512xf32>) -> tensor<1024x512xf32>
  %d_b1 = weft.reduce sum %d_z1 dims = [0]
      : tensor<256x512xf32> -> tensor<512xf32>
  %d_features = weft.dot_general %d_z1, %w1 contracting = [1] x [1]
      : (tensor<256x512xf32>, tensor<1024x512xf32>) -> tensor<256x1024xf32>

  // Embedding: the transposed product adds up what the occurrences of a byte
  // ask for.
  %d_lookup = weft.reshape %d_features
      : tensor<256x1024xf32> -> tensor<256x16x64xf32>
  %d_embedding = weft.dot_general %x_hot, %d_lookup
      contracting = [0, 1] x [0, 1]
      : (tensor<256x16x256xf32>, tensor<256x16x64xf32>) -> tensor<256x64xf32>

  //===--- Update -------------------------------------------------------===//

  // For each parameter p with gradient g: momentum = 0.9 momentum + g,
  // p = p - 0.1 momentum.
  %decay_embedding = arith.constant dense<0.9> : tensor<256x64xf32>
  %rate_embedding = arith.constant dense<0.1> : tensor<256x64xf32>
  %kept_embedding = arith.mulf %decay_embedding, %momentum_embedding
      : tensor<256x64xf32>
  %new_momentum_embedding = arith.addf %kept_embedding, %d_embedding
      : tensor<256x64xf32>
  %step_embedding = arith.mulf %rate_embedding, %new_momentum_embedding
      : tensor<256x64xf32>
  %new_embedding = arith.subf %embedding, %step_embedding : tensor<256x64xf32>

  %decay_w1 = arith.constant dense<0.9> : tensor<1024x512xf32>
  %rate_w1 = arith.constant dense<0.1> : tensor<1024x512xf32>
  %kept_w1 = arith.mulf %decay_w1, %momentum_w1 : tensor<1024x512xf32>
  %new_momentum_w1 = arith.addf %kept_w1, %d_w1 : tensor<1024x512xf32>
  %step_w1 = arith.mulf %rate_w1, %new_momentum_w1 : tensor<1024x512xf32>
  %new_w1 = arith.subf %w1, %step_w1 : tensor<1024x512xf32>

  %decay_b1 = arith.constant dense<0.9> : tensor<512xf32>
  %rate_b1 = arith.constant dense<0.1> : tensor<512xf32>
  %kept_b1 = arith.mulf %decay_b1, %momentum_b1 : tensor<512xf32>
  %new_momentum_b1 = arith.addf %kept_b1, %d_b1 : tensor<512xf32>
  %step_b1 = arith.mulf %rate_b1, %new_momentum_b1 : tensor<512xf32>
  %new_b1 = arith.subf %b1, %step_b1 : tensor<512xf32>

  %decay_w2 = arith.constant dense<0.9> : tensor<512x512xf32>
  %rate_w2 = arith.constant dense<0.1> : tensor<512x512xf32>
  %kept_w2 = arith.mulf %decay_w2, %momentum_w2 : tensor<512x512xf32>
  %new_momentum_w2 = arith.addf %kept_w2, %d_w2 : tensor<512x512xf32>
  %step_w2 = arith.mulf %rate_w2, %new_momentum_w2 : tensor<512x512xf32>
  %new_w2 = arith.subf %w2, %step_w2 : tensor<512x512xf32>

  %decay_b2 = arith.constant dense<0.9> : tensor<512xf32>
  %rate_b2 = arith.constant dense<0.1> : tensor<512xf32>
  %kept_b2 = arith.mulf %decay_b2, %momentum_b2 : tensor<512xf32>
  %new_momentum_b2 = arith.addf %kept_b2, %d_b2 : tensor<512xf32>
  %step_b2 = arith.mulf %rate_b2, %new_momentum_b2 : tensor<512xf32>
  %new_b2 = arith.subf %b2, %step_b2 : tensor<512xf32>

  %decay_w3 = arith.constant dense<0.9> : tensor<512x256xf32>
  %rate_w3 = arith.constant dense<0.1> : tensor<512x256xf32>
  %kept_w3 = arith.mulf %decay_w3, %momentum_w3 : tensor<512x256xf32>
  %new_momentum_w3 = arith.addf %kept_w3, %d_w3 : tensor<512x256xf32>
  %step_w3 = arith.mulf %rate_w3, %new_momentum_w3 : tensor<512x256xf32>
  %new_w3 = arith.subf %w3, %step_w3 : tensor<512x256xf32>

  %decay_b3 = arith.constant dense<0.9> : tensor<256xf32>
  %rate_b3 = arith.constant dense<0.1> : tensor<256xf32>
  %kept_b3 = arith.mulf %decay_b3, %momentum_b3 : tensor<256xf32>
  %new_momentum_b3 = arith.addf %kept_b3, %d_b3 : tensor<256xf32>
  %step_b3 = arith.mulf %rate_b3, %new_momentum_b3 : tensor<256xf32>
  %new_b3 = arith.subf %b3, %step_b3 : tensor<256xf32>

  return %loss, %new_embedding, %new_w1, %new_b1, %new_w2, %new_b2, %new_w3,
      %new_b3, %new_momentum_embedding, %new_momentum_w1, %new_momentum_b1,
      %new_momentum_w2, %new_momentum_b2, %new_momentum_w3, %new_momentum_b3
      : tensor<f32>, tensor<256x64xf32>, tensor<1024x512xf32>, tensor<512xf32>,
        tensor<512x512xf32>, tensor<512xf32>, tensor<512x256xf32>,
        tensor<256xf32>, tensor<256x64xf32>, tensor<1024x512xf32>,
        tensor<512xf32>, tensor<512x512xf32>, tensor<512xf32>,
        tensor<512x256xf32>, tensor<256xf32>
}

// The states before the first step. Weights are uniform on
// [-sqrt(3 / n), sqrt(3 / n)) where n is the number of inputs of a unit (and on
// [-1, 1) in the table), biases and momenta are zero.
//
// Each random number is a hash of its place in the whole tensor, so it does not
// depend on how the tensor is sharded: the counter of element i of the k-th
// weight is k 2^20 + i, mixed by two rounds of xor-shift and multiply
// (lowbias32 of Chris Wellons); its upper 24 bits, scaled by 2^-23 and shifted
// by -1, are a number of [-1, 1) without rounding.
func.func @init()
    -> (tensor<256x64xf32> {weft.name = "embedding"},
        tensor<1024x512xf32> {weft.name = "w1"},
        tensor<512xf32> {weft.name = "b1"},
        tensor<512x512xf32> {weft.name = "w2"},
        tensor<512xf32> {weft.name = "b2"},
        tensor<512x256xf32> {weft.name = "w3"},
        tensor<256xf32> {weft.name = "b3"},
        tensor<256x64xf32> {weft.name = "momentum.embedding"},
        tensor<1024x512xf32> {weft.name = "momentum.w1"},
        tensor<512xf32> {weft.name = "momentum.b1"},
        tensor<512x512xf32> {weft.name = "momentum.w2"},
        tensor<512xf32> {weft.name = "momentum.b2"},
        tensor<512x256xf32> {weft.name = "momentum.w3"},
        tensor<256xf32> {weft.name = "momentum.b3"}) {
  //===--- embedding ----------------------------------------------------===//

  %embedding_row = weft.iota dim = 0 : tensor<256x64xi32>
  %embedding_column = weft.iota dim = 1 : tensor<256x64xi32>
  %embedding_strides = arith.constant dense<64> : tensor<256x64xi32>
  %embedding_streams = arith.constant dense<0x100000> : tensor<256x64xi32>
  %embedding_c0 = arith.muli %embedding_row, %embedding_strides
      : tensor<256x64xi32>
  %embedding_c1 = arith.addi %embedding_c0, %embedding_column
      : tensor<256x64xi32>
  %embedding_c2 = arith.addi %embedding_c1, %embedding_streams
      : tensor<256x64xi32>
  %embedding_shift16 = arith.constant dense<16> : tensor<256x64xi32>
  %embedding_mix1 = arith.constant dense<0x7FEB352D> : tensor<256x64xi32>
  %embedding_shift15 = arith.constant dense<15> : tensor<256x64xi32>
  %embedding_mix2 = arith.constant dense<0x846CA68B> : tensor<256x64xi32>
  %embedding_m0 = arith.shrui %embedding_c2, %embedding_shift16
      : tensor<256x64xi32>
  %embedding_m1 = arith.xori %embedding_c2, %embedding_m0 : tensor<256x64xi32>
  %embedding_m2 = arith.muli %embedding_m1, %embedding_mix1 : tensor<256x64xi32>
  %embedding_m3 = arith.shrui %embedding_m2, %embedding_shift15
      : tensor<256x64xi32>
  %embedding_m4 = arith.xori %embedding_m2, %embedding_m3 : tensor<256x64xi32>
  %embedding_m5 = arith.muli %embedding_m4, %embedding_mix2 : tensor<256x64xi32>
  %embedding_m6 = arith.shrui %embedding_m5, %embedding_shift16
      : tensor<256x64xi32>
  %embedding_hash = arith.xori %embedding_m5, %embedding_m6 : tensor<256x64xi32>
  %embedding_shift8 = arith.constant dense<8> : tensor<256x64xi32>
  %embedding_ulps = arith.constant dense<1.1920928955078125e-07>
      : tensor<256x64xf32>
  %embedding_ones = arith.constant dense<1.0> : tensor<256x64xf32>
  %embedding_scales = arith.constant dense<1.0> : tensor<256x64xf32>
  %embedding_high = arith.shrui %embedding_hash, %embedding_shift8
      : tensor<256x64xi32>
  %embedding_integer = arith.uitofp %embedding_high
      : tensor<256x64xi32> to tensor<256x64xf32>
  %embedding_positive = arith.mulf %embedding_integer, %embedding_ulps
      : tensor<256x64xf32>
  %embedding_unit = arith.subf %embedding_positive, %embedding_ones
      : tensor<256x64xf32>
  %embedding = arith.mulf %embedding_unit, %embedding_scales
      : tensor<256x64xf32>

  //===--- w1 -----------------------------------------------------------===//

  %w1_row = weft.iota dim = 0 : tensor<1024x512xi32>
  %w1_column = weft.iota dim = 1 : tensor<1024x512xi32>
  %w1_strides = arith.constant dense<512> : tensor<1024x512xi32>
  %w1_streams = arith.constant dense<0x200000> : tensor<1024x512xi32>
  %w1_c0 = arith.muli %w1_row, %w1_strides : tensor<1024x512xi32>
  %w1_c1 = arith.addi %w1_c0, %w1_column : tensor<1024x512xi32>
  %w1_c2 = arith.addi %w1_c1, %w1_streams : tensor<1024x512xi32>
  %w1_shift16 = arith.constant dense<16> : tensor<1024x512xi32>
  %w1_mix1 = arith.constant dense<0x7FEB352D> : tensor<1024x512xi32>
  %w1_shift15 = arith.constant dense<15> : tensor<1024x512xi32>
  %w1_mix2 = arith.constant dense<0x846CA68B> : tensor<1024x512xi32>
  %w1_m0 = arith.shrui %w1_c2, %w1_shift16 : tensor<1024x512xi32>
  %w1_m1 = arith.xori %w1_c2, %w1_m0 : tensor<1024x512xi32>
  %w1_m2 = arith.muli %w1_m1, %w1_mix1 : tensor<1024x512xi32>
  %w1_m3 = arith.shrui %w1_m2, %w1_shift15 : tensor<1024x512xi32>
  %w1_m4 = arith.xori %w1_m2, %w1_m3 : tensor<1024x512xi32>
  %w1_m5 = arith.muli %w1_m4, %w1_mix2 : tensor<1024x512xi32>
  %w1_m6 = arith.shrui %w1_m5, %w1_shift16 : tensor<1024x512xi32>
  %w1_hash = arith.xori %w1_m5, %w1_m6 : tensor<1024x512xi32>
  %w1_shift8 = arith.constant dense<8> : tensor<1024x512xi32>
  %w1_ulps = arith.constant dense<1.1920928955078125e-07> : tensor<1024x512xf32>
  %w1_ones = arith.constant dense<1.0> : tensor<1024x512xf32>
  %w1_scales = arith.constant dense<0.0541265877> : tensor<1024x512xf32>
  %w1_high = arith.shrui %w1_hash, %w1_shift8 : tensor<1024x512xi32>
  %w1_integer = arith.uitofp %w1_high
      : tensor<1024x512xi32> to tensor<1024x512xf32>
  %w1_positive = arith.mulf %w1_integer, %w1_ulps : tensor<1024x512xf32>
  %w1_unit = arith.subf %w1_positive, %w1_ones : tensor<1024x512xf32>
  %w1 = arith.mulf %w1_unit, %w1_scales : tensor<1024x512xf32>

  //===--- w2 -----------------------------------------------------------===//

  %w2_row = weft.iota dim = 0 : tensor<512x512xi32>
  %w2_column = weft.iota dim = 1 : tensor<512x512xi32>
  %w2_strides = arith.constant dense<512> : tensor<512x512xi32>
  %w2_streams = arith.constant dense<0x300000> : tensor<512x512xi32>
  %w2_c0 = arith.muli %w2_row, %w2_strides : tensor<512x512xi32>
  %w2_c1 = arith.addi %w2_c0, %w2_column : tensor<512x512xi32>
  %w2_c2 = arith.addi %w2_c1, %w2_streams : tensor<512x512xi32>
  %w2_shift16 = arith.constant dense<16> : tensor<512x512xi32>
  %w2_mix1 = arith.constant dense<0x7FEB352D> : tensor<512x512xi32>
  %w2_shift15 = arith.constant dense<15> : tensor<512x512xi32>
  %w2_mix2 = arith.constant dense<0x846CA68B> : tensor<512x512xi32>
  %w2_m0 = arith.shrui %w2_c2, %w2_shift16 : tensor<512x512xi32>
  %w2_m1 = arith.xori %w2_c2, %w2_m0 : tensor<512x512xi32>
  %w2_m2 = arith.muli %w2_m1, %w2_mix1 : tensor<512x512xi32>
  %w2_m3 = arith.shrui %w2_m2, %w2_shift15 : tensor<512x512xi32>
  %w2_m4 = arith.xori %w2_m2, %w2_m3 : tensor<512x512xi32>
  %w2_m5 = arith.muli %w2_m4, %w2_mix2 : tensor<512x512xi32>
  %w2_m6 = arith.shrui %w2_m5, %w2_shift16 : tensor<512x512xi32>
  %w2_hash = arith.xori %w2_m5, %w2_m6 : tensor<512x512xi32>
  %w2_shift8 = arith.constant dense<8> : tensor<512x512xi32>
  %w2_ulps = arith.constant dense<1.1920928955078125e-07> : tensor<512x512xf32>
  %w2_ones = arith.constant dense<1.0> : tensor<512x512xf32>
  %w2_scales = arith.constant dense<0.0765465545> : tensor<512x512xf32>
  %w2_high = arith.shrui %w2_hash, %w2_shift8 : tensor<512x512xi32>
  %w2_integer = arith.uitofp %w2_high
      : tensor<512x512xi32> to tensor<512x512xf32>
  %w2_positive = arith.mulf %w2_integer, %w2_ulps : tensor<512x512xf32>
  %w2_unit = arith.subf %w2_positive, %w2_ones : tensor<512x512xf32>
  %w2 = arith.mulf %w2_unit, %w2_scales : tensor<512x512xf32>

  //===--- w3 -----------------------------------------------------------===//

  %w3_row = weft.iota dim = 0 : tensor<512x256xi32>
  %w3_column = weft.iota dim = 1 : tensor<512x256xi32>
  %w3_strides = arith.constant dense<256> : tensor<512x256xi32>
  %w3_streams = arith.constant dense<0x400000> : tensor<512x256xi32>
  %w3_c0 = arith.muli %w3_row, %w3_strides : tensor<512x256xi32>
  %w3_c1 = arith.addi %w3_c0, %w3_column : tensor<512x256xi32>
  %w3_c2 = arith.addi %w3_c1, %w3_streams : tensor<512x256xi32>
  %w3_shift16 = arith.constant dense<16> : tensor<512x256xi32>
  %w3_mix1 = arith.constant dense<0x7FEB352D> : tensor<512x256xi32>
  %w3_shift15 = arith.constant dense<15> : tensor<512x256xi32>
  %w3_mix2 = arith.constant dense<0x846CA68B> : tensor<512x256xi32>
  %w3_m0 = arith.shrui %w3_c2, %w3_shift16 : tensor<512x256xi32>
  %w3_m1 = arith.xori %w3_c2, %w3_m0 : tensor<512x256xi32>
  %w3_m2 = arith.muli %w3_m1, %w3_mix1 : tensor<512x256xi32>
  %w3_m3 = arith.shrui %w3_m2, %w3_shift15 : tensor<512x256xi32>
  %w3_m4 = arith.xori %w3_m2, %w3_m3 : tensor<512x256xi32>
  %w3_m5 = arith.muli %w3_m4, %w3_mix2 : tensor<512x256xi32>
  %w3_m6 = arith.shrui %w3_m5, %w3_shift16 : tensor<512x256xi32>
  %w3_hash = arith.xori %w3_m5, %w3_m6 : tensor<512x256xi32>
  %w3_shift8 = arith.constant dense<8> : tensor<512x256xi32>
  %w3_ulps = arith.constant dense<1.1920928955078125e-07> : tensor<512x256xf32>
  %w3_ones = arith.constant dense<1.0> : tensor<512x256xf32>
  %w3_scales = arith.constant dense<0.0765465545> : tensor<512x256xf32>
  %w3_high = arith.shrui %w3_hash, %w3_shift8 : tensor<512x256xi32>
  %w3_integer = arith.uitofp %w3_high
      : tensor<512x256xi32> to tensor<512x256xf32>
  %w3_positive = arith.mulf %w3_integer, %w3_ulps : tensor<512x256xf32>
  %w3_unit = arith.subf %w3_positive, %w3_ones : tensor<512x256xf32>
  %w3 = arith.mulf %w3_unit, %w3_scales : tensor<512x256xf32>

  //===--- zeros --------------------------------------------------------===//

  %b1 = arith.constant dense<0.0> : tensor<512xf32>
  %b2 = arith.constant dense<0.0> : tensor<512xf32>
  %b3 = arith.constant dense<0.0> : tensor<256xf32>
  %momentum_embedding = arith.constant dense<0.0> : tensor<256x64xf32>
  %momentum_w1 = arith.constant dense<0.0> : tensor<1024x512xf32>
  %momentum_b1 = arith.constant dense<0.0> : tensor<512xf32>
  %momentum_w2 = arith.constant dense<0.0> : tensor<512x512xf32>
  %momentum_b2 = arith.constant dense<0.0> : tensor<512xf32>
  %momentum_w3 = arith.constant dense<0.0> : tensor<512x256xf32>
  %momentum_b3 = arith.constant dense<0.0> : tensor<256xf32>

  return %embedding, %w1, %b1, %w2, %b2, %w3, %b3, %momentum_embedding,
      %momentum_w1, %momentum_b1, %momentum_w2, %momentum_b2, %momentum_w3,
      %momentum_b3
      : tensor<256x64xf32>, tensor<1024x512xf32>, tensor<512xf32>,
        tensor<512x512xf32>, tensor<512xf32>, tensor<512x256xf32>,
        tensor<256xf32>, tensor<256x64xf32>, tensor<1024x512xf32>,
        tensor<512xf32>, tensor<512x512xf32>, tensor<512xf32>,
        tensor<512x256xf32>, tensor<256xf32>
}
