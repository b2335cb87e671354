//===- CommunicationOpInterface.td - Data between devices --*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_COMMUNICATIONOPINTERFACE_TD
#define WEFT_IR_COMMUNICATIONOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CommunicationOpInterface : OpInterface<"CommunicationOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    What the passes of the schedule and the cost model know about an op that
    moves data between devices: a collective of an SPMD program (form 3), and
    the op of a schedule (form 4) that starts it. Its operand is read from a
    buffer and its result written to one, so no kernel computes either on its
    way.
  }];
  let methods = [
    InterfaceMethod<[{
      What is sent, for the cost model.
    }], "::weft::cost::CollectiveKind", "getCollectiveKind">,
    InterfaceMethod<[{
      The axes along which the members of a group differ.
    }], "::weft::AxesAttr", "getAxes">,
    InterfaceMethod<[{
      Which elements an exchange sends where; null for all others.
    }], "::weft::ElementMapAttr", "getElementMap", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{
      Of a collective: the dimension of the result along which the shards of the
      members lie behind each other; none where nothing is gathered, and for the
      op that starts one.
    }], "::std::optional<int64_t>", "getGatheredDim", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
    InterfaceMethod<[{
      Of a collective: the dimension of the operand of which each member gets
      its shard; none where nothing is scattered, and for the op that starts
      one.
    }], "::std::optional<int64_t>", "getScatteredDim", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
    InterfaceMethod<[{
      Of a collective: how the operands of the members are reduced to one; null
      where they are not, and for the op that starts one.
    }], "::weft::ReductionAttr", "getGroupReduction", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{
      Whether several of them can be one, of their tensors behind each other:
      it reduces, gathers or scatters, and `buildCombined` emits one.
    }], "bool", "canCombine", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
      Emits the same collective for another operand, and returns its result, of
      `type`. What is gathered or scattered is dimension 0 of them. Only for
      those that can be combined.
    }], "::mlir::Value", "buildCombined",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$operand,
         "::mlir::RankedTensorType":$type, "::mlir::StringAttr":$cause),
    /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{
      Emits the op that starts it, and returns the pending result. What starts
      it already returns its own.
    }], "::mlir::Value", "buildStart", (ins "::mlir::OpBuilder &":$builder)>
  ];
  let extraClassDeclaration = [{
    bool isReduction() { return bool(getGroupReduction()); }
    /// Every member gets the reduction of whole operands.
    bool isAllReduce() { return isReduction() && !getScatteredDim(); }
    /// Every member gets the shards of all.
    bool isAllGather() {
      return getGatheredDim().has_value() && !getScatteredDim();
    }
  }];
}

#endif // WEFT_IR_COMMUNICATIONOPINTERFACE_TD
