//===- LocalFormOpInterface.td - An op on shards -----------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_LOCALFORMOPINTERFACE_TD
#define WEFT_IR_LOCALFORMOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def LocalFormOpInterface : OpInterface<"LocalFormOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    How an op is computed on shards. Most ops mean the same on shards: the types
    of their results change and nothing else. Those do not implement this; an op
    that speaks of sizes of the whole tensor or of positions in it does.

    The partitioner has the models of all ops (lib/Partition/LocalForms.cpp).
  }];
  let methods = [
    InterfaceMethod<[{
      Called when the operands have their local types. Gives the results theirs,
      or puts other values in their place and erases the op, and returns what
      stands for them; fails after an error.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "localize",
    (ins "const ::weft::LocalForm &":$form)>
  ];
}

#endif // WEFT_IR_LOCALFORMOPINTERFACE_TD
