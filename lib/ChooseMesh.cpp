//===- ChooseMesh.cpp - Share a model without annotations -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/ChooseMesh.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Report/PlanReport.h"
#include "weft/Simulate/Prediction.h"
#include "weft/Timeline/Counted.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace weft {

/// Plans that are listed.
static constexpr size_t mostListed = 10;
static constexpr StringRef tooLarge = "takes more memory than a device has";

namespace {

class MeshSearch {
public:
  MeshSearch(ModuleOp module, const CompileOptions &options,
             MeshChoices choices, const cost::CostModel &model, int64_t limit)
      : module(module), options(options), choices(std::move(choices)),
        model(model), limit(limit), step(findStep(module).getSymName()) {}

  std::vector<SharedPlan> run(int64_t devices);
  /// Whether any choice for so many devices fits.
  bool fits(int64_t devices);
  /// What is compiled of a choice.
  CompileOptions optionsFor(const MeshChoice &choice, bool recomputes) const;
  /// With their numbers, the most frequent first.
  std::vector<std::pair<std::string, int64_t>> reasons() const;
  const MeshChoices &getChoices() const { return choices; }
  /// Of the states on a rank that holds the least of them.
  double leastStateBytes() const { return leastBytes; }

private:
  std::optional<SharedPlan> attempt(const MeshChoice &choice);
  std::optional<SharedPlan> compile(const MeshChoice &choice, bool recomputes,
                                    std::string &problem);
  void reject(StringRef reason) { ++rejected[reason.str()]; }

  ModuleOp module;
  const CompileOptions &options;
  MeshChoices choices;
  const cost::CostModel &model;
  const int64_t limit;
  std::string step;
  std::map<std::string, int64_t> rejected;
  double leastBytes = std::numeric_limits<double>::infinity();
};

} // namespace

CompileOptions MeshSearch::optionsFor(const MeshChoice &choice,
                                      bool recomputes) const {
  CompileOptions used = options;
  used.pipeline.stages = choice.stages();
  used.memoryLimit = recomputes ? limit : 0;
  return used;
}

/// None, and the first error, if there is no plan that fits.
std::optional<SharedPlan> MeshSearch::compile(const MeshChoice &choice,
                                              bool recomputes,
                                              std::string &problem) {
  OwningOpRef<ModuleOp> copy = module.clone();
  choices.annotate(*copy, choice);
  CompileOptions used = optionsFor(choice, recomputes);
  used.target = {/*machineCode=*/false};
  ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &each) {
    if (each.getSeverity() == DiagnosticSeverity::Error && problem.empty())
      problem = each.str();
    return success();
  });
  FailureOr<std::string> plan = compileModule(*copy, used);
  if (failed(plan))
    return std::nullopt;
  simulate::Prediction prediction = simulate::predict(*plan, step, model);
  if (!prediction.problems.empty()) {
    problem = prediction.problems.front();
    return std::nullopt;
  }
  const PlanReport report = makePlanReport(*plan);
  int64_t bytes = 0;
  for (const EntryReport &entry : report.entries)
    for (const MemoryReport &memory : entry.memory)
      bytes = std::max(bytes, int64_t(memory.arenaBytes));
  return SharedPlan{choice, simulate::toSeconds(prediction.step), bytes,
                    recomputes};
}

std::optional<SharedPlan> MeshSearch::attempt(const MeshChoice &choice) {
  const double held = choices.stateBytes(choice);
  leastBytes = std::min(leastBytes, held);
  if (held > static_cast<double>(limit)) {
    reject(tooLarge);
    return std::nullopt;
  }
  std::string problem;
  std::optional<SharedPlan> found = compile(choice, false, problem);
  if (!found) {
    reject(problem);
    return std::nullopt;
  }
  if (found->bytes > limit) {
    found = compile(choice, true, problem);
    if (!found || found->bytes > limit) {
      reject(tooLarge);
      return std::nullopt;
    }
  }
  return found;
}

std::vector<SharedPlan> MeshSearch::run(int64_t devices) {
  std::vector<SharedPlan> plans;
  for (const MeshChoice &choice : choices.of(devices))
    if (std::optional<SharedPlan> found = attempt(choice))
      plans.push_back(std::move(*found));
  // Equal ones stay in the order of choices.
  llvm::stable_sort(plans, [](const SharedPlan &a, const SharedPlan &b) {
    return a.seconds < b.seconds;
  });
  return plans;
}

