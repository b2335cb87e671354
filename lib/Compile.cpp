//===- Compile.cpp - The compiler as a library ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Compile.h"

#include "NestingCheck.h"

#include "weft/Codegen/TargetLimits.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/MeshDevices.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SavedTime.h"
#include "weft/IR/StagePipeline.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Import/Passes.h"
#include "weft/Import/Stablehlo.h"
#include "weft/Partition/ChoiceReport.h"
#include "weft/Report/PlanReport.h"
#include "weft/Schedule/ProgramStates.h"
#include "weft/Schedule/RecomputationReport.h"
#include "weft/Search/ChooseKeeping.h"
#include "weft/Search/ChooseSchedule.h"
#include "weft/Search/ChooseStages.h"
#include "weft/Search/LimitMemory.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace weft {

llvm::Expected<int64_t> parseBytes(StringRef text) {
  static constexpr std::pair<llvm::StringLiteral, double> units[] = {
      {"KiB", 1024.},
      {"MiB", 1024. * 1024},
      {"GiB", 1024. * 1024 * 1024},
      {"TiB", 1024. * 1024 * 1024 * 1024},
      {"KB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
      {"B", 1}};
  StringRef number = text.trim();
  double factor = 1;
  for (auto [unit, bytes] : units)
    if (number.consume_back(unit)) {
      factor = bytes;
      break;
    }
  double value = 0;
  constexpr double most = 9e18; // no machine: what fits int64_t
  if (number.trim().getAsDouble(value) || !(value * factor >= 1) ||
      value * factor > most)
    return llvm::createStringError("expected a number of bytes such as "
                                   "1500MB or 2GiB, got \"" +
                                   text + "\"");
  return int64_t(value * factor);
}

static llvm::Error pipelineError(const llvm::Twine &problem) {
  return llvm::createStringError(
      "expected a pipeline such as \"axis=pipe schedule=1f1b chunks=2\", " +
      problem);
}

llvm::Expected<StageOptions> parsePipeline(StringRef text) {
  StageOptions options;
  SmallVector<StringRef> items;
  text.split(items, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  llvm::StringSet<> seen;
  for (StringRef item : items) {
    auto [key, value] = item.split('=');
    if (value.empty())
      return pipelineError("got \"" + item + "\" without a value");
    if (!seen.insert(key).second)
      return pipelineError("got \"" + key + "\" more than once");
    if (key == "axis") {
      options.axis = value.str();
    } else if (key == "schedule") {
      if (!value.ends_with(".csv")) {
        options.schedule = value.str();
        continue;
      }
      auto file = llvm::MemoryBuffer::getFile(value, /*IsText=*/true);
      if (!file)
        return llvm::createStringError("cannot read the schedule " + value +
                                       ": " + file.getError().message());
      options.schedule.clear();
      options.table = (*file)->getBuffer().str();
      options.tableName = value.str();
      if (StringRef(options.table).trim(" ,\t\r\n").empty())
        return llvm::createStringError("the schedule " + value +
                                       " has no actions");
    } else if (key == "stages") {
      if (value != "auto")
        return pipelineError("got \"" + item +
                             "\"; stages are as many as the "
                             "axis has ranks, times chunks; stages=auto lets "
                             "the compiler place the boundaries");
      options.areAutomatic = true;
    } else if (key == "chunks" || key == "microbatches") {
      int64_t &number = key == "chunks" ? options.chunks : options.microbatches;
      if (value.getAsInteger(10, number) || number < 1)
        return pipelineError("got \"" + value + "\" " + key);
    } else {
      return pipelineError("got an unknown key \"" + key + "\"");
    }
  }
  if (options.axis.empty())
    return pipelineError("got no axis");
  return options;
}

llvm::Expected<bool> parseGemmPrecision(StringRef text) {
  if (text == "full" || text == "tf32")
    return text == "tf32";
  return llvm::createStringError("expected full or tf32, got \"" + text + "\"");
}

static InFlightDiagnostic meshError(Operation *op) {
  return op->emitError("--mesh: ");
}

/// Sets the size of one axis from `name=size`.
static LogicalResult overrideAxis(MeshOp meshOp,
                                  std::vector<sharding::MeshAxis> &axes,
                                  StringRef item) {
  auto [name, number] = item.split('=');
  int64_t size = 0;
  if (name.trim().empty() || number.trim().getAsInteger(10, size))
    return meshError(meshOp) << "expected name=size, got \"" << item << "\"";
  auto axis = llvm::find_if(axes, [&](const sharding::MeshAxis &candidate) {
    return candidate.name == name.trim();
  });
  if (axis == axes.end()) {
    std::string known;
    for (const sharding::MeshAxis &candidate : axes)
      known += (known.empty() ? "\"" : ", \"") + candidate.name + "\"";
    return meshError(meshOp)
           << "mesh @" << meshOp.getSymName() << " has no axis \""
           << name.trim() << "\"; its axes are " << known;
  }
  axis->size = size;
  return success();
}

static LogicalResult overrideSizes(ModuleOp module, StringRef sizes) {
  MeshOp meshOp = findMesh(module);
  if (!meshOp)
    return meshError(module)
           << "sizes are given (\"" << sizes
           << "\") but the module declares no mesh; declare one with weft.mesh";
  sharding::Mesh mesh = meshOp.getMesh().toMesh();
  std::vector<sharding::MeshAxis> axes(mesh.axes());
  SmallVector<StringRef> items;
  sizes.split(items, ',');
  bool legal = true;
  llvm::StringSet<> named;
  for (StringRef item : items) {
    legal &= succeeded(overrideAxis(meshOp, axes, item));
    StringRef name = item.split('=').first.trim();
    if (!named.insert(name).second) {
      meshError(meshOp) << "size of axis \"" << name << "\" is given twice";
      legal = false;
    }
  }
  if (!legal)
    return failure();
  SmallVector<MeshAxisAttr> attrs;
  for (const sharding::MeshAxis &axis : axes)
    attrs.push_back(
        MeshAxisAttr::get(module.getContext(), axis.name, axis.size));
  auto report = [&] { return meshError(meshOp); };
  llvm::function_ref<InFlightDiagnostic()> emitError = report;
  auto attr = MeshAttr::getChecked(emitError, module.getContext(),
                                   ArrayRef<MeshAxisAttr>(attrs));
  if (!attr)
    return failure();
  meshOp.setMeshAttr(attr);
  return success();
}

static LogicalResult overrideDevices(ModuleOp module,
                                     ArrayRef<int64_t> devices) {
  MeshOp meshOp = findMesh(module);
  if (!meshOp)
    return module->emitError("--devices: the module declares no mesh; declare "
                             "one with weft.mesh");
  const std::string problem =
      checkDevices(devices, meshOp.getMesh().toMesh().numDevices());
  if (!problem.empty())
    return meshOp->emitError() << "--devices: " << problem;
  meshOp->setAttr(kDevicesAttrName,
                  DenseI64ArrayAttr::get(module.getContext(), devices));
  return success();
}

LogicalResult overrideMesh(ModuleOp module, StringRef sizes,
                           ArrayRef<int64_t> devices) {
  if (sizes.trim().empty() && devices.empty())
    return success();
  if (!sizes.trim().empty() && failed(overrideSizes(module, sizes)))
    return failure();
  if (!devices.empty() && failed(overrideDevices(module, devices)))
    return failure();
  // What the module says of axes and devices may not fit the new sizes.
  return verify(module);
}

OwningOpRef<ModuleOp> parseModel(const llvm::SourceMgr &sources,
                                 MLIRContext &context) {
  // What is no part of a graph is then named by the import, or by the rules of
  // the form, all at once.
  context.allowUnregisteredDialects();
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  StringRef text = buffer->getBuffer();
  if (failed(checkNesting(text, buffer->getBufferIdentifier(), context)))
    return {};
  OwningOpRef<ModuleOp> module;
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  if (std::optional<std::string> packed = packBooleans(text)) {
    llvm::SourceMgr others;
    others.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(
                                  *packed, buffer->getBufferIdentifier()),
                              SMLoc());
    module = parseSourceFile<ModuleOp>(others, config);
  } else {
    module = parseSourceFile<ModuleOp>(sources, config);
  }
  if (module) {
    inlineRegionCalls(*module);
    if (failed(verify(*module)))
      module = {};
  }
  if (!module)
    if (std::optional<std::string> hint = explainStablehloText(text))
      emitRemark(UnknownLoc::get(&context)) << *hint;
  return module;
}

/// Runs the passes that `build` adds.
static LogicalResult runPasses(ModuleOp module, const CompileOptions &options,
                               llvm::function_ref<void(PassManager &)> build) {
  PassManager pm(module.getContext());
  // A third of the time of large models. Forms are checked where phases end.
  pm.enableVerifier(false);
  if (options.configurePasses && failed(options.configurePasses(pm)))
    return failure();
  build(pm);
  return pm.run(module);
}

/// Reports what is asked of the passes that they do for other targets only.
static LogicalResult checkPipeline(ModuleOp module,
                                   const PipelineOptions &options) {
  if (options.tf32 && !options.cuda)
    return module.emitError("--gemm-precision: tf32 is for cuda targets; "
                            "compile for one, or leave the precision at full");
  return success();
}

/// The form of a module that was read: an SPMD program and a schedule are known
/// by what no form before them has. Those before are compiled from the start.
static Form findForm(ModuleOp module) {
  Form form = Form::Graph;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr(WeftDialect::kKernelAttrName))
      return Form::Schedule;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, WeftDialect::kGlobalTypeAttrName))
        form = Form::Spmd;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (function.getResultAttr(i, WeftDialect::kGlobalTypeAttrName))
        form = Form::Spmd;
    // Attention is an instruction and an op of the graph, a loop one and of the
    // SPMD program.
    WalkResult found = function.walk([](Operation *op) {
      bool isGeneral = !isa<InstructionOpInterface>(op) ||
                       isa<ShardingRuleOpInterface, RepeatOp>(op);
      return isGeneral ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (found.wasInterrupted())
      return Form::Schedule;
  }
  return form;
}

