//===- Phases.cpp - The pipeline of the compiler --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Phases.h"

#include "weft/Autodiff/Passes.h"
#include "weft/Codegen/Passes.h"
#include "weft/Cost/ClusterFile.h"
#include "weft/Cost/GpuLimits.h"
#include "weft/Forms/Passes.h"
#include "weft/IR/Passes.h"
#include "weft/IR/ShardingRuleModels.h"
#include "weft/IR/VjpModels.h"
#include "weft/IR/WeftDialect.h"
#include "weft/Import/Passes.h"
#include "weft/Partition/LocalFormModels.h"
#include "weft/Partition/Passes.h"
#include "weft/Pipelining/Passes.h"
#include "weft/Propagate/Passes.h"
#include "weft/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace weft {

llvm::StringRef stringifyForm(Form form) {
  static constexpr llvm::StringLiteral names[] = {"graph", "sharded", "spmd",
                                                  "schedule", "plan"};
  return names[static_cast<int>(form)];
}

std::optional<Form> symbolizeForm(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Form>>(name)
      .Case("graph", Form::Graph)
      .Case("sharded", Form::Sharded)
      .Case("spmd", Form::Spmd)
      .Case("schedule", Form::Schedule)
      .Case("plan", Form::Plan)
      .Default(std::nullopt);
}

static void verifyForm(OpPassManager &pm, Form form) {
  pm.addPass(createVerifyForm({stringifyForm(form).str()}));
}

//===----------------------------------------------------------------------===//
// Graph: calls and gradients -> graph
//===----------------------------------------------------------------------===//

void buildGraphPipeline(OpPassManager &pm, const PipelineOptions &options) {
  // First: a derivative is asked of ops, and a call is none that has one.
  pm.addPass(createInlineCalls());
  // While what is differentiated is one function. Boundaries are placed first,
  // by numbers of regions of which none is recomputed.
  if (!options.stages.regions.empty()) {
    PlaceBoundariesOptions boundaries;
    llvm::append_range(boundaries.regions, options.stages.regions);
    pm.addPass(createPlaceBoundaries(boundaries));
  }
  if (options.markRegions || !options.recomputed.empty()) {
    CheckpointRegionsOptions regions;
    llvm::append_range(regions.ranges, options.recomputed);
    pm.addPass(createCheckpointRegions(regions));
  }
  pm.addPass(createAutodiff());
  // After derivatives, whose sums over micro-batches have the wider type.
  pm.addPass(createHoistCasts());
  // Of gradients of slices: one movement of data instead of several.
  pm.addPass(createJoinPaddings());
  // After derivatives, which are those of the whole; before propagation: the
  // parts can be split in more ways.
  pm.addPass(createDecompose({/*keepCpuInstructions=*/!options.cuda,
                              /*keepWindows=*/true}));
  // After derivatives as well: the gradient of attention is an op of its own.
  if (options.cuda)
    pm.addPass(createExpandAttention({cost::attentionHeadSize}));
  // Of matmuls of groups only CPUs have an instruction.
  if (options.cuda)
    pm.addPass(createExpandGroupedDots());
  // When only ops are left that say what becomes of rows.
  if (options.stages.microbatches)
    pm.addPass(createSplitBatch({options.stages.microbatches}));
  // What was differentiated before it came here.
  if (options.stages.areAutomatic) {
    CutLoopsOptions cuts;
    llvm::append_range(cuts.regions, options.stages.regions);
    pm.addPass(createCutLoops(cuts));
  }
  // Before equal ops are joined: each stage computes for itself.
  AssignStagesOptions stages;
  stages.axis = options.stages.axis;
  stages.chunks = options.stages.chunks;
  stages.schedule = options.stages.schedule;
  stages.table = options.stages.table;
  stages.tableName = options.stages.tableName;
  stages.ownCopies = options.stages.ownCopies;
  pm.addPass(createAssignStages(stages));
  // Joins what the forward and the backward pass both compute.
  pm.addPass(createJoinEqualOps());
  // All private functions are copied to where they are needed.
  pm.addPass(createSymbolDCEPass());
  // Last: numbers depend on nothing that shardings decide.
  if (options.verified == Verified::Values ||
      options.verified == Verified::Reference)
    pm.addPass(createNumberValues());
  // One device has all stages.
  if (options.verified == Verified::Results ||
      options.verified == Verified::Reference)
    pm.addPass(createRemovePipeline());
  if (options.verified == Verified::Reference)
    pm.addPass(createIsolateOps());
  verifyForm(pm, Form::Graph);
}

