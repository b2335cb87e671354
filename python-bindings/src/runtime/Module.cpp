//===- Module.cpp - weft._runtime -----------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime for Python: plans are read and run. Element types and NumPy's
// meet in weft/session.py; here a tensor is its type's name, its shape and its
// bytes.
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

using namespace weft::runtime;

NB_MODULE(_runtime, m) {
  m.doc() = "The runtime: reads and runs plans. Use weft.load instead.";
  m.attr("__version__") = WEFT_VERSION;
  bindPipeline(m);
  bindReport(m);
  bindPlan(m);
  bindDistributed(m);
  bindCheckpoint(m);
  bindSession(m);
  bindStep(m);
  bindCompare(m);
}