namespace {
/// An option that was given, and the form that the phase which it changes ends
/// in.
struct GivenOption {
  StringRef name;
  Form form;
};
} // namespace

static SmallVector<GivenOption> findGiven(const CompileOptions &options) {
  const PipelineOptions defaults, &pipeline = options.pipeline;
  const std::pair<bool, GivenOption> all[] = {
      {!options.mesh.empty(), {"mesh", Form::Graph}},
      {!options.devices.empty(), {"devices", Form::Graph}},
      {!pipeline.stages.axis.empty(), {"pipeline", Form::Graph}},
      {options.memoryLimit != 0, {"memory-limit", Form::Sharded}},
      {pipeline.optimizeShardings != defaults.optimizeShardings,
       {"optimize-shardings", Form::Sharded}},
      {pipeline.reduceDtype != defaults.reduceDtype,
       {"reduce-dtype", Form::Spmd}},
      {pipeline.combineCollectives != defaults.combineCollectives,
       {"combine-collectives", Form::Spmd}},
      {pipeline.overlapCollectives != defaults.overlapCollectives,
       {"overlap-collectives", Form::Schedule}},
      {pipeline.fuseEpilogues != defaults.fuseEpilogues,
       {"fuse-epilogues", Form::Schedule}},
      {pipeline.batchLaunches != defaults.batchLaunches,
       {"batch-launches", Form::Schedule}},
      {pipeline.collectivePieces != defaults.collectivePieces,
       {"collective-pieces", Form::Schedule}},
      {pipeline.keepGathered, {"keep-gathered", Form::Schedule}},
      {pipeline.recomputeInKernels != defaults.recomputeInKernels,
       {"recompute-in-kernels", Form::Schedule}},
      {pipeline.tf32, {"gemm-precision", Form::Schedule}}};
  SmallVector<GivenOption> given;
  for (const auto &[isGiven, option] : all)
    if (isGiven)
      given.push_back(option);
  return given;
}

