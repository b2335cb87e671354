//===- CompilePlan.cpp - Plans that are timed -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompilePlan.h"

#include "weft/Compile.h"

#include "mlir/IR/MLIRContext.h"

using namespace weft::runtime;

namespace weft::tools {

Result<Plan> compilePlan(const std::string &text, const std::string &target) {
  CompileOptions options;
  llvm::Expected<TargetOptions> parsed = parseTarget(target);
  if (!parsed)
    return invalidArgument("--target: " + toString(parsed.takeError()));
  options.target = *parsed;
  // There are no kernels that would need an assembler where plans are of
  // collectives.
  if (options.target.isCuda())
    options.target.ptxas = "none";
  mlir::DialectRegistry registry;
  registerAllWeftDialects(registry);
  mlir::MLIRContext context(registry);
  mlir::FailureOr<std::string> plan =
      compileText(text, "shard-bench", context, options);
  if (mlir::failed(plan)) // no test: the text is our own
    return internalError("a plan to be timed does not compile");
  return Plan::parse(std::as_bytes(std::span(*plan)));
}

} // namespace weft::tools
