//===- CompileProgram.cpp - From text to a plan, in process ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileProgram.h"

#include "weft/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

bool weft::test::compileProgram(const std::string &source,
                                const std::string &target,
                                bool optimizeShardings, std::string &plan,
                                std::string &diagnostics) {
  CompileOptions options;
  options.pipeline.optimizeShardings = optimizeShardings;
  llvm::Expected<TargetOptions> parsed = parseTarget(target);
  if (!parsed) {
    diagnostics = llvm::toString(parsed.takeError());
    return false;
  }
  options.target = std::move(*parsed);
  options.target.ptxas = "none";
  DialectRegistry registry;
  registerAllWeftDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::raw_string_ostream messages(diagnostics);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      messages << diagnostic.getLocation() << ": " << diagnostic << '\n';
  });
  FailureOr<std::string> result =
      compileText(source, "program.mlir", context, options);
  if (failed(result))
    return false;
  plan = std::move(*result);
  return true;
}