//===----------------------------------------------------------------------===//
// Propagate: graph -> sharded graph
//===----------------------------------------------------------------------===//

void buildPropagatePipeline(OpPassManager &pm) {
  // So that the sharding of one use of a constant does not reach another.
  pm.addPass(createSplitConstants());
  // So that every movement of data can be led back to what the user wrote.
  PropagateOptions propagate;
  propagate.provenance = true;
  pm.addPass(createPropagate(propagate));
  verifyForm(pm, Form::Sharded);
}

//===----------------------------------------------------------------------===//
// Partition: sharded graph -> SPMD program
//===----------------------------------------------------------------------===//

std::string clusterOf(const PipelineOptions &options) {
  return options.cluster.empty() ? std::string(cost::defaultCluster)
                                 : options.cluster;
}

void buildPartitionPipeline(OpPassManager &pm, const PipelineOptions &options) {
  // So that what is computed twice is moved once.
  pm.addPass(createJoinEqualOps());
  // While the dimensions that slices are taken of have their size.
  pm.addPass(createJoinSlices());
  // Between the two, as well: what is left of slices is exchanged.
  if (options.optimizeShardings)
    pm.addPass(createInterleaveWeights({clusterOf(options)}));
  // From here on axes divide dimensions.
  pm.addPass(createPadDimensions());
  // Once axes divide dimensions, which padding sees to.
  if (options.optimizeShardings)
    pm.addPass(createOptimizeShardings(
        {.combined = options.combineCollectives,
         .sumsInFloat32 = options.reduceDtype == ReduceDtype::Float32,
         .cluster = clusterOf(options)}));
  // Moves what ops need, while shapes are still global.
  pm.addPass(createInsertReshards({.cluster = clusterOf(options)}));
  // Once it is known which values are partial sums.
  if (options.reduceDtype == ReduceDtype::Float32)
    pm.addPass(createApplyReduceDtype());
  // With every movement of data, and before it is collectives.
  if (options.verified == Verified::Values)
    pm.addPass(createObserveValues());
  pm.addPass(createLocalize(
      {.keepCpuInstructions = !options.cuda, .cluster = clusterOf(options)}));
  // Without a pipeline: shardings were chosen as for one.
  pm.addPass(createRemoveStages());
  // Joins the copies of constants, and equal collectives.
  pm.addPass(createJoinEqualOps());
  // Stages take what is left of the loop over micro-batches.
  pm.addPass(createSplitTransfers({clusterOf(options)}));
  pm.addPass(
      createFormTimelines({options.stages.microbatches, clusterOf(options)}));
  // After equal ops are joined: none inside of a loop is one outside.
  pm.addPass(createFormMicrobatchLoops());
  // Once it is known what a loop repeats.
  if (options.combineCollectives)
    pm.addPass(createCombineCollectives({.cluster = clusterOf(options)}));
  verifyForm(pm, Form::Spmd);
}

//===----------------------------------------------------------------------===//
// Schedule: SPMD program -> schedule
//===----------------------------------------------------------------------===//