std::vector<std::string> findLaterOptions(const CompileOptions &options,
                                          Form to) {
  std::vector<std::string> names;
  for (const GivenOption &option : findGiven(options))
    if (option.form > to)
      names.push_back(option.name.str());
  return names;
}

/// An option for a phase that comes before the form of the input, or empty.
static StringRef findEarlierOption(const CompileOptions &options, Form from,
                                   Form to) {
  for (const GivenOption &option : findGiven(options))
    if (option.form <= from)
      return option.name;
  // The report of a plan and its explanation have times.
  bool isUnused = from == Form::Schedule && to == Form::Schedule;
  return isUnused && !options.pipeline.cluster.empty() ? "cluster" : "";
}

/// Compiles on from an SPMD program or a schedule.
static LogicalResult continueFrom(ModuleOp module, Form from, Form to,
                                  const CompileOptions &options) {
  std::string name =
      from == Form::Spmd ? "an SPMD program (form 3)" : "a schedule (form 4)";
  auto error = [&] {
    return module.emitError() << "the input is " << name << ": ";
  };
  if (to < from)
    return error() << "--emit=" << stringifyForm(to)
                   << " is a form before it; give the model instead";
  if (StringRef option = findEarlierOption(options, from, to); !option.empty())
    return error() << "--" << option
                   << " is for a phase before it; give the model instead";
  module.emitRemark() << "the input is " << name
                      << "; compilation continues from it";
  return runPasses(module, options, [&](PassManager &pm) {
    continuePipeline(pm, options.pipeline, from, to);
  });
}

