//===- Phases.h - The pipeline of the compiler ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The phases that lead from form to form, as readable lists of passes
// (lib/Phases.cpp); each ends with the check of the form that it promises.
//
// Example: everything up to the SPMD program
//
//   PassManager pm(module.getContext());
//   buildPipeline(pm, PipelineOptions(), Form::Spmd);
//   if (failed(pm.run(module))) ...
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PHASES_H
#define WEFT_PHASES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace weft {

/// The forms of a program, in order. The last one, the plan, is no module:
/// compileModule (Compile.h) makes it.
enum class Form { Graph, Sharded, Spmd, Schedule, Plan };

/// `graph`, `sharded`, `spmd`, `schedule`, `plan`.
llvm::StringRef stringifyForm(Form form);
std::optional<Form> symbolizeForm(llvm::StringRef name);

/// In which type gradients of 16-bit floats are summed over devices.
enum class ReduceDtype : uint8_t { Own, Float32 };

/// What is compiled of a program that is to be verified: its results without
/// its pipeline (--weft-remove-pipeline), its results and values, each in the
/// stage that computes it (--weft-observe-values), or the graph that they are
/// compared with (--weft-isolate-ops).
enum class Verified : uint8_t { No, Results, Values, Reference };

/// A pipeline along a mesh axis; see --weft-assign-stages and
/// --weft-form-timelines.
struct StageOptions {
  /// Empty: no pipeline.
  std::string axis;
  std::string schedule = "1f1b";
  /// Stages of each rank; 0: as the boundaries make.
  int64_t chunks = 0;
  /// How many the model's loop is to be of, or a batch without a loop is split
  /// into; 0: any number.
  int64_t microbatches = 0;
  /// Whether roles may each update what they share; not under a memory limit.
  bool ownCopies = true;
  /// A table of actions in place of the schedule, as CSV, and the file that it
  /// is of.
  std::string table, tableName = "the table";
  /// Let the compiler place the boundaries (CompileOptions); and what it chose,
  /// see --weft-place-boundaries and --weft-cut-loops.
  bool areAutomatic = false;
  std::vector<int64_t> regions;
};

struct PipelineOptions {
  /// The machines that plans are made for, by the name of a cluster or a file;
  /// empty: DGX H100 nodes for CUDA devices, this machine for CPUs.
  std::string cluster;
  StageOptions stages;
  /// Choose shardings by cost; without, every op obeys propagation.
  bool optimizeShardings = true;
  /// Make one collective of several small ones.
  bool combineCollectives = true;
  /// Let collectives run beside computation.
  bool overlapCollectives = true;
  /// The pieces into which collectives beside matmuls are cut, see
  /// --weft-split-collectives; 0: as many as pay, 1: none is cut.
  int64_t collectivePieces = 0;
  /// Gather what loops over micro-batches gather of parameters once, where that
  /// is faster; a memory limit does so where it fits.
  bool keepGathered = false;
  /// For a CUDA device; lowerModule (Compile.h) takes it from the target.
  bool cuda = false;
  /// Float32: also the partial sums of gradients are of this type, see
  /// --weft-apply-reduce-dtype.
  ReduceDtype reduceDtype = ReduceDtype::Own;
  /// Let kernels recompute what would take memory at the peak, where the
  /// schedule is no slower for it, or would be above the limit of bytes; 0:
  /// none.
  bool recomputeInKernels = true;
  int64_t memoryLimit = 0;
  Verified verified = Verified::No;
  /// CUDA only: let GEMMs do element-wise work before they store.
  bool fuseEpilogues = true;
  /// Make one launch of several of the same kernel; for others than CUDA
  /// devices, only of those that fill what loops begin with.
  bool batchLaunches = true;
  /// CUDA only: let GEMMs round their operands of f32 to 10 bits of mantissa.
  bool tf32 = false;
  /// Cut what is differentiated into regions and note them in locations, and
  /// compute ranges of them again: see --weft-checkpoint-regions.
  /// CompileOptions has a limit that chooses them.
  bool markRegions = false;
  std::vector<std::string> recomputed;
};

/// The cluster of the options, or the default.
std::string clusterOf(const PipelineOptions &options);

/// The phases up to a form. A plan needs the passes of the schedule.
void buildPipeline(mlir::OpPassManager &pm, const PipelineOptions &options,
                   Form stopAfter);
/// The phases that lead from an SPMD program or a schedule to a form behind it.
/// What is read as a schedule is verified, and has the offsets that it says.
void continuePipeline(mlir::OpPassManager &pm, const PipelineOptions &options,
                      Form from, Form stopAfter);

// One phase each; buildPipeline is made of them.
void buildGraphPipeline(mlir::OpPassManager &pm,
                        const PipelineOptions &options);
void buildPropagatePipeline(mlir::OpPassManager &pm);
void buildPartitionPipeline(mlir::OpPassManager &pm,
                            const PipelineOptions &options);
void buildSchedulePipeline(mlir::OpPassManager &pm,
                           const PipelineOptions &options);

/// The dialects of all forms, with the interfaces attached to upstream ops.
void registerAllWeftDialects(mlir::DialectRegistry &registry);
/// All passes of this project, and the pipelines
///   weft-graph-pipeline, weft-propagate-pipeline,
///   weft-partition-pipeline{optimize-shardings=<bool>
///                           combine-collectives=<bool>},
///   weft-schedule-pipeline,
///   weft-pipeline{stop-after=<form> overlap-collectives=<bool> cuda=<bool>
///                 reduce-dtype=<own|float32>}.
void registerAllWeftPasses();

} // namespace weft

#endif // WEFT_PHASES_H
