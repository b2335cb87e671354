//===- WeftOps.td - Ops of the graph -----------------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of the graph and the sharded graph (forms 1 and 2): the tensor ops that
// upstream lacks, and the ops that speak of shardings.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WEFTOPS_TD
#define WEFT_IR_WEFTOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "weft/IR/ShardingRuleOpInterface.td"
include "weft/IR/ProductOpInterface.td"
include "weft/IR/VjpOpInterface.td"
include "weft/IR/WeftAttrs.td"
include "weft/IR/WeftDialect.td"

class Weft_Op<string mnemonic, list<Trait> traits = []>
    : Op<Weft_Dialect, mnemonic, traits>;

def Weft_Tensor : Type<
    StaticShapeTensorOf<[F32, BF16, F16, F64, I64, I32, I16, I8, I1]>.predicate,
    "static ranked tensor of f32, bf16, f16, f64, i64, i32, i16, i8 or i1",
    "::mlir::RankedTensorType">;

def Weft_Indices : Type<
    StaticShapeTensorOf<[I64, I32]>.predicate,
    "static ranked tensor of i64 or i32", "::mlir::RankedTensorType">;

/// An op on tensors without side effects that states its sharding rule.
class Weft_TensorOp<string mnemonic, list<Trait> traits = []>
    : Weft_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface>], traits)> {
  let hasVerifier = 1;
}

/// The op states its derivative.
def Weft_Differentiable : DeclareOpInterfaceMethods<VjpOpInterface>;
/// As above, and in which operands it is flat.
def Weft_DifferentiableInSome
    : DeclareOpInterfaceMethods<VjpOpInterface, ["isFlatIn"]>;
/// One whose time is that of matmuls.
def Weft_Product : DeclareOpInterfaceMethods<ProductOpInterface>;

/// One that keeps the element type.
class Weft_ShapeOp<string mnemonic, list<Trait> traits = []>
    : Weft_TensorOp<mnemonic,
        !listconcat([SameOperandsAndResultElementType], traits)>;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

def Weft_MeshOp : Weft_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Declare a mesh of devices";
  let description = [{
    Names a grid of devices for the shardings of the module.

    ```mlir
    weft.mesh @mesh = <["data"=2, "model"=8]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Weft_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

//===----------------------------------------------------------------------===//
// Tensor ops
//===----------------------------------------------------------------------===//

def Weft_DotGeneralOp
    : Weft_TensorOp<"dot_general",
                    [Weft_Differentiable, Weft_Product]> {
  let summary = "Batched matmul over any dimensions";
  let description = [{
    Multiplies the operands element by element along the batching dimensions and
    sums products along the contracting dimensions. The result's dimensions are
    the batching ones, then the other dimensions of `lhs`, then those of `rhs`,
    each in the order of the operand.

    Operands have one element type. The result has that type or a wider one of
    the same kind (bf16 or f16 operands, f32 result). Sums are formed in
    `accumulation_type` where given, else in the result's element type.

    ```mlir
    %r = weft.dot_general %a, %b batching = [0] x [0] contracting = [2] x [1]
        : (tensor<4x8x16xf32>, tensor<4x16x32xf32>) -> tensor<4x8x32xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$lhs, Weft_Tensor:$rhs,
    DenseI64ArrayAttr:$lhs_batching, DenseI64ArrayAttr:$rhs_batching,
    DenseI64ArrayAttr:$lhs_contracting, DenseI64ArrayAttr:$rhs_contracting,
    OptionalAttr<TypeAttr>:$accumulation_type);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs
    custom<DotDims>($lhs_batching, $rhs_batching,
                    $lhs_contracting, $rhs_contracting)
    attr-dict `:` functional-type(operands, $result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                   "::llvm::ArrayRef<int64_t>":$lhsBatching,
                   "::llvm::ArrayRef<int64_t>":$rhsBatching,
                   "::llvm::ArrayRef<int64_t>":$lhsContracting,
                   "::llvm::ArrayRef<int64_t>":$rhsContracting)>
  ];
  let extraClassDeclaration = [{
    /// Dimensions that are neither batching nor contracting, in order.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
  }];
}

