//===- Problems.h - What an import cannot do or ignores ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects problems while a program is read, to report each once at the end: a
// model with forty layers has forty times the same unsupported op.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_PROBLEMS_H
#define WEFT_LIB_IMPORT_PROBLEMS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <string>

namespace weft::stablehlo {

class Problems {
public:
  /// An op that Weft has no counterpart for, and why.
  void unsupported(mlir::Location loc, llvm::StringRef op,
                   const llvm::Twine &why);
  /// Something that is not as StableHLO or Shardy defines it, or that cannot be
  /// a part of a graph. At most a few are kept: they often have one cause.
  void malformed(mlir::Location loc, const llvm::Twine &what);
  /// Something that has no meaning for Weft: what, and how often.
  void ignored(mlir::Location loc, const llvm::Twine &what);
  /// Something that is understood and not done.
  void warning(mlir::Location loc, const llvm::Twine &what);

  bool any() const { return !errors.empty() || !unsupportedOps.empty(); }
  /// Emits everything: an error at `loc` for all unsupported ops, with a note
  /// for each source line and kind of op; one error for each other problem; if
  /// there are none, a remark for each thing ignored.
  void report(mlir::Location loc) const;

private:
  struct Occurrences {
    mlir::Location first;
    int64_t count = 0;
  };
  /// In the order of first occurrence.
  template <typename T>
  using ByText =
      llvm::MapVector<std::string, T, std::map<std::string, unsigned>>;
  using OccurrenceMap = ByText<Occurrences>;

  static void count(OccurrenceMap &occurrences, mlir::Location loc,
                    const llvm::Twine &text);
  void reportUnsupported(mlir::Location loc) const;

  /// By line of source, op and reason: the latter two as a text.
  ByText<std::pair<std::string, Occurrences>> unsupportedOps;
  OccurrenceMap errors, warnings, remarks;
};

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_PROBLEMS_H
