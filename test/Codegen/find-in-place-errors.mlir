// RUN: shard-opt %s --weft-find-in-place --split-input-file --verify-diagnostics

// expected-error @+1 {{'func.func' op has the type 'tensor<?xf32>'; kernels take tensors of static shape}}
func.func private @dynamic(%x: tensor<?xf32>) -> tensor<?xf32>
    attributes {weft.kernel} {
  return %x : tensor<?xf32>
}

// -----

func.func private @not_lowered(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {weft.kernel} {
  // expected-error @+1 {{'arith.addf' op is not lowered to linalg; run --weft-lower-kernels on the kernel first}}
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op argument 1 is a position and must be tensor<i32>, not 'tensor<i64>'}}
func.func private @wide_position(%x: tensor<4xf32>,
                                 %p: tensor<i64> {weft.position})
    -> tensor<4xf32> attributes {weft.kernel} {
  return %x : tensor<4xf32>
}
