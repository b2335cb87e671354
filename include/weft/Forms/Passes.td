//===- Passes.td - What every form promises ----------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_FORMS_PASSES_TD
#define WEFT_FORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyForm : Pass<"weft-verify-form", "::mlir::ModuleOp"> {
  let summary = "Check what a form of the program promises";
  let description = [{
    **Needs** a module that a phase has just left.

    **Does** check the rules of one form (see the table of each form in
    lib/Forms/VerifyForm.cpp) and report every op, argument or result that breaks
    one, as `after <phase>: ...`. What the op verifiers check holds in every
    form and is not repeated here.

    | form | after | rules |
    | --- | --- | --- |
    | `graph` | import | static tensor types with no empty dimension; ops of `arith`, `math`, `func` and `weft` only, and of `weft` only those of the graph; unique names; at most one mesh, and one if anything is sharded |
    | `sharded` | propagate | every argument, result and op result has a sharding of the one mesh; equal shardings for the occurrences of a state; an op result is unreduced only where a reduction factor is split or a linear op passes it on |
    | `spmd` | partition | no shardings on ops, no constraint and no reshard left; every argument and result has `weft.sharding` and `weft.global_type`, and its local type agrees with both |
    | `schedule` | schedule | entries hold only ops of the schedule and returns; every start has exactly one wait; every value has an offset in the arena, and no two that are alive at one instruction share a byte; what is written in place is read by nothing behind it, and its kernel allows it; a state has one place in all entries, and keeps its old value until the last reader is done |

    **Leaves** the module as it is.

    **Example** `test/Forms/verify-form.mlir`.
  }];
  let options = [
    Option<"form", "form", "std::string", /*default=*/"\"graph\"",
           "The form to check: graph, sharded, spmd or schedule.">
  ];
}

#endif // WEFT_FORMS_PASSES_TD
