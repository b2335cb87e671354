//===- Passes.td - From other programs to graphs -----------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IMPORT_PASSES_TD
#define WEFT_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ImportStablehlo : Pass<"weft-import-stablehlo", "::mlir::ModuleOp"> {
  let summary = "Read a StableHLO program in generic form as a graph";
  let description = [{
    **Needs** a module of functions with ops of `stablehlo`, `chlo` and `sdy`,
    parsed as unregistered ops from their generic form, as JAX lowers a function
    to. A module without such ops is left as it is.

    **Does** write every public function anew with ops of `weft`, `arith` and
    `math`: calls are inlined, loops with a constant trip count unrolled,
    branches on constants taken and others computed on both sides. Names of
    arguments and results, donation, shardings and source locations are
    carried over; parameters and gradients are derived from the updates of
    donated arguments (docs/Import.md). What cannot be imported is one error with a
    note for each source line and kind of op; attributes that mean nothing here
    are named in remarks.

    **Leaves** a graph (form 1).

    **Example** `test/Import/import-stablehlo.mlir`.
  }];
  let statistics = [
    Statistic<"numOps", "ops", "Number of ops read, again at each inlining">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::weft::WeftDialect"
  ];
}

#endif // WEFT_IMPORT_PASSES_TD