void buildSchedulePipeline(OpPassManager &pm, const PipelineOptions &options) {
  // Before what is in loops is cut into pieces.
  if (options.keepGathered)
    pm.addPass(createKeepGathered({clusterOf(options)}));
  // While matmuls have rows, and ops between them are in no kernels.
  if (options.overlapCollectives && options.collectivePieces != 1)
    pm.addPass(createSplitCollectives(
        {.pieces = options.collectivePieces, .cluster = clusterOf(options)}));
  // Before fusion, so that transposes become strides instead of kernels.
  if (!options.cuda)
    pm.addPass(createLowerConvolutions());
  pm.addPass(createLowerGemms({options.tf32}));
  // Joins transposes that several GEMMs need.
  pm.addPass(createJoinEqualOps());
  // Before a GEMM gets another epilogue.
  pm.addPass(createAccumulateGemms());
  // Before constants that GEMMs read are filled, and kernels made.
  if (options.cuda && options.fuseEpilogues)
    pm.addPass(createFuseEpilogues());
  // So that no plan stores a tensor of zeros.
  pm.addPass(createFillConstants());
  // When only kernels are left to make.
  if (options.recomputeInKernels) {
    pm.addPass(createChooseRecomputation(
        {.overlapCollectives = options.overlapCollectives,
         .memoryLimit = options.memoryLimit,
         .cluster = clusterOf(options)}));
  } else {
    pm.addPass(createFuseKernels());
    // Before the order is made: it keeps near the one it is given.
    pm.addPass(createHoistReleases());
    pm.addPass(createStartCollectives(
        {.overlapCollectives = options.overlapCollectives,
         .cluster = clusterOf(options)}));
  }
  pm.addPass(createLowerKernels());
  // Before memory: what kernels may write over.
  pm.addPass(createFindInPlace({options.cuda}));
  // While no memory is laid out, which depends on the order.
  if (options.batchLaunches)
    pm.addPass(createBatchLaunches(
        {/*onlyLoopInits=*/!options.cuda, clusterOf(options)}));
  // In the final order of what is in loops.
  if (options.overlapCollectives)
    pm.addPass(createStartInLoops({clusterOf(options)}));
  // In the order of all starts and waits.
  pm.addPass(createAssignQueues({clusterOf(options)}));
  // Last: lifetimes are those of the final order.
  pm.addPass(createPlanMemory(
      {/*remarkStatistics=*/false, /*copyLarge=*/options.memoryLimit != 0}));
  verifyForm(pm, Form::Schedule);
}

void buildPipeline(OpPassManager &pm, const PipelineOptions &options,
                   Form stopAfter) {
  buildGraphPipeline(pm, options);
  if (stopAfter >= Form::Sharded)
    buildPropagatePipeline(pm);
  if (stopAfter >= Form::Spmd)
    buildPartitionPipeline(pm, options);
  if (stopAfter >= Form::Schedule)
    buildSchedulePipeline(pm, options);
}

