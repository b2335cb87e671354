//===- VjpOpInterface.td - Derivative of an op -------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_VJPOPINTERFACE_TD
#define WEFT_IR_VJPOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def VjpOpInterface : OpInterface<"VjpOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    What differentiation knows about an op: how the cotangents of its results
    become cotangents of its operands (a vector-Jacobian product). The cotangent
    of a value is the derivative of the loss by it and has its type; values
    whose elements are not floating-point carry none. `--weft-autodiff` holds
    no list of ops; an op that implements this interface can be differentiated,
    and as its derivative is made of ops, so can that.

    Ops of other dialects get it as an external model (weft/IR/VjpModels.h).
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the cotangents of the operands that `builder` wants, from those of
      the results. Forward values, the op's own results among them, are there to
      be used and are not to be recomputed. Called only if a result has a
      cotangent and an operand is wanted.
    }], "void", "buildVjp", (ins "::weft::VjpBuilder &":$builder)>,
    InterfaceMethod<[{
      Whether the derivative by an operand is zero wherever it exists (`floor`)
      or defined as zero (`weft.stop_gradient`). Nothing is then differentiated
      on the far side of that operand.
    }], "bool", "isFlatIn", (ins "unsigned":$operand), "", [{
      return false;
    }]>
  ];
}

#endif // WEFT_IR_VJPOPINTERFACE_TD
