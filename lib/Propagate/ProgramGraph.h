//===- ProgramGraph.h - The propagation graph of a module -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a module into a propagation::Graph and writes the outcome back.
//
//   argument, op result   a value; its annotation is the sharding it has
//   weft.constraint       a node whose result is annotated
//   function result       a value of its own, tied to what is returned
//   state                 one value for all its occurrences: arguments and
//                         results of its name in every entry
//
// Ties come first in the order of nodes, so that annotations of results count
// from the start as if they were made on the values returned.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PROPAGATE_PROGRAMGRAPH_H
#define WEFT_LIB_PROPAGATE_PROGRAMGRAPH_H

#include "weft/IR/ValueSharding.h"
#include "weft/Propagate/Propagation.h"

#include "llvm/ADT/StringMap.h"

namespace weft::propagation {

/// The sharding that the user gave an op result; null if none.
ShardingAttr findAnnotation(mlir::OpResult result);

class ProgramGraph {
public:
  ProgramGraph(mlir::ModuleOp module, MeshOp mesh);

  /// Reads the module. On failure diagnostics have been emitted, one for every
  /// problem.
  mlir::LogicalResult read();
  /// Lets write() say from which annotation the axes of each value came.
  void keepProvenance();
  /// Writes closed shardings to every value, and to constraints.
  void write();
  /// A remark at every value for each axis of each of its dimensions.
  void explain();

  Graph graph;
  sharding::Mesh mesh;

private:
  /// What a value of the graph is in the module, for messages; the first
  /// occurrence of a state.
  struct ValueSite {
    mlir::Location loc;
    mlir::Value value;
    mlir::func::FuncOp function;
    unsigned result = 0;
  };

  void findStates();
  mlir::LogicalResult readValues(mlir::func::FuncOp function);
  mlir::FailureOr<ValueId> addValue(mlir::Type type, ShardingAttr annotation,
                                    const ValueSite &site,
                                    llvm::StringRef name);
  mlir::FailureOr<ValueId> addState(llvm::StringRef name,
                                    mlir::RankedTensorType type,
                                    std::optional<sharding::Sharding> sharding,
                                    const ValueSite &site);
  mlir::FailureOr<std::optional<sharding::Sharding>>
  resolve(ShardingAttr annotation, const ValueSite &site);
  void addTies(mlir::func::FuncOp function, llvm::ArrayRef<ValueId> results);
  void addNode(mlir::Operation &op);
  ShardingAttr toAttr(ValueId id);
  mlir::DictionaryAttr withSharding(mlir::DictionaryAttr attributes,
                                    ValueId id);
  void writeSignature(mlir::func::FuncOp function,
                      llvm::ArrayRef<ValueId> results);
  std::string describe(const ValueSite &site) const;
  std::string printAnnotation(ValueId id) const;
  void explain(ValueId id, const AxisOrigin &origin);

  mlir::ModuleOp module;
  MeshOp meshOp;
  llvm::SmallVector<mlir::func::FuncOp> functions;
  llvm::DenseMap<mlir::Value, ValueId> ids;
  /// By function, the values of its results.
  llvm::SmallVector<llvm::SmallVector<ValueId>> resultIds;
  /// By name, the value; -1 before its first occurrence is read.
  llvm::StringMap<ValueId> states;
  std::vector<ValueSite> sites;
  /// By value; empty if it is not kept.
  std::vector<mlir::DictionaryAttr> provenance;
  /// The op of each node; null for a tie.
  std::vector<mlir::Operation *> ops;
};

} // namespace weft::propagation

#endif // WEFT_LIB_PROPAGATE_PROGRAMGRAPH_H
