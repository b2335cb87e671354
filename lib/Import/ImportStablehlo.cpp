//===- ImportStablehlo.cpp - From StableHLO to a graph --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Import/Passes.h"
#include "weft/Import/Stablehlo.h"

#include "ComplexNumbers.h"
#include "Importer.h"
#include "Signature.h"
#include "TrainingFacts.h"
#include "Updates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace weft {
#define GEN_PASS_DEF_IMPORTSTABLEHLO
#include "weft/Import/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

bool weft::isStablehlo(ModuleOp module) {
  // A function that computes nothing is still known by its module.
  if (module->hasAttr("mhlo.num_partitions"))
    return true;
  return module
      ->walk([](Operation *op) {
        StringRef dialect = op->getName().getDialectNamespace();
        return dialect == "stablehlo" || dialect == "chlo" || dialect == "sdy"
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Writes the graph of `source` beside it.
static void importFunction(func::FuncOp source, Importer &importer) {
  OpBuilder &builder = importer.getBuilder();
  Problems &problems = importer.getProblems();
  builder.setInsertionPoint(source);
  func::FuncOp function =
      importSignature(source, builder, importer.getMeshes(), problems);
  Values arguments(source.getNumArguments());
  if (function) {
    builder.setInsertionPointToEnd(&function.getBody().front());
    for (auto [value, argument] :
         llvm::zip_equal(arguments, function.getArguments()))
      value = importer.withoutEmpty(argument);
  }
  // Without a signature, the body is read for its problems only.
  OwningOpRef<ModuleOp> scratch;
  if (!function) {
    scratch = ModuleOp::create(source.getLoc());
    builder.setInsertionPointToEnd(scratch->getBody());
  }
  std::optional<Values> results = importer.importBody(source, arguments);
  const bool isWhole =
      function && results && !llvm::is_contained(*results, Value());
  // The types are those of the function, as the source was verified.
  if (isWhole)
    func::ReturnOp::create(builder, function.getLoc(), *results);
  importer.eraseEmptyTensors();
  if (!isWhole)
    return;
  lowerUpdates(function);
  markTrainingFacts(function);
}

/// The public functions; what else a module may hold is checked.
static SmallVector<func::FuncOp> findEntries(ModuleOp module,
                                             Problems &problems) {
  SmallVector<func::FuncOp> entries;
  for (Operation &op : *module.getBody()) {
    StringRef name = op.getName().getStringRef();
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      if (function.isPublic() && !function.isExternal())
        entries.push_back(function);
    } else if (name != "sdy.mesh") {
      problems.unsupported(op.getLoc(), name,
                           "a program consists of functions and a mesh");
    }
  }
  return entries;
}

LogicalResult weft::importStablehlo(ModuleOp module, int64_t *opsRead) {
  Problems problems;
  SmallVector<Operation *> old;
  for (Operation &op : *module.getBody())
    old.push_back(&op);
  for (auto function : module.getOps<func::FuncOp>())
    splitComplexNumbers(function);
  Importer importer(module, problems);
  for (func::FuncOp entry : findEntries(module, problems))
    importFunction(entry, importer);
  importer.getMeshes().finish();
  problems.report(module.getLoc());
  if (opsRead)
    *opsRead = importer.getNumOps();
  if (problems.any())
    return failure();

  for (Operation *op : old)
    op->erase();
  // The attributes of a StableHLO module speak of its runtime.
  module->setAttrs(DictionaryAttr::get(module.getContext()));
  return success();
}

std::optional<std::string> weft::explainStablehloText(StringRef text) {
  constexpr StringLiteral remedy =
      "print the generic form: jax.jit(f).lower(...).compiler_ir(\"stablehlo\")"
      ".operation.get_asm(print_generic_op_form=True, enable_debug_info=True)";
  if (text.starts_with("ML\xefR"))
    return "this is MLIR bytecode; " + remedy.str();
  // In generic form, names of ops are quoted.
  for (StringRef op : {"= stablehlo.", "= chlo.", "sdy.mesh @", " mhlo."})
    if (text.contains(op))
      return "this is StableHLO in the form for reading; " + remedy.str();
  return std::nullopt;
}

namespace {
struct ImportStablehlo : weft::impl::ImportStablehloBase<ImportStablehlo> {
  void runOnOperation() override {
    if (!isStablehlo(getOperation()))
      return;
    int64_t opsRead = 0;
    if (failed(importStablehlo(getOperation(), &opsRead)))
      signalPassFailure();
    numOps += opsRead;
  }
};
} // namespace
