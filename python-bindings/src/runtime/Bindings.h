//===- Bindings.h - The parts of weft._runtime ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each group of classes of the module, defined in the file of
// that name.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PYTHON_SRC_RUNTIME_BINDINGS_H
#define WEFT_PYTHON_SRC_RUNTIME_BINDINGS_H

#include <nanobind/nanobind.h>

namespace weft::runtime {

void bindCheckpoint(nanobind::module_ &m);
void bindCompare(nanobind::module_ &m);
void bindDistributed(nanobind::module_ &m);
void bindPipeline(nanobind::module_ &m);
void bindReport(nanobind::module_ &m);
void bindPlan(nanobind::module_ &m);
void bindSession(nanobind::module_ &m);
void bindStep(nanobind::module_ &m);

} // namespace weft::runtime

#endif // WEFT_PYTHON_SRC_RUNTIME_BINDINGS_H
