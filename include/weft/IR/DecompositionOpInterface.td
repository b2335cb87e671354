//===- DecompositionOpInterface.td - An op by other ops ----*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_DECOMPOSITIONOPINTERFACE_TD
#define WEFT_IR_DECOMPOSITIONOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DecompositionOpInterface : OpInterface<"DecompositionOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    How a composite is computed by other ops of the graph. `--weft-decompose`
    puts these in its place after differentiation and before propagation: the
    derivative is that of the whole, which keeps less than those of the parts;
    shardings, collectives, kernels and costs are those of the parts.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits ops that compute the results, and returns these.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
    (ins "::weft::TensorBuilder &":$builder)>,
    InterfaceMethod<[{
      Whether plans for CPUs have an instruction for the op, as it is.
    }], "bool", "isCpuInstruction", (ins), "", [{
      return false;
    }]>,
    InterfaceMethod<[{
      Whether it is partitioned as it is, and decomposed when its operands are
      shards: as one op it is known which elements of neighbours it needs.
    }], "bool", "isPartitioned", (ins), "", [{
      return false;
    }]>
  ];
}

#endif // WEFT_IR_DECOMPOSITIONOPINTERFACE_TD
