//===- AxisProvenance.h - Where the axes of a value came from ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Propagation knows from which annotation each axis of a value came, and over
// which ops. It leaves that in the attribute `weft.provenance`, a dictionary:
//
//   {annotation = "\"x\" (argument 0) annotated as [{\"data\"}, {}]
//   (mlp.py:7)",
//    axes = {data = ["\"x\" (argument 0) annotated as ... (mlp.py:7)",
//                    "weft.dot_general (mlp.py:8)"]}}
//
//   annotation  what the user wrote of the value itself, if anything
//   axes        by axis the annotation that it came from, then the ops on the
//               way from there; of a long way the first and the last ones
//
// An argument or result of a function has one, an op an array with one for each
// result. Until data movements are inserted; then weft.reasons has what is
// needed of it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_AXISPROVENANCE_H
#define WEFT_IR_AXISPROVENANCE_H

#include "weft/Sharding/Mesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

inline constexpr llvm::StringLiteral kProvenanceAttrName = "weft.provenance";

/// The provenance of one value, with what is in the dictionary.
class AxisProvenance {
public:
  AxisProvenance() = default;
  explicit AxisProvenance(mlir::DictionaryAttr attr) : attr(attr) {}

  /// Of an op result or function argument; false if it has none.
  static AxisProvenance of(mlir::Value value);
  static AxisProvenance ofResult(mlir::func::FuncOp function, unsigned index);

  explicit operator bool() const { return bool(attr); }
  /// What the user wrote of the value itself, or empty.
  llvm::StringRef annotation() const;
  /// How the axis, or a part of it, came to the value: `<annotation>, through
  /// weft.dot_general (mlp.py:8)`; empty if it did not.
  std::string chainOf(const sharding::Mesh &mesh,
                      const sharding::AxisRef &axis) const;

private:
  mlir::DictionaryAttr attr;
};

/// The dictionary of a value. `axes` has lists of strings.
mlir::DictionaryAttr makeProvenance(mlir::MLIRContext *context,
                                    llvm::StringRef annotation,
                                    llvm::ArrayRef<mlir::NamedAttribute> axes);

/// What is wrong with `attr` as the provenance of a value, or empty.
std::string checkProvenance(mlir::Attribute attr);

} // namespace weft

#endif // WEFT_IR_AXISPROVENANCE_H