def Weft_BroadcastOp : Weft_ShapeOp<"broadcast", [Weft_Differentiable]> {
  let summary = "Repeat a tensor along new or size-1 dimensions";
  let description = [{
    Operand dimension `i` becomes result dimension `dims[i]`; `dims` is strictly
    increasing. An operand dimension has the size of its result dimension, or
    size 1 and is repeated.

    ```mlir
    %r = weft.broadcast %x dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
    %s = weft.broadcast %c dims = [] : tensor<f32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `dims` `=` $dims attr-dict
    `:` type($operand) `->` type($result)
  }];
  let hasFolder = 1;
}

def Weft_ReshapeOp : Weft_ShapeOp<"reshape", [Weft_Differentiable]> {
  let summary = "Give the same elements, in row-major order, another shape";
  let description = [{
    ```mlir
    %r = weft.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat =
    "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def Weft_TransposeOp : Weft_ShapeOp<"transpose", [Weft_Differentiable]> {
  let summary = "Permute the dimensions of a tensor";
  let description = [{
    Result dimension `i` is operand dimension `dims[i]`.

    ```mlir
    %r = weft.transpose %x dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `dims` `=` $dims attr-dict
    `:` type($operand) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$dims)>
  ];
  let hasFolder = 1;
}

def Weft_ReduceOp : Weft_ShapeOp<"reduce", [Weft_Differentiable]> {
  let summary = "Sum, maximum or minimum along dimensions";
  let description = [{
    Removes `dims` (strictly increasing), combining the elements along them.

    ```mlir
    %r = weft.reduce sum %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Weft_ReductionAttr:$kind, Weft_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    custom<Reduction>($kind) $operand `dims` `=` $dims attr-dict
    `:` type($operand) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::weft::sharding::Reduction":$kind,
                   "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$dims)>
  ];
}

def Weft_SliceOp : Weft_ShapeOp<"slice", [Weft_Differentiable]> {
  let summary = "Take a strided box out of a tensor";
  let description = [{
    Along dimension `i` the elements `starts[i]`, `starts[i] + strides[i]`, ...
    below `limits[i]`.

    ```mlir
    %r = weft.slice %x starts = [0, 2] limits = [4, 8] strides = [1, 1]
        : tensor<4x8xf32> -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
    DenseI64ArrayAttr:$strides);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `starts` `=` $starts `limits` `=` $limits `strides` `=` $strides
    attr-dict `:` type($operand) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$operand,
                   "::llvm::ArrayRef<int64_t>":$starts,
                   "::llvm::ArrayRef<int64_t>":$limits,
                   "::llvm::ArrayRef<int64_t>":$strides)>
  ];
}

def Weft_PadOp : Weft_ShapeOp<"pad", [Weft_Differentiable]> {
  let summary = "Put a value around and between the elements of a tensor";
  let description = [{
    Along dimension `i` the result has `low[i]` elements of `value`, the
    operand's elements with `interior[i]` elements of `value` between any two
    neighbours, and `high[i]` elements of `value`. No amount is negative:
    elements are removed by `weft.slice`.

    ```mlir
    %r = weft.pad %x low = [0, 1] high = [0, 2] interior = [0, 0]
        value = 0.0 : f32 : tensor<4x8xf32> -> tensor<4x11xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
    DenseI64ArrayAttr:$interior, TypedAttrInterface:$value);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `low` `=` $low `high` `=` $high `interior` `=` $interior
    `value` `=` $value attr-dict `:` type($operand) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$low,
                   "::llvm::ArrayRef<int64_t>":$high,
                   "::llvm::ArrayRef<int64_t>":$interior,
                   "::mlir::TypedAttr":$value)>
  ];
  let extraClassDeclaration = [{
    /// Whether the result has other elements than the operand's along `dim`.
    bool isPadded(int64_t dim) {
      return getLow()[dim] != 0 || getHigh()[dim] != 0 ||
             getInterior()[dim] != 0;
    }
  }];
  let hasFolder = 1;
}

def Weft_ConcatOp : Weft_ShapeOp<"concat", [Weft_Differentiable]> {
  let summary = "Put tensors one after the other along a dimension";
  let description = [{
    ```mlir
    %r = weft.concat %x, %y dim = 0
        : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
    ```
  }];
  let arguments = (ins Variadic<Weft_Tensor>:$operands, I64Attr:$dim);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operands `dim` `=` custom<Dim>($dim) attr-dict
    `:` functional-type($operands, $result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::ValueRange":$operands, "int64_t":$dim)>
  ];
}

def Weft_GatherOp : Weft_TensorOp<"gather", [Weft_Differentiable]> {
  let summary = "Take elements along a dimension at given indices";
  let description = [{
    The result has the operand's dimensions, with `dim` replaced by those of
    `indices`: along them it holds the operand's elements at these indices, each
    clamped to the operand's range. `batching` pairs dimensions of the operand
    with dimensions of `indices` that are walked together; these stay where the
    operand has them and do not take the place of `dim`.

    ```mlir
    // Rows of a table, as numpy.take(x, i, axis=0).
    %r = weft.gather %x, %i dim = 0
        : (tensor<50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
    // r[b, j, k] = y[b, i[b, j], k]
    %s = weft.gather %y, %i dim = 1 batching = [0] x [0]
        : (tensor<4x50x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$operand, Weft_Indices:$indices, I64Attr:$dim,
    DenseI64ArrayAttr:$operand_batching, DenseI64ArrayAttr:$indices_batching);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $indices `dim` `=` custom<Dim>($dim)
    custom<Batching>($operand_batching, $indices_batching)
    attr-dict `:` functional-type(operands, $result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$indices,
                   "int64_t":$dim,
                   CArg<"::llvm::ArrayRef<int64_t>", "{}">:$operandBatching,
                   CArg<"::llvm::ArrayRef<int64_t>", "{}">:$indicesBatching)>
  ];
  let extraClassDeclaration = [{
    /// How the dimensions of operand, indices and result belong together.
    GatherDims getGatherDims();
  }];
}

def Weft_ScatterAddOp : Weft_TensorOp<"scatter_add", [Weft_Differentiable]> {
  let summary = "Add elements up at given indices along a dimension";
  let description = [{
    The transpose of `weft.gather`: `updates` has the shape that a gather from
    the result would have, and `dim` and `batching` are those of this gather.
    The result holds zeros, to which every element of `updates` is added at its
    index. An index outside of the result's range drops its elements. Sums are
    formed in the row-major order of the indices.

    ```mlir
    %r = weft.scatter_add %u, %i dim = 1 batching = [0] x [0]
        : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<4x50x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$updates, Weft_Indices:$indices, I64Attr:$dim,
    DenseI64ArrayAttr:$operand_batching, DenseI64ArrayAttr:$indices_batching);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $updates `,` $indices `dim` `=` custom<Dim>($dim)
    custom<Batching>($operand_batching, $indices_batching)
    attr-dict `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    /// How the dimensions of result, indices and updates belong together.
    GatherDims getGatherDims();
  }];
}

def Weft_IotaOp : Weft_TensorOp<"iota"> {
  let summary = "Count along a dimension from 0";
  let description = [{
    Every element is its own index along `dim`, in the whole tensor and not in
    the shard that a device holds.

    ```mlir
    %r = weft.iota dim = 1 : tensor<4x256xi32>
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "`dim` `=` custom<Dim>($dim) attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Sharding ops
//===----------------------------------------------------------------------===//

def Weft_ConstraintOp
    : Weft_TensorOp<"constraint",
        [SameOperandsAndResultType, Weft_Differentiable]> {
  let summary = "State the sharding of a value";
  let description = [{
    The result is the operand with the sharding given. Propagation starts from
    it and does not change its closed dimensions.

    ```mlir
    %r = weft.constraint %x <@mesh, [{"data"}, {} ]> : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand, Weft_ShardingAttr:$sharding);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$operand $sharding attr-dict `:` type($result)";
}

def Weft_ReshardOp : Weft_TensorOp<"reshard", [SameOperandsAndResultType]> {
  let summary = "Change the sharding of a value";
  let description = [{
    Inserted by the partitioner where a use needs another layout than the value
    has; lowered to collectives. The operand's sharding is that of the value.

    ```mlir
    %r = weft.reshard %x <@mesh, [{"data"}, {} ]> : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand, Weft_ShardingAttr:$sharding);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$operand $sharding attr-dict `:` type($result)";
}

#endif // WEFT_IR_WEFTOPS_TD
