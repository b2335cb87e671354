// RUN: shard-opt %s --weft-lower-kernels --split-input-file --verify-diagnostics

func.func private @product(%x: tensor<8x8xf32>) -> tensor<8x8xf32>
    attributes {weft.kernel} {
  // expected-error @+1 {{'weft.dot_general' op has no lowering to linalg; expected an element-wise op or a tensor op of the dialect}}
  %y = weft.dot_general %x, %x contracting = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