/// As --pipeline would say it.
static std::string textOf(const StagePipeline &pipeline, int64_t chunks) {
  std::string text = "axis=" + pipeline.axis;
  if (!pipeline.schedule.empty())
    text += " schedule=" + pipeline.schedule;
  else
    text += " schedule=<a table>";
  return chunks ? text + " chunks=" + std::to_string(chunks) : text;
}

/// A program that was cut into stages, printed and read again brings its
/// pipeline; options that ask for another one are an error.
static LogicalResult adoptPipeline(ModuleOp module, StageOptions &options) {
  auto stages = module->getAttrOfType<IntegerAttr>(kStagesAttrName);
  if (!stages)
    return success();
  std::optional<StagePipeline> pipeline = getPipeline(module);
  StagePipeline given{options.axis, options.schedule, options.table};
  int64_t ranks = 0;
  if (MeshOp mesh = findMesh(module); mesh && pipeline)
    for (MeshAxisAttr axis : mesh.getMesh().getAxes())
      if (axis.getName() == pipeline->axis)
        ranks = axis.getSize();
  int64_t chunks =
      ranks && stages.getInt() % ranks == 0 ? stages.getInt() / ranks : 0;
  bool isSame = pipeline && given.axis == pipeline->axis &&
                given.schedule == pipeline->schedule &&
                (given.table == pipeline->table || given.schedule == "auto") &&
                (!options.chunks || options.chunks == chunks);
  if (!options.axis.empty() && !isSame)
    return module.emitError()
           << "the input is cut into stages for "
           << (pipeline ? "the pipeline \"" + textOf(*pipeline, chunks) + "\""
                        : std::string("no pipeline"))
           << ", but --pipeline is \"" << textOf(given, options.chunks)
           << "\"; give the model instead";
  options.areAutomatic = false;
  options.regions.clear();
  if (pipeline) {
    options.axis = pipeline->axis;
    options.schedule = pipeline->schedule;
    options.table = pipeline->table;
    pipeline->ownCopies &= options.ownCopies;
    setPipeline(module, *pipeline);
  }
  return success();
}

LogicalResult importModel(ModuleOp module, const CompileOptions &options) {
  if (!isStablehlo(module))
    return success();
  return runPasses(module, options, [](PassManager &pm) {
    pm.addPass(createImportStablehlo());
  });
}

