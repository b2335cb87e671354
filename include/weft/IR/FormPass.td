//===- FormPass.td - Passes that check their input ---------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_FORMPASS_TD
#define WEFT_IR_FORMPASS_TD

include "mlir/Pass/PassBase.td"

// A pass over modules that needs `input`, an enumerator of weft::PassInput
// (FormPass.h). It implements runOnInput() instead of runOnOperation().
class FormPass<string passArg, string input>
    : PassBase<passArg, "::weft::FormPass<::weft::PassInput::" # input # ">">;

#endif // WEFT_IR_FORMPASS_TD