void continuePipeline(OpPassManager &pm, const PipelineOptions &options,
                      Form from, Form stopAfter) {
  if (from == Form::Spmd) {
    verifyForm(pm, Form::Spmd);
    if (stopAfter >= Form::Schedule)
      buildSchedulePipeline(pm, options);
    return;
  }
  verifyForm(pm, Form::Schedule);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void registerAllWeftDialects(DialectRegistry &registry) {
  registry.insert<WeftDialect, arith::ArithDialect, func::FuncDialect,
                  linalg::LinalgDialect, math::MathDialect,
                  tensor::TensorDialect>();
  registerShardingRuleModels(registry);
  registerVjpModels(registry);
  registerLocalFormModels(registry);
}

namespace {

/// The flags of pipelines that end with a schedule.
template <typename Flags> struct ScheduleOptions : PassPipelineOptions<Flags> {
  using Flag = mlir::detail::PassOptions::Option<bool>;

  Flag overlapCollectives{
      *this, "overlap-collectives",
      llvm::cl::desc("Let collectives run beside computation."),
      llvm::cl::init(true)};
  Flag cuda{*this, "cuda", llvm::cl::desc("Make a schedule for a CUDA device."),
            llvm::cl::init(false)};

  PipelineOptions toOptions() const {
    PipelineOptions options;
    options.overlapCollectives = overlapCollectives;
    options.cuda = cuda;
    return options;
  }
};

struct ScheduleFlags : ScheduleOptions<ScheduleFlags> {};

/// What the partitioner may choose.
struct PartitionFlags : PassPipelineOptions<PartitionFlags> {
  Option<bool> optimizeShardings{
      *this, "optimize-shardings",
      llvm::cl::desc("Choose shardings by cost over the whole graph."),
      llvm::cl::init(true)};
  Option<bool> combineCollectives{
      *this, "combine-collectives",
      llvm::cl::desc("Make one collective of several small ones."),
      llvm::cl::init(true)};
};

struct PipelineFlags : ScheduleOptions<PipelineFlags> {
  Option<bool> optimizeShardings{
      *this, "optimize-shardings",
      llvm::cl::desc("Choose shardings by cost over the whole graph."),
      llvm::cl::init(true)};
  Option<bool> combineCollectives{
      *this, "combine-collectives",
      llvm::cl::desc("Make one collective of several small ones."),
      llvm::cl::init(true)};
  Option<std::string> cluster{
      *this, "cluster",
      llvm::cl::desc("The machines, by the name of a cluster or a file."),
      llvm::cl::init("")};
  Option<std::string> stageAxis{
      *this, "stage-axis",
      llvm::cl::desc("Mesh axis along which ranks have different stages; "
                     "empty: there is no pipeline."),
      llvm::cl::init("")};
  Option<std::string> pipelineSchedule{
      *this, "pipeline-schedule",
      llvm::cl::desc("The schedule of the stages; docs/Pipelines.md."),
      llvm::cl::init("1f1b")};
  Option<Form> stopAfter{
      *this, "stop-after", llvm::cl::desc("The last form to reach."),
      llvm::cl::init(Form::Schedule),
      llvm::cl::values(clEnumValN(Form::Graph, "graph", "global shapes"),
                       clEnumValN(Form::Sharded, "sharded", "shardings"),
                       clEnumValN(Form::Spmd, "spmd", "local shapes"),
                       clEnumValN(Form::Schedule, "schedule", "kernels"))};
  Option<ReduceDtype> reduceDtype{
      *this, "reduce-dtype",
      llvm::cl::desc("Type in which 16-bit gradients are summed over devices."),
      llvm::cl::init(ReduceDtype::Own),
      llvm::cl::values(clEnumValN(ReduceDtype::Own, "own", "their own"),
                       clEnumValN(ReduceDtype::Float32, "float32", "f32"))};

  PipelineOptions toOptions() const {
    PipelineOptions options = ScheduleOptions::toOptions();
    options.optimizeShardings = optimizeShardings;
    options.combineCollectives = combineCollectives;
    options.reduceDtype = reduceDtype;
    options.cluster = cluster;
    options.stages.axis = stageAxis;
    options.stages.schedule = pipelineSchedule;
    return options;
  }
};

} // namespace

void registerAllWeftPasses() {
  registerIRPasses();
  registerFormsPasses();
  registerImportPasses();
  registerAutodiffPasses();
  registerPipeliningPasses();
  registerPropagatePasses();
  registerPartitionPasses();
  registerSchedulePasses();
  registerCodegenPasses();
  PassPipelineRegistration<>(
      "weft-graph-pipeline", "From calls and gradients to graph",
      [](OpPassManager &pm) { buildGraphPipeline(pm, PipelineOptions()); });
  PassPipelineRegistration<>("weft-propagate-pipeline",
                             "From graph to sharded graph",
                             buildPropagatePipeline);
  PassPipelineRegistration<PartitionFlags>(
      "weft-partition-pipeline", "From sharded graph to SPMD program",
      [](OpPassManager &pm, const PartitionFlags &flags) {
        PipelineOptions options;
        options.optimizeShardings = flags.optimizeShardings;
        options.combineCollectives = flags.combineCollectives;
        buildPartitionPipeline(pm, options);
      });
  PassPipelineRegistration<ScheduleFlags>(
      "weft-schedule-pipeline", "From SPMD program to schedule",
      [](OpPassManager &pm, const ScheduleFlags &flags) {
        buildSchedulePipeline(pm, flags.toOptions());
      });
  PassPipelineRegistration<PipelineFlags>(
      "weft-pipeline", "From graph to the form given",
      [](OpPassManager &pm, const PipelineFlags &flags) {
        buildPipeline(pm, flags.toOptions(), flags.stopAfter);
      });
}

} // namespace weft
