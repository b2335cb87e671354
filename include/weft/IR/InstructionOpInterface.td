//===- InstructionOpInterface.td - A step of a schedule ----*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_INSTRUCTIONOPINTERFACE_TD
#define WEFT_IR_INSTRUCTIONOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    An op of the schedule (form 4) that is an instruction of the plan. It reads
    the buffers of its operands and writes those of its results; the methods
    tell which of these are one, and until when it uses them. That is all the
    memory planner and the order of a schedule need to know; what the plan
    writes of it is an overload of the plan writer, without which that does not
    compile.
  }];
  let methods = [
    InterfaceMethod<[{
      The operand whose buffer the result is written to, or -1.
    }], "int64_t", "getInPlaceOperand", (ins "unsigned":$result), "", [{
      return -1;
    }]>,
    InterfaceMethod<[{
      Whether it runs beside the instructions that follow, and uses its buffers
      until the op that waits for its result.
    }], "bool", "isStart", (ins), "", [{
      return false;
    }]>
  ];
}

#endif // WEFT_IR_INSTRUCTIONOPINTERFACE_TD
