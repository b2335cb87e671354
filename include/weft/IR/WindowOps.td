//===- WindowOps.td - Composites on windows ----------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A window is a box that is moved over the spatial dimensions of a tensor in
// steps. Few files need the classes of these ops; weft/IR/WindowOps.h has them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WINDOWOPS_TD
#define WEFT_IR_WINDOWOPS_TD

include "weft/IR/CompositeOps.td"

/// One that is split over devices as it is.
class Weft_WindowOp<string mnemonic, list<string> decomposition = [],
                    list<Trait> traits = []>
    : Weft_Op<mnemonic, !listconcat([Pure, Weft_Differentiable,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface,
                                  ["getPropagationRule"]>,
        DeclareOpInterfaceMethods<DecompositionOpInterface,
                                  !listconcat(["isPartitioned"],
                                              decomposition)>],
        traits)> {
  let results = (outs Weft_FloatTensor:$result);
  let hasVerifier = 1;
}

def Weft_ConvolutionOp
    : Weft_WindowOp<"convolution", ["isCpuInstruction"], [Weft_Product]> {
  let summary = "Multiply a kernel with windows of a tensor";
  let description = [{
    `lhs` is [batch, spatial dimensions, features], the kernel `rhs` is [its
    spatial dimensions, features of a group, result's features], and the result
    is [batch, spatial dimensions, features]. Other orders are transposes around
    the op.

    `lhs` is first given `lhs_dilation - 1` zeros between its elements, and
    `low` and `high` zeros around them; negative amounts remove elements. The
    window moves over this in steps of `strides`; its elements are
    `rhs_dilation` apart. Each element of the result is the sum of the products
    of a window with the kernel.

    `groups` splits the features of both into as many parts, each of which is a
    convolution of its own: with one for each feature of `lhs`, a depthwise one.
    Where there are several, `lhs` may also be [batch, spatial dimensions, groups,
    features of a group], of which the last can be split by itself.

    Sums of 16-bit products are formed in f32. The derivatives are two
    convolutions, and keep the operands alone. In f32, plans for CPUs have an
    instruction for most; others are computed as matmuls with the windows laid
    out behind each other. Batch and features may be
    split as those of a matmul: features of `lhs` leave partial sums. A spatial
    dimension may be split in `lhs` and the result alike, or, if it has fewer
    elements in the result than in the kernel, in `lhs` and the kernel alike,
    which leaves partial sums: devices exchange what windows cover of the shards
    of others.

    ```mlir
    %r = weft.convolution %x, %w strides = [2] low = [1] high = [1]
        lhs_dilation = [1] rhs_dilation = [1] groups = 1
        : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_FloatTensor:$lhs, Weft_FloatTensor:$rhs, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
    DenseI64ArrayAttr:$lhs_dilation, DenseI64ArrayAttr:$rhs_dilation,
    I64Attr:$groups);
  let assemblyFormat = [{
    $lhs `,` $rhs `strides` `=` $strides `low` `=` $low `high` `=` $high
    `lhs_dilation` `=` $lhs_dilation `rhs_dilation` `=` $rhs_dilation
    `groups` `=` custom<Dim>($groups) attr-dict
    `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    /// Whether `lhs` has a dimension for its groups.
    bool hasGroupsApart() {
      return getLhs().getType().getRank() > getRhs().getType().getRank();
    }
  }];
}

def Weft_ReduceWindowOp : Weft_WindowOp<"reduce_window"> {
  let summary = "Sum, maximum or minimum of windows along a dimension";
  let description = [{
    Along `dim` element `i` of the result combines the `size` elements `i *
    stride`, `i * stride + dilation`, ... of the operand, to which first `low`
    and `high` elements that change nothing are added; negative amounts remove
    elements. Windows of several dimensions are several of these ops.
    The cotangent of a maximum or minimum goes to the first element that is it,
    as in JAX.

    ```mlir
    %r = weft.reduce_window max %x dim = 1 size = 2 stride = 2 dilation = 1
        : tensor<4x8x3xf32> -> tensor<4x4x3xf32>
    ```
  }];
  let arguments = (ins
    Weft_ReductionAttr:$kind, Weft_FloatTensor:$operand, I64Attr:$dim,
    I64Attr:$size, I64Attr:$stride, I64Attr:$dilation,
    DefaultValuedAttr<I64Attr, "0">:$low, DefaultValuedAttr<I64Attr, "0">:$high);
  let assemblyFormat = [{
    custom<Reduction>($kind) $operand `dim` `=` custom<Dim>($dim)
    `size` `=` custom<Dim>($size) `stride` `=` custom<Dim>($stride)
    `dilation` `=` custom<Dim>($dilation) attr-dict
    `:` type($operand) `->` type($result)
  }];
}

def Weft_SpreadWindowsOp : Weft_WindowOp<"spread_windows"> {
  let summary = "Add up what windows have where their elements are";
  let description = [{
    The transpose of `weft.reduce_window`: `g` has an element for each window
    along `dim`, which is added to all elements of the window, or, given what the
    windows are of and the `extremum` of each, to the first that equals it. What
    windows cover of the elements that `low` and `high` add is left out.

    ```mlir
    %r = weft.spread_windows %g of %x, %m dim = 1 size = 2 stride = 2
        dilation = 1 : (tensor<4x4x3xf32>, tensor<4x8x3xf32>, tensor<4x4x3xf32>)
        -> tensor<4x8x3xf32>
    ```
  }];
  let arguments = (ins
    Weft_FloatTensor:$g, Variadic<Weft_FloatTensor>:$of, I64Attr:$dim,
    I64Attr:$size,
    I64Attr:$stride, I64Attr:$dilation, DefaultValuedAttr<I64Attr, "0">:$low,
    DefaultValuedAttr<I64Attr, "0">:$high);
  let assemblyFormat = [{
    $g (`of` $of^)? `dim` `=` custom<Dim>($dim)
    `size` `=` custom<Dim>($size) `stride` `=` custom<Dim>($stride)
    `dilation` `=` custom<Dim>($dilation) attr-dict
    `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    ::mlir::Value getOperand() {
      return getOf().empty() ? ::mlir::Value() : getOf().front();
    }
    ::mlir::Value getExtremum() {
      return getOf().empty() ? ::mlir::Value() : getOf().back();
    }
  }];
}

#endif // WEFT_IR_WINDOWOPS_TD
