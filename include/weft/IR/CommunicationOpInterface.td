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
      Emits the op that starts it, and returns the pending result. What starts
      it already returns its own.
    }], "::mlir::Value", "buildStart", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif // WEFT_IR_COMMUNICATIONOPINTERFACE_TD
