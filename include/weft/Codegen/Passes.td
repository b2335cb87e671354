//===- Passes.td - Kernels, and questions about them -------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_CODEGEN_PASSES_TD
#define WEFT_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"
include "weft/IR/FormPass.td"

def LowerKernels : FormPass<"weft-lower-kernels", "Kernels"> {
  let summary = "Turn the bodies of kernels into linalg";
  let description = [{
    **Needs** kernel functions of element-wise ops and tensor ops.

    **Does** write each op as a `linalg.generic`, a slice, a concat or a reshape
    of the tensor dialect, and compute element-wise ops inside of their only
    consumer. A gather is a loop that reads one tensor at indices that it takes
    from another (`tensor.extract`). Sums of floats are formed in f64 and
    rounded once.

    **Leaves** kernels that `compileKernels` takes, in which `weft.scatter_add`
    is left: it has no form in linalg. Other functions untouched.

    **Example** `test/Codegen/lower-kernels.mlir`.
  }];
  let dependentDialects = [
    "::weft::WeftDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"
  ];
  let statistics = [
    Statistic<"loops", "loops", "linalg.generic ops left">
  ];
}

def FindInPlace : Pass<"weft-find-in-place", "::mlir::ModuleOp"> {
  let summary = "Mark what kernels may write over";
  let description = [{
    **Needs** kernels whose bodies are linalg.

    **Does** find, for each kernel, the pairs of an operand and a result of
    equal type where the machine code reads an element of the operand for the
    last time before, or when, it writes that element of the result.

    On a CUDA device the nests of a kernel run at once, so there the elements of
    the operand must all be read by the nest that writes the result.

    **Leaves** the attribute `weft.in_place` on kernels that have such pairs:
    operand, result, operand, result, ...

    **Example** `test/Codegen/find-in-place.mlir`.
  }];
  let options = [
    Option<"cuda", "cuda", "bool", /*default=*/"false",
           "Find what kernels on a CUDA device may write over.">
  ];
}

def PrintPtx : Pass<"weft-print-ptx", "::mlir::ModuleOp"> {
  let summary = "Print kernels as code for a GPU";
  let description = [{
    **Needs** kernels whose bodies are linalg.

    **Does** compile them for a CUDA device, each result in a buffer of its own,
    and print a line on the grid of each and their PTX.

    **Leaves** the module as it was.

    **Example** `test/Codegen/print-ptx.mlir`.
  }];
  let options = [
    Option<"processor", "processor", "std::string", /*default=*/"\"sm_90\"",
           "The processor, as in the target cuda:<processor>.">,
    Option<"maxBatch", "max-batch", "int64_t", /*default=*/"1",
           "For how many sets of arguments a kernel is launched at once.">
  ];
}

#endif // WEFT_CODEGEN_PASSES_TD
