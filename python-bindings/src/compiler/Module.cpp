//===- Module.cpp - weft._compiler ----------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler for Python: text goes in, the text of a form or the bytes of a
// plan come out, with the diagnostics as tuples. No object of MLIR crosses the
// border, and other threads run meanwhile.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "weft/Compile.h"
#include "weft/Cost/ClusterFile.h"
#include "weft/IR/Reasons.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/SourceMgr.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string_view>

namespace nb = nanobind;
using namespace mlir;
using namespace weft;

namespace {

/// What a call makes, if it makes anything, and what it said.
struct Outcome {
  std::optional<std::string> result;
  std::vector<Message> messages;
};

} // namespace

static nb::object toTuple(const Message &message) {
  nb::list notes;
  for (const Message &note : message.notes)
    notes.append(toTuple(note));
  return nb::make_tuple(message.severity, message.text, message.file,
                        message.line, message.column, notes);
}

static nb::list toTuples(const std::vector<Message> &messages) {
  nb::list tuples;
  for (const Message &message : messages)
    tuples.append(toTuple(message));
  return tuples;
}

/// Parses the text and hands the module to `use`, which returns the result.
template <typename Use>
static Outcome withModule(std::string_view text, const std::string &name,
                          Use &&use) {
  DialectRegistry registry;
  registerAllWeftDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  MessageCollector collector(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                             llvm::SMLoc());
  Outcome outcome;
  if (auto module = parseModel(sources, context))
    if (FailureOr<std::string> result = use(*module); succeeded(result))
      outcome.result = std::move(*result);
  outcome.messages = std::move(collector.messages);
  return outcome;
}

static CompileOptions
toOptions(const std::string &target, const std::string &mesh,
          bool optimizeShardings, bool combineCollectives,
          bool overlapCollectives, int64_t collectivePieces, bool keepGathered,
          const std::string &reduceDtype, bool fuseEpilogues,
          bool batchLaunches, bool recomputeInKernels,
          const std::string &gemmPrecision, const std::string &memoryLimit,
          const std::string &pipeline, const std::string &pipelineTable,
          const std::string &pipelineTableName, const std::string &cluster,
          const std::string &verified) {
  CompileOptions options;
  if (!verified.empty())
    options.pipeline.verified = verified == "reference" ? Verified::Reference
                                : verified == "values"  ? Verified::Values
                                                        : Verified::Results;
  options.pipeline.cluster = cluster;
  if (!pipeline.empty()) {
    llvm::Expected<StageOptions> stages = parsePipeline(pipeline);
    if (!stages)
      throw nb::value_error(
          ("pipeline: " + llvm::toString(stages.takeError())).c_str());
    options.pipeline.stages = *stages;
    if (!pipelineTable.empty()) {
      options.pipeline.stages.schedule.clear();
      options.pipeline.stages.table = pipelineTable;
      options.pipeline.stages.tableName = pipelineTableName;
    }
  }
  options.mesh = mesh;
  llvm::Expected<TargetOptions> parsed = parseTarget(target);
  if (!parsed)
    throw nb::value_error(
        ("target: " + llvm::toString(parsed.takeError())).c_str());
  options.target = *parsed;
  llvm::Expected<bool> rounds = parseGemmPrecision(gemmPrecision);
  if (!rounds)
    throw nb::value_error(
        ("gemm_precision: " + llvm::toString(rounds.takeError())).c_str());
  options.pipeline.tf32 = *rounds;
  options.pipeline.fuseEpilogues = fuseEpilogues;
  options.pipeline.batchLaunches = batchLaunches;
  options.pipeline.recomputeInKernels = recomputeInKernels;
  if (!memoryLimit.empty()) {
    llvm::Expected<int64_t> bytes = parseBytes(memoryLimit);
    if (!bytes)
      throw nb::value_error(
          ("memory_limit: " + llvm::toString(bytes.takeError())).c_str());
    options.memoryLimit = *bytes;
  }
  options.pipeline.optimizeShardings = optimizeShardings;
  options.pipeline.combineCollectives = combineCollectives;
  options.pipeline.overlapCollectives = overlapCollectives;
  options.pipeline.collectivePieces = collectivePieces;
  options.pipeline.keepGathered = keepGathered;
  options.pipeline.reduceDtype =
      reduceDtype.empty() ? ReduceDtype::Own : ReduceDtype::Float32;
  return options;
}