LogicalResult lowerModule(ModuleOp module, Form form,
                          const CompileOptions &options) {
  // On its own: what follows looks at the mesh and the functions of the graph.
  if (failed(importModel(module, options)))
    return failure();
  if (findEntries(module).empty())
    return module.emitError("nothing to compile: the module has no public "
                            "func.func with a body");
  CompileOptions used = options;
  used.pipeline.cuda = options.target.isCuda();
  Form from = findForm(module);
  TargetUse use{/*expandsAttention=*/from == Form::Graph,
                /*compilesKernels=*/form == Form::Plan};
  bool canCompile = succeeded(checkPipeline(module, used.pipeline));
  // Whether or not a phase asks for times.
  canCompile &= succeeded(loadCostModel(module, clusterOf(used.pipeline)));
  canCompile &= succeeded(checkTargetLimits(module, options.target, use));
  if (!canCompile)
    return failure();
  if (from != Form::Graph)
    return continueFrom(module, from, form, used);
  if (failed(overrideMesh(module, options.mesh, options.devices)))
    return failure();
  StageOptions &stages = used.pipeline.stages;
  stages.ownCopies = !options.memoryLimit;
  if (failed(adoptPipeline(module, stages)))
    return failure();
  if (stages.areAutomatic) {
    auto regions = chooseStages(module, used.pipeline);
    if (failed(regions))
      return failure();
    stages.regions = std::move(*regions);
    // A single stage has no boundary.
    stages.areAutomatic = !stages.regions.empty();
  }
  used.pipeline.memoryLimit = options.memoryLimit;
  if (stages.schedule == "auto" && stages.table.empty()) {
    auto table = chooseSchedule(module, used.pipeline, options.memoryLimit);
    if (failed(table))
      return failure();
    stages.table = std::move(*table);
  }
  if (options.memoryLimit) {
    auto fitting = limitMemory(module, used.pipeline, options.memoryLimit);
    if (failed(fitting))
      return failure();
    used.pipeline = std::move(*fitting);
  }
  // With a limit, what is left of it.
  if (options.memoryLimit ? used.pipeline.recomputed.empty()
                          : used.pipeline.keepGathered) {
    auto chosen = chooseKeeping(module, used.pipeline, options.memoryLimit);
    if (failed(chosen))
      return failure();
    used.pipeline = std::move(*chosen);
  }
  return runPasses(module, used, [&](PassManager &pm) {
    buildPipeline(pm, used.pipeline, form);
  });
}

/// What passes chose and what that saves, a line each; empty if nothing.
static FailureOr<std::string> printChoices(ModuleOp module,
                                           const PipelineOptions &options) {
  const std::string lines = printChoiceReports(module) +
                            printSavedTimes(module) +
                            printRecomputationReports(module);
  if (lines.empty())
    return lines;
  std::string indented;
  for (StringRef line : llvm::split(StringRef(lines).rtrim(), '\n'))
    indented += "  " + line.str() + "\n";
  FailureOr<cost::CostModel> model = loadCostModel(module, clusterOf(options));
  if (failed(model))
    return failure();
  return "choices, with times predicted on " + model->cluster().name + "\n" +
         indented;
}

FailureOr<std::string> compileModule(ModuleOp module,
                                     const CompileOptions &options) {
  if (failed(lowerModule(module, Form::Plan, options)))
    return failure();
  FailureOr<std::string> choices = printChoices(module, options.pipeline);
  if (failed(choices))
    return failure();
  PlanMetadata metadata = options.metadata;
  metadata.erase(std::string(kChoicesKey));
  if (!choices->empty())
    metadata[std::string(kChoicesKey)] = *choices;
  return writePlan(module, options.target, metadata);
}

FailureOr<std::string> compileText(StringRef text, StringRef name,
                                   MLIRContext &context,
                                   const CompileOptions &options) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                             llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseModel(sources, context);
  if (!module)
    return failure();
  return compileModule(*module, options);
}

} // namespace weft
