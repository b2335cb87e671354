//===- Explain.cpp - Where shardings came from, as remarks ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramGraph.h"

using namespace mlir;

namespace weft::propagation {

std::string ProgramGraph::describe(const ValueSite &site) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (auto result = dyn_cast_or_null<OpResult>(site.value)) {
    out << "result ";
    if (result.getOwner()->getNumResults() > 1)
      out << result.getResultNumber() << " ";
    out << "of " << result.getOwner()->getName();
    return text;
  }
  func::FuncOp function = site.function;
  if (auto argument = dyn_cast_or_null<BlockArgument>(site.value))
    out << "argument " << argument.getArgNumber() << " \""
        << getArgumentName(function, argument.getArgNumber()) << "\"";
  else
    out << "result " << site.result << " \""
        << getResultName(function, site.result) << "\"";
  out << " of @" << function.getSymName();
  return text;
}

void ProgramGraph::explain() {
  for (ValueId id = 0; id < ValueId(graph.values.size()); ++id)
    for (const AxisOrigin &origin : graph.values[id].origins)
      explain(id, origin);
}

void ProgramGraph::explain(ValueId id, const AxisOrigin &origin) {
  InFlightDiagnostic remark = emitRemark(sites[id].loc)
                              << describe(sites[id]) << ": dim " << origin.dim
                              << " over " << mesh.print(origin.axis);
  if (origin.node == -1) {
    remark << ", annotated here";
    return;
  }
  const ValueSite &source = sites[origin.annotation];
  Operation *op = ops[origin.node];
  remark << ", from " << describe(source) << ", last through "
         << (op ? op->getName().getStringRef() : "return") << " (round "
         << int(origin.round) << ", priority " << origin.priority << ")";
  remark.attachNote(source.loc) << "annotated here";
}

} // namespace weft::propagation