/// The text of a form, or none.
static nb::tuple
lower(std::string_view text, const std::string &name, const std::string &form,
      const std::string &target, const std::string &mesh,
      bool optimizeShardings, bool combineCollectives, bool overlapCollectives,
      int64_t collectivePieces, bool keepGathered,
      const std::string &reduceDtype, bool fuseEpilogues, bool batchLaunches,
      bool recomputeInKernels, const std::string &gemmPrecision,
      const std::string &memoryLimit, const std::string &pipeline,
      const std::string &pipelineTable, const std::string &pipelineTableName,
      const std::string &cluster, const std::string &verified, bool locations) {
  std::optional<Form> last = symbolizeForm(form);
  if (!last || *last == Form::Plan)
    throw nb::value_error(
        ("expected the form graph, sharded, spmd or schedule, got \"" + form +
         "\"")
            .c_str());
  CompileOptions options = toOptions(
      target, mesh, optimizeShardings, combineCollectives, overlapCollectives,
      collectivePieces, keepGathered, reduceDtype, fuseEpilogues, batchLaunches,
      recomputeInKernels, gemmPrecision, memoryLimit, pipeline, pipelineTable,
      pipelineTableName, cluster, verified);
  Outcome outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = withModule(text, name, [&](ModuleOp module) {
      FailureOr<std::string> result = failure();
      if (failed(lowerModule(module, *last, options)))
        return result;
      result.emplace();
      if (!locations)
        removeExplanations(module);
      OpPrintingFlags flags;
      flags.enableDebugInfo(locations);
      llvm::raw_string_ostream os(*result);
      module.print(os, flags);
      return result;
    });
  }
  nb::object result = outcome.result ? nb::cast(*outcome.result) : nb::none();
  return nb::make_tuple(result, toTuples(outcome.messages));
}

/// The bytes of a plan, or none.
static nb::tuple
compile(std::string_view text, const std::string &name,
        const std::string &target, const std::string &mesh,
        bool optimizeShardings, bool combineCollectives,
        bool overlapCollectives, int64_t collectivePieces, bool keepGathered,
        const std::string &reduceDtype, bool fuseEpilogues, bool batchLaunches,
        bool recomputeInKernels, const std::string &gemmPrecision,
        const std::string &memoryLimit, const std::string &pipeline,
        const std::string &pipelineTable, const std::string &pipelineTableName,
        const std::string &cluster, const std::string &verified,
        const std::map<std::string, std::string> &metadata) {
  CompileOptions options = toOptions(
      target, mesh, optimizeShardings, combineCollectives, overlapCollectives,
      collectivePieces, keepGathered, reduceDtype, fuseEpilogues, batchLaunches,
      recomputeInKernels, gemmPrecision, memoryLimit, pipeline, pipelineTable,
      pipelineTableName, cluster, verified);
  options.metadata = metadata;
  Outcome outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = withModule(text, name, [&](ModuleOp module) {
      return compileModule(module, options);
    });
  }
  nb::object result = nb::none();
  if (outcome.result)
    result = nb::bytes(outcome.result->data(), outcome.result->size());
  return nb::make_tuple(result, toTuples(outcome.messages));
}

NB_MODULE(_compiler, m) {
  m.doc() = "The compiler: text in, text or plan out. Use weft.jit instead.";
  m.def(
      "cluster_problems",
      [](const std::string &cluster) {
        return cost::loadCluster(cluster).problems;
      },
      nb::arg("cluster"), "What is wrong with the cluster of a name or file.");
  m.def("lower", &lower, nb::arg("text"), nb::arg("name"), nb::kw_only(),
        nb::arg("form"), nb::arg("target") = "none", nb::arg("mesh") = "",
        nb::arg("optimize_shardings") = true,
        nb::arg("combine_collectives") = true,
        nb::arg("overlap_collectives") = true, nb::arg("collective_pieces") = 0,
        nb::arg("keep_gathered") = false, nb::arg("reduce_dtype") = "",
        nb::arg("fuse_epilogues") = true, nb::arg("batch_launches") = true,
        nb::arg("recompute_in_kernels") = true,
        nb::arg("gemm_precision") = "full", nb::arg("memory_limit") = "",
        nb::arg("pipeline") = "", nb::arg("pipeline_table") = "",
        nb::arg("pipeline_table_name") = "the table", nb::arg("cluster") = "",
        nb::arg("verified") = "", nb::arg("locations") = false,
        "The module in a form as text, or None, and the diagnostics.");
  m.def("compile", &compile, nb::arg("text"), nb::arg("name"), nb::kw_only(),
        nb::arg("target") = "cpu", nb::arg("mesh") = "",
        nb::arg("optimize_shardings") = true,
        nb::arg("combine_collectives") = true,
        nb::arg("overlap_collectives") = true, nb::arg("collective_pieces") = 0,
        nb::arg("keep_gathered") = false, nb::arg("reduce_dtype") = "",
        nb::arg("fuse_epilogues") = true, nb::arg("batch_launches") = true,
        nb::arg("recompute_in_kernels") = true,
        nb::arg("gemm_precision") = "full", nb::arg("memory_limit") = "",
        nb::arg("pipeline") = "", nb::arg("pipeline_table") = "",
        nb::arg("pipeline_table_name") = "the table", nb::arg("cluster") = "",
        nb::arg("verified") = "",
        nb::arg("metadata") = std::map<std::string, std::string>(),
        "The bytes of the plan, or None, and the diagnostics.");
}
