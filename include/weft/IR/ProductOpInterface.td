//===- ProductOpInterface.td - An op that is matmuls -------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_PRODUCTOPINTERFACE_TD
#define WEFT_IR_PRODUCTOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ProductOpInterface : OpInterface<"ProductOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    An op whose time is that of matmuls: matmuls, those of groups of rows, and
    convolutions. What decides where the time of a program goes asks
    for this and not for one of them. Attention has a cost of its own.
  }];
  let methods = [
    InterfaceMethod<[{
      The matmuls, with one for each element of their batch.
    }], "::weft::cost::Gemm", "getGemm">
  ];
}

#endif // WEFT_IR_PRODUCTOPINTERFACE_TD
