// RUN: shard-opt %s --weft-find-in-place --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @+1 {{'func.func' op has the type 'tensor<?xf32>'; kernels take tensors of static shape with elements f32, f64, bf16, f16, i1, i8, i16, i32 or i64}}
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

// -----

// expected-error @+1 {{'func.func' op is a kernel and must have a body of one block}}
func.func private @blocks(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {weft.kernel} {
  "other.branch"()[^end] : () -> ()
^end:
  return %x : tensor<4xf32>
}

// -----

func.func private @resource() -> tensor<4xf32> attributes {weft.kernel} {
  // expected-error @+1 {{'arith.constant' op is not a dense constant}}
  %y = arith.constant dense_resource<x> : tensor<4xf32>
  return %y : tensor<4xf32>
}
{-#
  dialect_resources: {
    builtin: { x: "0x0400000000000000000000000000000000000000" }
  }
#-}

// -----

func.func private @dropped(%x: tensor<4x4xf32>) -> tensor<4xf32>
    attributes {weft.kernel} {
  // expected-error @+1 {{'tensor.extract_slice' op must have static sizes and strides and keep all dimensions}}
  %y = tensor.extract_slice %x[0, 0] [1, 4] [1, 1]
      : tensor<4x4xf32> to tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @sum_of_dims(%x: tensor<4xf32>) -> tensor<7xf32>
    attributes {weft.kernel} {
  %e = tensor.empty() : tensor<7xf32>
  // expected-error @+1 {{'linalg.generic' op writes a result through the map affine_map<(d0, d1) -> (d0 + d1)>; expected a permutation of dimensions}}
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>,
                       affine_map<(i, j) -> (i + j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<7xf32>
  return %y : tensor<7xf32>
}

// -----

func.func private @half(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {weft.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    // expected-error @+1 {{'arith.truncf' op has the type 'f8E5M2', but kernels compute in f32, f64, bf16, f16, i1, i8, i16, i32 and i64 only}}
    %b = arith.truncf %a : f32 to f8E5M2
    %c = arith.extf %b : f8E5M2 to f32
    linalg.yield %c : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @foreign(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {weft.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    // expected-error @+1 {{'other.op' op is not an element-wise operation that kernels can contain; expected one of arith or math}}
    %b = "other.op"(%a) : (f32) -> f32
    linalg.yield %b : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
