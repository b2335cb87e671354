//===- Passes.td - Questions to the code generator ---------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_CODEGEN_PASSES_TD
#define WEFT_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def FindInPlace : Pass<"weft-find-in-place", "::mlir::ModuleOp"> {
  let summary = "Mark what kernels may write over";
  let description = [{
    **Needs** kernels whose bodies are linalg.

    **Does** find, for each kernel, the pairs of an operand and a result of
    equal type where the machine code reads an element of the operand for the
    last time before, or when, it writes that element of the result.

    **Leaves** the attribute `weft.in_place` on kernels that have such pairs:
    operand, result, operand, result, ...

    **Example** `test/Codegen/find-in-place.mlir`.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // WEFT_CODEGEN_PASSES_TD
