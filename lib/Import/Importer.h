//===- Importer.h - Walks over a StableHLO program --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a program in the order in which it runs and writes the graph as it
// goes, as an interpreter would: at a call it walks over the function called,
// at a loop over the body, once for each iteration. So calls are inlined and
// loops unrolled by the walk itself, and which iteration it is is a constant by
// then.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_IMPORTER_H
#define WEFT_LIB_IMPORT_IMPORTER_H

#include "Conversion.h"
#include "EmptyTensors.h"
#include "Meshes.h"
#include "UserLocation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace weft::stablehlo {

class Importer {
public:
  Importer(mlir::ModuleOp module, Problems &problems);

  /// Reads the body of `function` at the insertion point: what it returns for
  /// the given arguments. None if it cannot be read at all.
  std::optional<Values> importBody(mlir::func::FuncOp function,
                                   llvm::ArrayRef<mlir::Value> arguments);

  // For converters of ops with regions and calls; `c` is the op.
  std::optional<Values> importRegion(Conversion &c, unsigned region,
                                     llvm::ArrayRef<mlir::Value> arguments);
  Values importCall(Conversion &c, mlir::FlatSymbolRefAttr callee,
                    llvm::ArrayRef<mlir::Value> arguments);

  // For loops of which more is asked than what an iteration makes: values of
  // the source as they were read last, and an op that is read once more.
  mlir::Value valueOf(mlir::Value source) const {
    return values.lookup(source);
  }
  void setValue(mlir::Value source, mlir::Value value) {
    values[source] = value;
  }
  void importAgain(mlir::Operation *op);
  /// The function that an op calls, and which can be read; null if it calls
  /// none.
  mlir::func::FuncOp calleeOf(mlir::Operation *op) const;

  mlir::OpBuilder &getBuilder() { return builder; }
  Problems &getProblems() { return problems; }
  Meshes &getMeshes() { return meshes; }
  /// To be called at the end of a function.
  /// The value, or a constant where there is nothing in it.
  mlir::Value withoutEmpty(mlir::Value value) {
    mlir::RankedTensorType type = typeOf(value);
    return isEmpty(type) ? emptyTensors.get(type, builder) : value;
  }
  void eraseEmptyTensors() { emptyTensors.clear(); }
  int64_t getNumOps() const { return numOps; }
  /// A number that no loop over micro-batches has yet.
  int64_t countLoop() { return numLoops++; }
  /// Loops that do not end are found out once, however often they occur.
  void setEndless(mlir::Operation *loop) { endlessLoops.insert(loop); }
  bool isEndless(mlir::Operation *loop) const {
    return endlessLoops.contains(loop);
  }

private:
  std::optional<Values> importBlock(mlir::Block &block,
                                    llvm::ArrayRef<mlir::Value> arguments,
                                    mlir::Operation *parent);
  void importOp(mlir::Operation &op);
  /// The operands in the graph; none if one is used before it is defined.
  std::optional<Values> lookUp(mlir::Operation &op);
  void define(mlir::Operation &op, Values results);
  void malformed(mlir::Operation *op, const llvm::Twine &what);
  mlir::Location locationOf(mlir::Operation *op);

  mlir::SymbolTable symbols;
  Problems &problems;
  mlir::OpBuilder builder;
  Meshes meshes;
  EmptyTensors emptyTensors;

  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// The functions that are being read, outermost first, and where the
  /// innermost is called.
  llvm::SetVector<mlir::Operation *> callStack;
  UserLocation callLocation;
  llvm::DenseSet<mlir::Operation *> endlessLoops;
  int64_t numOps = 0;
  int64_t numLoops = 0;
  bool isTooLarge = false;
};

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_IMPORTER_H
