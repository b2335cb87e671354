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

#include "OutputFile.h"

#include "weft/ChooseMesh.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/Reasons.h"
#include "weft/Plan/PlanWriter.h"
#include "weft/Report/PlanReport.h"
#include "weft/Schedule/ExplainSchedule.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

#include <chrono>
#include <csignal>

using namespace mlir;
using namespace weft;
namespace cl = llvm::cl;

static cl::OptionCategory category("shard-compile options");
static cl::opt<std::string> input(cl::Positional, cl::desc("<model.mlir>"),
                                  cl::init("-"), cl::cat(category));
static cl::opt<std::string>
    output("o", cl::desc("Output file; - is the standard output"),
           cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string>
    target("target",
           cl::desc("Machine to compile for: cpu (this machine), "
                    "cpu:<processor> as LLVM names it, such as x86-64-v3, "
                    "cuda:sm_80, cuda:sm_90 or cuda:sm_100 (which needs no "
                    "GPU), or none (a plan without machine code, for planning "
                    "only). Default: cpu"),
           cl::value_desc("machine"), cl::init("cpu"), cl::cat(category));
static cl::opt<std::string>
    ptxas("ptxas",
          cl::desc("Assembler for cuda targets; with none the plan contains "
                   "PTX, which the driver compiles when the plan is loaded. "
                   "Default: WEFT_PTXAS, else ptxas in PATH or in the CUDA "
                   "toolkit"),
          cl::value_desc("path"), cl::cat(category));
static cl::opt<std::string>
    mesh("mesh", cl::desc("Override sizes of the model's mesh axes"),
         cl::value_desc("data=2,model=2"), cl::cat(category));
static cl::list<int64_t> devices(
    "devices", cl::CommaSeparated,
    cl::desc("The device of each position of the mesh, row-major, instead of "
             "what the model lists: devices are numbered node by node, and "
             "rank i of a run is device i"),
    cl::value_desc("0,2,1,3"), cl::cat(category));
static cl::opt<std::string> automatic(
    "auto",
    cl::desc("Choose the mesh, shardings and pipeline of a model that has none "
             "for so many devices: of all ways that are compiled, the one with "
             "the shortest predicted step. --emit=graph prints the annotated "
             "model"),
    cl::value_desc("devices"), cl::cat(category));
static cl::opt<std::string> memoryLimit(
    "memory-limit",
    cl::desc("Memory limit per rank, such as 2GiB or 1500MB. Activations are "
             "recomputed in the "
             "backward pass until the plan fits, with the fewest extra FLOPs"),
    cl::value_desc("bytes"), cl::cat(category));
static cl::opt<std::string> pipeline(
    "pipeline",
    cl::desc("Stages along a mesh axis: its name, the schedule (1f1b, if not "
             "given) or a .csv file with a table, stages of each rank, and "
             "micro-batches for a model that has none, as in \"axis=pipe "
             "schedule=interleaved-1f1b chunks=2 microbatches=8\""),
    cl::value_desc("axis=pipe"), cl::cat(category));
static cl::opt<std::string> cluster(
    "cluster",
    cl::desc(
        "The machines to plan for: a name that shard-sim cluster lists, or "
        "a file. All that is chosen by time is chosen for them, whatever the "
        "target. Default: dgx-h100"),
    cl::value_desc("name"), cl::cat(category));
static cl::opt<std::string> reference(
    "reference",
    cl::desc("Let the plan leave the values of the graph as results, and write "
             "the plan that one device computes them with to this file: for "
             "shard-run --verify. Of a pipeline each value is a result of the "
             "stage that computes it"),
    cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string> explain(
    "explain",
    cl::desc("Print why the plan is as it is: collectives, what each goes back "
             "to, what else was weighed and what would remove it; schedule, "
             "when each collective runs, what hides it, and why nothing hides "
             "the rest"),
    cl::value_desc("what"), cl::cat(category));
static cl::opt<Form> emit(
    "emit", cl::desc("Form to stop at. Default: plan"), cl::init(Form::Plan),
    cl::values(
        clEnumValN(Form::Graph, "graph", "global shapes, gradients"),
        clEnumValN(Form::Sharded, "sharded", "a sharding for every value"),
        clEnumValN(Form::Spmd, "spmd", "local shapes, collectives"),
        clEnumValN(Form::Schedule, "schedule",
                   "kernels in order, buffers at offsets"),
        clEnumValN(Form::Plan, "plan", "the plan file; its report is printed")),
    cl::cat(category));
static cl::opt<bool>
    optimizeShardings("optimize-shardings",
                      cl::desc("Choose shardings that nobody wrote by cost "
                               "over the whole graph, not by propagation "
                               "alone. Default: true"),
                      cl::init(true), cl::cat(category));
static cl::opt<bool>
    combineCollectives("combine-collectives",
                       cl::desc("Make one collective of several small ones. "
                                "Default: true"),
                       cl::init(true), cl::cat(category));
static cl::opt<bool> overlap("overlap-collectives",
                             cl::desc("Overlap collectives with computation. "
                                      "Default: true"),
                             cl::init(true), cl::cat(category));
static cl::opt<unsigned> collectivePieces(
    "collective-pieces",
    cl::desc("Pieces into which collectives are cut so that one piece is sent "
             "while a matmul of another runs. 0: as many as pay, 1: none is "
             "cut. Default: 0"),
    cl::value_desc("count"), cl::init(0), cl::cat(category));
static cl::opt<bool> keepGathered(
    "keep-gathered",
    cl::desc("Gather parameters that rest in shards once for all micro-batches "
             "of a loop and hold them whole meanwhile, where the predicted "
             "step is shorter for it. Without it, so does --memory-limit where "
             "it fits. Default: false"),
    cl::init(false), cl::cat(category));
static cl::opt<bool> recomputeInKernels(
    "recompute-in-kernels",
    cl::desc("Let kernels recompute what would take memory at the peak, where "
             "that is worth the time: 1 % of the predicted step for 20 % of "
             "what a rank holds beside its states. Default: true"),
    cl::init(true), cl::cat(category));
static cl::opt<ReduceDtype> reduceDtype(
    "reduce-dtype",
    cl::desc("Type in which gradients of 16-bit floats are reduced over "
             "devices. Default: own"),
    cl::init(ReduceDtype::Own),
    cl::values(clEnumValN(ReduceDtype::Own, "own", "that of the gradient"),
               clEnumValN(ReduceDtype::Float32, "float32", "f32")),
    cl::cat(category));
static cl::opt<bool>
    fuseEpilogues("fuse-epilogues",
                  cl::desc("cuda: fuse biases, GELU and their gradients into "
                           "GEMMs. Default: true"),
                  cl::init(true), cl::cat(category));
static cl::opt<bool>
    batchLaunches("batch-launches",
                  cl::desc("Merge launches of the same kernel; for CPUs, only "
                           "those that fill what loops begin with. Default: "
                           "true"),
                  cl::init(true), cl::cat(category));
static cl::opt<std::string> gemmPrecision(
    "gemm-precision",
    cl::desc("Precision of GEMMs on f32: full, or tf32 (cuda only), which "
             "rounds operands to 10 bits of mantissa. Default: full"),
    cl::value_desc("mode"), cl::init("full"), cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "shard-compile") << message << '\n';
  return 1;
}

static int fail(llvm::Error error) { return fail(toString(std::move(error))); }

/// What --auto chooses cannot be given.
static llvm::Error checkAutomatic() {
  int64_t number;
  if (llvm::StringRef(automatic).getAsInteger(10, number) || number < 1)
    return llvm::createStringError("--auto: expected a number of devices of at "
                                   "least 1, got '" +
                                   llvm::Twine(automatic.getValue()) + "'");
  const std::pair<bool, const char *> given[] = {
      {mesh.getNumOccurrences(), "mesh"},
      {devices.getNumOccurrences(), "devices"},
      {pipeline.getNumOccurrences(), "pipeline"},
      {reference.getNumOccurrences(), "reference"}};
  for (auto [isGiven, name] : given)
    if (isGiven)
      return llvm::createStringError("--auto chooses mesh and pipeline: --%s "
                                     "cannot be given with it",
                                     name);
  return llvm::Error::success();
}

/// Reads the flags into `options`.
static llvm::Error readOptions(CompileOptions &options) {
  options.pipeline.cluster = cluster;
  if (pipeline.getNumOccurrences()) {
    llvm::Expected<StageOptions> stages = parsePipeline(pipeline);
    if (!stages)
      return llvm::createStringError("--pipeline: " +
                                     toString(stages.takeError()));
    options.pipeline.stages = *stages;
  }
  options.pipeline.optimizeShardings = optimizeShardings;
  options.pipeline.combineCollectives = combineCollectives;
  options.pipeline.overlapCollectives = overlap;
  options.pipeline.collectivePieces = collectivePieces;
  options.pipeline.keepGathered = keepGathered;
  options.pipeline.recomputeInKernels = recomputeInKernels;
  options.pipeline.reduceDtype = reduceDtype;
  options.pipeline.fuseEpilogues = fuseEpilogues;
  options.pipeline.batchLaunches = batchLaunches;
  options.configurePasses = [](PassManager &pm) {
#ifndef NDEBUG
    // Tests that look at a form want no other than a valid one; of the many
    // that compile and run plans it would be a seventh of the time.
    if (emit != Form::Plan)
      pm.enableVerifier(true);
#endif
    applyDefaultTimingPassManagerCLOptions(pm);
    return applyPassManagerCLOptions(pm);
  };
  if (!explain.empty() && explain != "schedule" && explain != "collectives")
    return llvm::createStringError(
        "--explain: expected collectives or schedule, got \"" + explain + "\"");
  if (!explain.empty() && emit != Form::Plan)
    return llvm::createStringError("--explain is of plans, but --emit is " +
                                   stringifyForm(emit) +
                                   "; compile to a plan: -o <file>");
  options.mesh = mesh;
  options.devices.assign(devices.begin(), devices.end());
  if (mesh.getNumOccurrences() && llvm::StringRef(mesh).trim().empty())
    return llvm::createStringError("--mesh: expected name=size, got \"\"");
  if (memoryLimit.getNumOccurrences()) {
    auto bytes = parseBytes(memoryLimit);
    if (!bytes)
      return llvm::createStringError("--memory-limit: " +
                                     toString(bytes.takeError()));
    options.memoryLimit = *bytes;
  }
  auto rounds = parseGemmPrecision(gemmPrecision);
  if (!rounds)
    return llvm::createStringError("--gemm-precision: " +
                                   toString(rounds.takeError()));
  options.pipeline.tf32 = *rounds;
  auto parsed = parseTarget(target);
  if (!parsed)
    return llvm::createStringError("--target: " + toString(parsed.takeError()));
  options.target = *parsed;
  if (ptxas.getNumOccurrences() && !parsed->isCuda())
    return llvm::createStringError("--ptxas is for --target=cuda:<processor>, "
                                   "but the target is \"" +
                                   target + "\"");
  options.target.ptxas = ptxas;
  if (emit == Form::Plan && output.empty())
    return llvm::createStringError("a plan needs an output file: -o <file>");
  return automatic.getNumOccurrences() ? checkAutomatic()
                                       : llvm::Error::success();
}

/// Brings the module to a graph, writes the plan of its reference, and sets the
/// options for what is left to do of it.
static llvm::Error writeReference(ModuleOp module, CompileOptions &options) {
  auto path = resolveOutput(reference, input);
  if (!path)
    return llvm::createStringError("--reference: " +
                                   toString(path.takeError()));
  const auto failed = [] { return llvm::createStringError(""); };
  if (mlir::failed(lowerModule(module, Form::Graph, options)))
    return failed();
  // What these ask for is in the graph.
  options.mesh.clear();
  options.devices.clear();
  options.memoryLimit = 0;
  options.pipeline.stages = {};
  OwningOpRef<ModuleOp> copy = module.clone();
  options.pipeline.verified = Verified::Reference;
  FailureOr<std::string> plan = compileModule(*copy, options);
  options.pipeline.verified = Verified::Values;
  return mlir::failed(plan) ? failed() : writeOutput(*path, *plan);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // A limit of file sizes is an error of the write that meets it.
  std::signal(SIGXFSZ, SIG_IGN);
  registerAsmPrinterCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &os) { os << versionText() << '\n'; });
  cl::ParseCommandLineOptions(argc, argv,
                              "Compiles a model, MLIR or StableHLO text, to a "
                              "plan, and prints its report\n");
  auto start = std::chrono::steady_clock::now();

  CompileOptions options;
  if (llvm::Error error = readOptions(options))
    return fail(std::move(error));
  // The linker, which is LLVM's, sets all flags of the process to their
  // defaults when it has linked kernels.
  const Form form = emit;
  const OpPrintingFlags flags;
  const std::string explained = explain, machines = cluster;
  int64_t shared = 0;
  if (automatic.getNumOccurrences())
    llvm::StringRef(automatic).getAsInteger(10, shared);
  auto path = resolveOutput(output.empty() ? "-" : output.getValue(), input);
  if (!path)
    return fail("-o: " + toString(path.takeError()));

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
  OwningOpRef<ModuleOp> module = parseModel(sources, context);
  if (!module)
    return 1;

  for (const std::string &name : findLaterOptions(options, form))
    llvm::WithColor::warning(llvm::errs(), "shard-compile")
        << "--" << name << " changes nothing of --emit=" << stringifyForm(form)
        << "; give it to the command that continues from there\n";
  std::string choices;
  if (shared) {
    FailureOr<ChosenMesh> chosen = chooseMesh(*module, options, shared);
    if (failed(chosen))
      return 1;
    choices = chosen->print();
  }
  if (reference.getNumOccurrences())
    if (llvm::Error error = writeReference(*module, options)) {
      std::string message = toString(std::move(error));
      // Diagnostics have been printed.
      return message.empty() ? 1 : fail(message);
    }
  if (form != Form::Plan) {
    if (failed(lowerModule(*module, form, options)))
      return 1;
    if (!flags.shouldPrintDebugInfo())
      removeExplanations(*module);
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os, OpPrintingFlags(flags).useLocalScope());
    os << '\n';
    if (llvm::Error error = writeOutput(*path, text))
      return fail(std::move(error));
    llvm::errs() << choices;
    return 0;
  }
  FailureOr<std::string> plan = compileModule(*module, options);
  if (failed(plan))
    return 1;
  if (llvm::Error error = writeOutput(*path, *plan))
    return fail(std::move(error));
  const PlanReport report = makePlanReport(*plan, machines);
  // A plan that is piped on stands alone.
  llvm::raw_ostream &out = *path == "-" ? llvm::errs() : llvm::outs();
  out << choices << printPlanReport(report);
  if (explained == "collectives")
    out << printReasons(report);
  if (explained == "schedule") {
    FailureOr<cost::CostModel> model =
        loadCostModel(*module, clusterOf(options.pipeline));
    if (failed(model))
      return 1;
    out << explainSchedule(*module, *model);
  }
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  out << llvm::format("compiled in %.2f s\n", seconds.count());
  if (llvm::Error error = flushStandardOutput())
    return fail(std::move(error));
  return 0;
}
