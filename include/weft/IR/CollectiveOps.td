//===- CollectiveOps.td - Ops between devices --------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of the SPMD program (form 3) that know of other devices. Shapes are
// local. A collective names its groups by the mesh axes along which their
// members differ; member number = position along the axes, major to minor.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_COLLECTIVEOPS_TD
#define WEFT_IR_COLLECTIVEOPS_TD

include "weft/IR/CommunicationOpInterface.td"
include "weft/IR/WeftOps.td"

/// `cause` is a sentence for the user: the value, and the two shardings that
/// disagreed.
class Weft_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Weft_Op<mnemonic, !listconcat([Pure], traits)> {
  let hasVerifier = 1;
}

/// One that moves data: the cases of cost::CollectiveKind.
class Weft_CommunicationOp<string mnemonic, string kind,
                           list<Trait> traits = []>
    : Weft_CollectiveOp<mnemonic,
        !listconcat([CommunicationOpInterface], traits)> {
  code communication = [{
    ::weft::cost::CollectiveKind getCollectiveKind() {
      return ::weft::cost::CollectiveKind::}] # kind # [{;
    }
    ::mlir::Value buildStart(::mlir::OpBuilder &builder);
  }];
  let extraClassDeclaration = communication;

  /// Of those of which several can be one.
  code combination = [{
    bool canCombine() { return true; }
    ::mlir::Value buildCombined(::mlir::OpBuilder &builder,
                                ::mlir::Value operand,
                                ::mlir::RankedTensorType type,
                                ::mlir::StringAttr cause);
  }];
}

def Weft_AllGatherOp : Weft_CommunicationOp<"all_gather", "AllGather"> {
  let summary = "Put the parts of a group together along a dimension";
  let description = [{
    Every device of a group gets the parts of all members, in member order,
    along `dim`. The axes are the minor-most ones of the dimension.

    ```mlir
    %r = weft.all_gather %x dim = 0 over <@mesh, {"data"}>
        : tensor<2x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$operand, I64Attr:$dim, Weft_AxesAttr:$axes,
    OptionalAttr<StrAttr>:$cause);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` `=` custom<Dim>($dim) `over` $axes attr-dict
    `:` type($operand) `->` type($result)
  }];
  let extraClassDeclaration = communication # combination # [{
    ::std::optional<int64_t> getGatheredDim() { return getDim(); }
  }];
}

def Weft_AllSliceOp : Weft_CollectiveOp<"all_slice"> {
  let summary = "Keep the own shard of a dimension";
  let description = [{
    The inverse of `weft.all_gather`; moves no data between devices.

    ```mlir
    %r = weft.all_slice %x dim = 0 over <@mesh, {"data"}>
        : tensor<4x8xf32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$operand, I64Attr:$dim, Weft_AxesAttr:$axes,
    OptionalAttr<StrAttr>:$cause);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` `=` custom<Dim>($dim) `over` $axes attr-dict
    `:` type($operand) `->` type($result)
  }];
}

def Weft_ReduceScatterOp
    : Weft_CommunicationOp<"reduce_scatter", "ReduceScatter"> {
  let summary = "Reduce over a group and keep the own shard";
  let description = [{
    ```mlir
    %r = weft.reduce_scatter sum %x dim = 0 over <@mesh, {"data"}>
        : tensor<4x8xf32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_ReductionAttr:$kind, Weft_Tensor:$operand, I64Attr:$dim,
    Weft_AxesAttr:$axes, OptionalAttr<StrAttr>:$cause);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    custom<Reduction>($kind) $operand `dim` `=` custom<Dim>($dim) `over` $axes
    attr-dict `:` type($operand) `->` type($result)
  }];
  let extraClassDeclaration = communication # combination # [{
    ::std::optional<int64_t> getScatteredDim() { return getDim(); }
    ::weft::ReductionAttr getGroupReduction() { return getKindAttr(); }
  }];
}

def Weft_AllReduceOp
    : Weft_CommunicationOp<"all_reduce", "AllReduce",
                           [SameOperandsAndResultType]> {
  let summary = "Reduce over a group on every member";
  let description = [{
    ```mlir
    %r = weft.all_reduce sum %x over <@mesh, {"data"}> : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_ReductionAttr:$kind, Weft_Tensor:$operand, Weft_AxesAttr:$axes,
    OptionalAttr<StrAttr>:$cause);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    custom<Reduction>($kind) $operand `over` $axes attr-dict `:` type($result)
  }];
  let extraClassDeclaration = communication # combination # [{
    ::weft::ReductionAttr getGroupReduction() { return getKindAttr(); }
  }];
}