bool MeshSearch::fits(int64_t devices) {
  std::vector<MeshChoice> thrifty = choices.of(devices);
  llvm::stable_sort(thrifty, [&](const MeshChoice &a, const MeshChoice &b) {
    return choices.stateBytes(a) < choices.stateBytes(b);
  });
  return llvm::any_of(thrifty, [&](const MeshChoice &choice) {
    return attempt(choice).has_value();
  });
}

std::vector<std::pair<std::string, int64_t>> MeshSearch::reasons() const {
  std::vector<std::pair<std::string, int64_t>> reasons(rejected.begin(),
                                                       rejected.end());
  llvm::stable_sort(reasons, [](const auto &a, const auto &b) {
    return a.second > b.second;
  });
  return reasons;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

static LogicalResult reportNothingFits(ModuleOp module, MeshSearch &search,
                                       int64_t devices, int64_t limit,
                                       int64_t most) {
  const double least = search.leastStateBytes();
  if (std::isinf(least))
    return module.emitError()
           << "no mesh of " << timeline::counted(devices, "device")
           << " for the program: its batch and the other dimensions that can "
              "be split do not come in as many parts; take a number of devices "
              "that divides the batch, or fewer";
  auto error = module.emitError()
               << "no plan for " << timeline::counted(devices, "device")
               << " fits into " << printBytes(limit) << " a device";
  if (least > static_cast<double>(limit))
    error << "; states alone take " << printBytes(static_cast<uint64_t>(least))
          << " of memory";
  for (int64_t more = 2 * devices; more <= most; more *= 2)
    if (search.fits(more))
      return error << "; the least number that does, of " << devices
                   << " times powers of two, is " << more;
  if (2 * devices <= most)
    error << "; nor was one found for up to " << most << " devices";
  return error;
}

FailureOr<ChosenMesh> chooseMesh(ModuleOp module, CompileOptions &options,
                                 int64_t devices) {
  if (failed(importModel(module, options)))
    return failure();
  if (findMesh(module))
    return module.emitError("the model has a mesh already; only one without "
                            "annotations can be shared automatically");
  FailureOr<cost::CostModel> model =
      loadCostModel(module, clusterOf(options.pipeline));
  if (failed(model))
    return failure();
  const int64_t most = model->cluster().devices();
  if (devices > most)
    return module.emitError() << "the cluster " << model->cluster().name
                              << " has " << most << " devices, not " << devices;
  OwningOpRef<ModuleOp> graph = module.clone();
  CompileOptions unlimited = options;
  unlimited.memoryLimit = 0;
  if (failed(lowerModule(*graph, Form::Graph, unlimited)))
    return failure();
  FailureOr<MeshChoices> choices = MeshChoices::find(module, *graph);
  if (failed(choices))
    return failure();
  int64_t limit = static_cast<int64_t>(model->usableBytes());
  if (options.memoryLimit)
    limit = std::min(limit, options.memoryLimit);
  MeshSearch search(module, options, std::move(*choices), *model, limit);
  ChosenMesh chosen{model->cluster().name, devices, limit, search.run(devices),
                    search.reasons()};
  if (chosen.plans.empty())
    return reportNothingFits(module, search, devices, limit, most);
  const SharedPlan &best = chosen.plans.front();
  search.getChoices().annotate(module, best.choice);
  options = search.optionsFor(best.choice, best.recomputes);
  return chosen;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static std::string atRight(std::string text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string ChosenMesh::print() const {
  int64_t others = 0;
  for (const auto &[reason, number] : rejected)
    others += number;
  const int64_t all = others + static_cast<int64_t>(plans.size());
  std::string text = timeline::counted(all, "way") + " to share the model " +
                     "among " + timeline::counted(devices, "device") + " of " +
                     cluster + ", " + printBytes(memoryLimit) + " each\n";
  text += "      step time     memory\n";
  for (size_t i = 0; i < std::min(plans.size(), mostListed); ++i) {
    const SharedPlan &plan = plans[i];
    text += atRight(std::to_string(i + 1), 2) +
            atRight(printSeconds(plan.seconds), 13) +
            atRight(printBytes(plan.bytes), 11) + "  " + plan.choice.print() +
            (plan.recomputes ? ", recomputed" : "") + "\n";
  }
  if (plans.size() > mostListed)
    text += "slower than those listed: " +
            std::to_string(plans.size() - mostListed) + "\n";
  for (const auto &[reason, number] : rejected)
    text += "left out, " + std::to_string(number) + ": " + reason + "\n";
  return text;
}

} // namespace weft
