//===- WriteProvenance.cpp - The way of each axis as attributes -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The origins of a graph lead from neighbour to neighbour; a way may be as long
// as the program. Of each way the annotation is kept, its first and its last
// op, so that the time is linear in the number of origins.
//
//===----------------------------------------------------------------------===//

#include "ProgramGraph.h"

#include "weft/IR/AxisProvenance.h"
#include "weft/IR/SourceLocation.h"
#include "weft/IR/ValueName.h"

using namespace mlir;

namespace weft::propagation {

/// What the user wrote of the value, with its line: `"w" (argument 1) annotated
/// as [{}, {"model"}] (mlp.py:7)`. Empty if nothing.
std::string ProgramGraph::printAnnotation(ValueId id) const {
  const ValueSite &site = sites[id];
  func::FuncOp function = site.function;
  auto argument = dyn_cast_or_null<BlockArgument>(site.value);
  auto result = dyn_cast_or_null<OpResult>(site.value);
  ShardingAttr written = argument ? getSharding(argument)
                         : result ? findAnnotation(result)
                                  : getResultSharding(function, site.result);
  if (!written)
    return {};
  FailureOr<sharding::Sharding> sharding = written.toSharding(mesh);
  if (failed(sharding))
    return {};
  std::string name =
      argument ? nameOf(argument) + " (argument " +
                     std::to_string(argument.getArgNumber()) + ")"
      : result ? result.getOwner()->getName().stripDialect().str()
               : nameOfResult(function, site.result);
  Location loc = site.loc;
  // Of an argument the name is said already.
  while (auto named = dyn_cast<NameLoc>(loc))
    loc = named.getChildLoc();
  std::string line = locationText(loc);
  return name + " annotated as " + sharding::print(mesh, *sharding) +
         (line.empty() ? "" : " (" + line + ")");
}

namespace {

/// How an axis came to a value: numbers of nodes, first and last; -1 is none.
struct Way {
  ValueId annotation = -1;
  NodeId first = -1, last = -1;
  int32_t length = 0;
};

class Ways {
public:
  explicit Ways(const Graph &graph) : graph(graph), ways(graph.values.size()) {
    for (auto [value, of] : llvm::zip_equal(graph.values, ways))
      of.resize(value.origins.size());
  }

  const Way &of(ValueId value, size_t origin);

private:
  /// Where the value that the origin came from has the axis, -1 if nowhere: the
  /// first that overlaps was there before.
  int64_t findSource(const AxisOrigin &origin) const {
    ArrayRef<AxisOrigin> all = graph.values[origin.from].origins;
    const AxisOrigin *found =
        llvm::find_if(all, [&](const AxisOrigin &candidate) {
          return candidate.axis.overlaps(origin.axis);
        });
    return found == all.end() ? -1 : found - all.begin();
  }

  const Graph &graph;
  /// By value and origin; `length` -1 while it is not known.
  std::vector<SmallVector<std::optional<Way>, 2>> ways;
};

} // namespace

const Way &Ways::of(ValueId value, size_t index) {
  // From the value back to what is known, and from there to the value.
  SmallVector<std::pair<ValueId, size_t>> open = {{value, index}};
  while (!ways[open.back().first][open.back().second]) {
    auto [at, number] = open.back();
    const AxisOrigin &origin = graph.values[at].origins[number];
    int64_t source = origin.from < 0 ? -1 : findSource(origin);
    if (source >= 0 && ways[origin.from][source]) {
      Way way = *ways[origin.from][source];
      way.first = way.length == 0 ? origin.node : way.first;
      way.last = origin.node;
      ++way.length;
      ways[at][number] = way;
    } else if (source >= 0) {
      open.push_back({origin.from, size_t(source)});
      continue;
    } else {
      ways[at][number] = Way{origin.annotation, origin.node, origin.node,
                             origin.node >= 0 ? 1 : 0};
    }
    if (open.size() > 1)
      open.pop_back();
  }
  return *ways[value][index];
}

/// Whether an argument or result has one, of the attributes of all.
static bool hasAttribute(ArrayAttr attributes) {
  return attributes && llvm::any_of(attributes, [](Attribute of) {
           return cast<DictionaryAttr>(of).contains(kProvenanceAttrName);
         });
}

/// Whether the program was propagated before, and so all its shardings look
/// like annotations.
static bool hasProvenance(ModuleOp module) {
  WalkResult found = module.walk([](Operation *op) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (op->hasAttr(kProvenanceAttrName) ||
        (function && (hasAttribute(function.getAllArgAttrs()) ||
                      hasAttribute(function.getAllResultAttrs()))))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return found.wasInterrupted();
}

void ProgramGraph::keepProvenance() {
  if (hasProvenance(module))
    return;
  Builder b(module.getContext());
  Ways ways(graph);
  std::vector<StringAttr> annotations(graph.values.size()),
      names(graph.nodes.size());
  auto annotationOf = [&](ValueId id) {
    if (!annotations[id])
      annotations[id] = b.getStringAttr(printAnnotation(id));
    return annotations[id];
  };
  auto nameOfNode = [&](NodeId id) {
    if (!names[id])
      names[id] = b.getStringAttr(ops[id] ? nameOf(ops[id]) : "return");
    return names[id];
  };
  auto stepsOf = [&](const Way &way) -> ArrayAttr {
    SmallVector<Attribute, 4> steps = {annotationOf(way.annotation)};
    if (way.length > 0)
      steps.push_back(nameOfNode(way.first));
    if (way.length > 2)
      steps.push_back(
          b.getStringAttr(std::to_string(way.length - 2) +
                          (way.length == 3 ? " more op" : " more ops")));
    if (way.length > 1)
      steps.push_back(nameOfNode(way.last));
    return b.getArrayAttr(steps);
  };
  for (ValueId id = 0; id < ValueId(graph.values.size()); ++id) {
    NamedAttrList axes;
    for (auto [index, origin] : llvm::enumerate(graph.values[id].origins)) {
      const Way &way = ways.of(id, index);
      StringRef name = mesh.axisName(origin.axis.axis);
      if (way.annotation >= 0 && !annotationOf(way.annotation).empty() &&
          !axes.get(name))
        axes.set(name, stepsOf(way));
    }
    provenance.push_back(
        makeProvenance(module.getContext(), annotationOf(id), axes.getAttrs()));
  }
}

} // namespace weft::propagation
