//===- Conversion.h - The conversion of one op ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A converter reads an op through a Conversion and returns what its results
// are in the graph. Where it cannot, it says why, once, and returns null.
//
// Example:
//
//   Value convertTranspose(Conversion &c) {
//     return c.transpose(c.operand(0), c.integers("permutation"));
//   }
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_CONVERSION_H
#define WEFT_LIB_IMPORT_CONVERSION_H

#include "Attributes.h"
#include "Emitter.h"
#include "Problems.h"

namespace weft::stablehlo {

class Importer;

/// What the results of an op are; null where one could not be made.
using Values = llvm::SmallVector<mlir::Value, 1>;

class Conversion : public Emitter {
public:
  Conversion(Importer &importer, mlir::Operation *source, Values operands,
             llvm::SmallVector<mlir::RankedTensorType, 1> types,
             mlir::OpBuilder &builder, mlir::Location loc);

  mlir::Operation *getSource() const { return source; }
  llvm::StringRef name() const { return source->getName().getStringRef(); }
  Importer &getImporter() const { return importer; }

  llvm::ArrayRef<mlir::Value> getOperands() const { return operands; }
  /// Null, and a problem, if the op has fewer operands.
  mlir::Value operand(unsigned index);
  size_t numOperands() const { return operands.size(); }
  /// Whether the op has this many operands; a problem if not.
  bool hasOperands(size_t count);

  /// The type of a result in the graph.
  mlir::RankedTensorType type(unsigned index = 0);
  llvm::ArrayRef<int64_t> shape() { return type().getShape(); }
  mlir::Type element() { return type().getElementType(); }
  /// Whether the source holds integers without sign, or booleans.
  bool isUnsigned(unsigned operand);
  bool isUnsignedResult();

  // Attributes that the op must have. What cannot be read is a problem, and the
  // answer an empty list.
  Dims integers(llvm::StringRef name);
  std::optional<int64_t> integer(llvm::StringRef name);
  bool flag(llvm::StringRef name);
  template <typename T>
  std::optional<T> decode(llvm::StringRef name,
                          std::optional<T> (*read)(mlir::Attribute)) {
    std::optional<T> value = read(source->getAttr(name));
    if (!value)
      malformedAttribute(name);
    return value;
  }
  void malformedAttribute(llvm::StringRef name);

  // Problems; converters return what these return.
  std::nullptr_t malformed(const llvm::Twine &what);
  std::nullptr_t unsupported(const llvm::Twine &why);
  bool hasFailed() const { return failed; }

private:
  Importer &importer;
  mlir::Operation *source;
  Values operands;
  llvm::SmallVector<mlir::RankedTensorType, 1> types;
  bool failed = false;
};

/// The type of a matmul or convolution of these elements: one that a graph has,
/// and which holds all of both.
mlir::Type factorType(Conversion &c, mlir::Type left, mlir::Type right);

/// An operand in this type, which holds its elements.
mlir::Value convertOperand(Conversion &c, unsigned index, mlir::Type element);

/// The type that a value has in a graph: integers without sign are held as
/// plain ones. Null, and the reason, if a graph has no such type. It may have
/// no elements, see EmptyTensors.h.
mlir::RankedTensorType convertType(mlir::Type type, std::string &why);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_CONVERSION_H
