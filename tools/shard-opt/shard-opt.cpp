//===- shard-opt.cpp - Passes over textual MLIR ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs passes and pipelines over textual MLIR, as mlir-opt does.
//
//   shard-opt model.mlir --weft-propagate --weft-verify-form=form=sharded
//
//===----------------------------------------------------------------------===//

#include "weft/Phases.h"
#include "weft/Plan/PlanWriter.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  weft::registerAllWeftDialects(registry);

  mlir::registerAllPasses();
  weft::registerAllWeftPasses();

  llvm::cl::SetVersionPrinter(
      [](llvm::raw_ostream &os) { os << weft::versionText() << '\n'; });
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Weft: passes over sharded tensor programs\n", registry));
}
