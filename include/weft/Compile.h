//===- Compile.h - The compiler as a library --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What shard-compile does, for programs that embed the compiler. Problems are
// diagnostics of the context.
//
// Example:
//
//   DialectRegistry registry;
//   registerAllWeftDialects(registry);
//   MLIRContext context(registry);
//   CompileOptions options;
//   options.mesh = "data=4";
//   FailureOr<std::string> plan = compileText(text, "model.mlir", context,
//                                             options);
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COMPILE_H
#define WEFT_COMPILE_H

#include "weft/Codegen/Target.h"
#include "weft/Phases.h"
#include "weft/Plan/PlanWriter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>
#include <vector>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace mlir {
class PassManager;
} // namespace mlir

namespace weft {

struct CompileOptions {
  PipelineOptions pipeline;
  /// Sizes of mesh axes that replace those of the module:
  /// "data=2,model=4". Axes that are not named keep theirs.
  std::string mesh;
  /// The device of each position of the module's mesh (MeshDevices.h), in place
  /// of those that it lists; empty: as it says.
  std::vector<int64_t> devices;
  /// Bytes that a rank may take; 0: any number. What the backward pass needs is
  /// recomputed as far as necessary.
  int64_t memoryLimit = 0;
  TargetOptions target;
  /// Stored in the plan for whoever reads it.
  PlanMetadata metadata;
  /// Called before passes run, to add timing or printing say; may be null.
  std::function<mlir::LogicalResult(mlir::PassManager &)> configurePasses;
};

/// Bytes from text: a number with one of the units B (or none), KB, MB, GB, TB,
/// KiB, MiB, GiB, TiB, as in "1500MB" and "1.5GiB". At least one byte.
llvm::Expected<int64_t> parseBytes(llvm::StringRef text);

/// A pipeline from text: "axis=pipe schedule=interleaved-1f1b chunks=2", of
/// which only the axis is needed. A schedule that ends in ".csv" is a file with
/// a table of actions.
llvm::Expected<StageOptions> parsePipeline(llvm::StringRef text);

/// Whether GEMMs round their operands to TF32: reads "full" or "tf32".
llvm::Expected<bool> parseGemmPrecision(llvm::StringRef text);

/// Replaces the sizes of axes of the module's mesh, and its devices if there
/// are any. Reports all problems: text that is no list of sizes, axes that the
/// mesh does not have, sizes below 1, meshes of too many devices, and devices
/// that do not fit.
mlir::LogicalResult overrideMesh(mlir::ModuleOp module, llvm::StringRef sizes,
                                 llvm::ArrayRef<int64_t> devices);

/// Reads a graph, or a StableHLO program in generic form, from the main file of
/// `sources`. Null, and diagnostics with advice where there is some, if it
/// cannot be parsed. Lets the context hold unregistered dialects.
mlir::OwningOpRef<mlir::ModuleOp> parseModel(const llvm::SourceMgr &sources,
                                             mlir::MLIRContext &context);

/// Makes a graph of a StableHLO program, in place; others stay as they are.
mlir::LogicalResult importModel(mlir::ModuleOp module,
                                const CompileOptions &options);

/// The options that change nothing of the given form, since the phases that
/// they are for come behind it.
std::vector<std::string> findLaterOptions(const CompileOptions &options,
                                          Form form);

/// Brings a graph to the given form, in place. For Form::Plan: to a schedule. A
/// StableHLO program is imported first; from an SPMD program or a schedule, the
/// phases behind it lead on, and a remark says so.
mlir::LogicalResult lowerModule(mlir::ModuleOp module, Form form,
                                const CompileOptions &options);

/// The bytes of the plan of a graph. The module is used up: it becomes the
/// schedule that the plan holds.
mlir::FailureOr<std::string> compileModule(mlir::ModuleOp module,
                                           const CompileOptions &options);

/// As above, for a module as text; `name` is its file name in messages.
mlir::FailureOr<std::string> compileText(llvm::StringRef text,
                                         llvm::StringRef name,
                                         mlir::MLIRContext &context,
                                         const CompileOptions &options);

} // namespace weft

#endif // WEFT_COMPILE_H