def Weft_AllToAllOp : Weft_CommunicationOp<"all_to_all", "AllToAll"> {
  let summary = "Move axes from one dimension to another";
  let description = [{
    Cuts dimension `split` into as many parts as the group has members, sends
    part `i` to member `i`, and puts the parts received together along dimension
    `concat`, in member order.

    ```mlir
    %r = weft.all_to_all %x split = 0 concat = 1 over <@mesh, {"data"}>
        : tensor<4x8xf32> -> tensor<2x16xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$operand, I64Attr:$split, I64Attr:$concat, Weft_AxesAttr:$axes,
    OptionalAttr<StrAttr>:$cause);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `split` `=` custom<Dim>($split) `concat` `=` custom<Dim>($concat)
    `over` $axes attr-dict `:` type($operand) `->` type($result)
  }];
  let extraClassDeclaration = communication # [{
    ::std::optional<int64_t> getGatheredDim() { return getConcat(); }
    ::std::optional<int64_t> getScatteredDim() { return getSplit(); }
  }];
}

def Weft_PermuteOp
    : Weft_CommunicationOp<"permute", "Permute", [SameOperandsAndResultType]> {
  let summary = "Exchange whole parts between devices";
  let description = [{
    A device at position `p` along `to` receives what a device at position `p`
    along `from` held. Both lists have the same total size. It turns a dimension
    split over `from` into one split over `to`.

    With a `shift`, the sender is the one at position `p` + `shift`, modulo the
    total size: with equal lists the parts move around a ring.

    ```mlir
    %r = weft.permute %x from <@mesh, {"a"}> to <@mesh, {"b"}> : tensor<2x8xf32>
    %s = weft.permute %x from <@mesh, {"a"}> to <@mesh, {"a"}> {shift = 1 : i64}
        : tensor<2x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$operand, Weft_AxesAttr:$from, Weft_AxesAttr:$to,
    OptionalAttr<StrAttr>:$cause, DefaultValuedAttr<I64Attr, "0">:$shift);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat =
    "$operand `from` $from `to` $to attr-dict `:` type($result)";
  let extraClassDeclaration = communication # [{
    ::weft::AxesAttr getAxes() { return getFrom(); }
  }];
}

def Weft_ExchangeOp : Weft_CommunicationOp<"exchange", "Exchange"> {
  let summary = "Move elements along a split dimension";
  let description = [{
    Takes the elements of dimension `dim` where `map` says, over the devices of a
    group: a device has its part of every segment of `map`, behind each other.
    Only elements that change the device are sent. What nothing is taken to is
    left undefined.

    It is what is left to do of slices, concatenations and paddings of a split
    dimension: the three columns' thirds of a fused matrix, each split as the
    whole is, are slices of the result of

    ```mlir
    %r = weft.exchange %x dim = 1 over <@mesh, {"model"}>
        map <[48] to [16, 16, 16], 0 to 0 for 192>
        : tensor<64x48xf32> -> tensor<64x48xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$operand, I64Attr:$dim, Weft_AxesAttr:$axes,
    Weft_ElementMapAttr:$map, OptionalAttr<StrAttr>:$cause);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` `=` custom<Dim>($dim) `over` $axes `map` $map attr-dict
    `:` type($operand) `->` type($result)
  }];
  let extraClassDeclaration = communication # [{
    ::weft::ElementMapAttr getElementMap() { return getMap(); }
  }];
}

def Weft_PositionOp : Weft_CollectiveOp<"position"> {
  let summary = "The own position along axes";
  let description = [{
    The mixed-radix number that the device's coordinates along the axes spell,
    major to minor.

    ```mlir
    %r = weft.position over <@mesh, {"data"}> : tensor<i32>
    ```
  }];
  let arguments = (ins Weft_AxesAttr:$axes);
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = "`over` $axes attr-dict `:` type($result)";
}

#endif // WEFT_IR_COLLECTIVEOPS_TD
