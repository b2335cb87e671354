//===- shard-compile.cpp - From model to plan -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   shard-compile model.mlir -o model.plan --mesh "data=2,model=4"
//   shard-compile model.mlir --emit=spmd
//
//===----------------------------------------------------------------------===//

#include "weft/Compile.h"
#include "weft/Plan/PlanReport.h"
#include "weft/Plan/PlanWriter.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

#include <chrono>

using namespace mlir;
using namespace weft;
namespace cl = llvm::cl;

static cl::OptionCategory category("shard-compile options");
static cl::opt<std::string> input(cl::Positional, cl::desc("<model.mlir>"),
                                  cl::init("-"), cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("Output file"),
                                   cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string>
    target("target",
           cl::desc("Machine to compile for: cpu, the one that "
                    "compiles, or cpu:<processor>"),
           cl::value_desc("cpu[:x86-64-v3|...]"), cl::init("cpu"),
           cl::cat(category));
static cl::opt<std::string>
    mesh("mesh", cl::desc("Sizes of mesh axes that replace those of the model"),
         cl::value_desc("data=2,model=2"), cl::cat(category));
static cl::opt<Form> emit(
    "emit", cl::desc("Form to stop at"), cl::init(Form::Plan),
    cl::values(clEnumValN(Form::Graph, "graph", "global shapes"),
               clEnumValN(Form::Sharded, "sharded", "every sharding decided"),
               clEnumValN(Form::Spmd, "spmd", "local shapes, collectives"),
               clEnumValN(Form::Schedule, "schedule", "kernels in order"),
               clEnumValN(Form::Plan, "plan", "a plan and its report")),
    cl::cat(category));
static cl::opt<bool> overlap("overlap-collectives",
                             cl::desc("Let collectives run beside computation"),
                             cl::init(true), cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "shard-compile") << message << '\n';
  return 1;
}

/// Writes a whole file or nothing.
static int write(llvm::StringRef path, llvm::StringRef text) {
  if (llvm::Error error =
          llvm::writeToOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
            os << text;
            return llvm::Error::success();
          }))
    return fail("cannot write " + path + ": " + toString(std::move(error)));
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Weft: from model to plan\n");
  auto start = std::chrono::steady_clock::now();

  CompileOptions options;
  options.pipeline.overlapCollectives = overlap;
  options.mesh = mesh;
  options.configurePasses = [](PassManager &pm) {
    applyDefaultTimingPassManagerCLOptions(pm);
    return applyPassManagerCLOptions(pm);
  };
  auto [kind, processor] = llvm::StringRef(target).split(':');
  if (kind != "cpu")
    return fail("unknown target \"" + target +
                "\"; expected cpu or "
                "cpu:<processor>");
  if (!processor.empty())
    options.target.cpu = processor.str();
  if (emit == Form::Plan && output.empty())
    return fail("a plan needs an output file: -o <file>");

  std::string error;
  auto file = openInputFile(input, &error);
  if (!file)
    return fail(error);
  DialectRegistry registry;
  registerAllWeftDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return 1;

  if (emit != Form::Plan) {
    if (failed(lowerModule(*module, emit, options)))
      return 1;
    std::string text;
    llvm::raw_string_ostream(text) << *module << '\n';
    return write(output.empty() ? std::string("-") : output.getValue(), text);
  }
  FailureOr<std::string> plan = compileModule(*module, options);
  if (failed(plan) || write(output, *plan))
    return 1;
  printPlanReport(llvm::outs(), *plan);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  llvm::outs() << llvm::format("compiled in %.2f s\n", seconds.count());
  return 0;
}
