//===- Reasons.h - Why data moves -------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cause of a collective is one sentence; its reason is what stands behind
// it: where each axis at both ends comes from, what else was weighed, and what
// to write so that it is not needed. There is one for each distinct cause, in
// the attribute `weft.reasons` of the module, an array of dictionaries:
//
//   {cause = "...",
//    chain = [["annotation", "..."], ["choice", "..."]],
//    alternatives = [["...", 1024 : i64, 2.3e-5 : f64]],
//    edit = "..."}
//
// Numbers of layers in the cause are `[*]`; of several collectives with one
// cause the rest names the values of the first.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_REASONS_H
#define WEFT_IR_REASONS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace weft {

inline constexpr llvm::StringLiteral kReasonsAttrName = "weft.reasons";

struct Reason {
  /// What a line of the chain ends at: what the user wrote, what holds where
  /// nobody wrote anything, what was chosen by predicted time, or what an op
  /// can do.
  enum class End : uint8_t { Annotation, Default, Choice, Operation };

  struct Line {
    End end;
    std::string text;
  };
  struct Alternative {
    std::string text;
    /// Bytes that a rank sends, and predicted seconds.
    int64_t wireBytes = 0;
    double seconds = 0;
  };

  std::string cause;
  std::vector<Line> chain;
  /// The first is what the plan does.
  std::vector<Alternative> alternatives;
  /// Empty if no single edit does.
  std::string edit;
};

/// The reasons of a module while a pass adds some.
class ReasonTable {
public:
  explicit ReasonTable(mlir::ModuleOp module);

  bool has(llvm::StringRef cause) const;
  /// Unless there is one of its cause.
  void add(Reason reason);
  /// Stores them in the module.
  void write();

private:
  mlir::ModuleOp module;
  std::vector<Reason> reasons;
  llvm::StringSet<> known;
  bool changed = false;
};

/// Adds one, unless the module has one of its cause.
void addReason(mlir::ModuleOp module, Reason reason);

/// Those of a module, whose attribute is verified.
std::vector<Reason> getReasons(mlir::ModuleOp module);

/// Removes reasons and provenance (AxisProvenance.h), which explain a module
/// and decide nothing: texts without locations are printed without them.
void removeExplanations(mlir::ModuleOp module);

/// What is wrong with `attr` as the reasons of a module, or empty.
std::string checkReasons(mlir::Attribute attr);

} // namespace weft

#endif // WEFT_IR_REASONS_H
