//===- BufferMap.h - The memory of a kernel ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores of elements, and where the buffer of each argument is.

#ifndef WEFT_LIB_CODEGEN_BUFFERMAP_H
#define WEFT_LIB_CODEGEN_BUFFERMAP_H

#include "LaneIndex.h"
#include "LaneOps.h"

namespace weft {

/// What a target knows of the buffers of a kernel.
struct BufferTraits {
  /// Bytes that every buffer is aligned to and that a load of lanes may count
  /// on where its offset allows it; 0: only elements are aligned.
  unsigned vectorAlignment = 0;
  /// For each argument whether loads may say that nothing writes to its buffer
  /// while the kernel runs; none may if it is empty.
  llvm::SmallVector<bool> isReadOnly = {};
};

class BufferMap {
public:
  /// `arguments`: a pointer for each buffer argument, an i64 for each position.
  BufferMap(mlir::OpBuilder &builder, mlir::Location loc, LaneOps &ops,
            IndexBuilder &indices, llvm::ArrayRef<mlir::Value> arguments,
            BufferTraits traits)
      : b(builder), loc(loc), ops(ops), indices(indices), arguments(arguments),
        traits(std::move(traits)) {}

  mlir::Value load(mlir::Value pointer, mlir::Type element, LaneIndex offset,
                   bool isInvariant = false);
  void store(mlir::Value value, mlir::Value pointer, LaneIndex offset);

  mlir::Value argument(unsigned number) const { return arguments[number]; }
  mlir::Value loadArgument(unsigned number, mlir::Type element,
                           LaneIndex offset);

  /// The lanes that are on; null if all are.
  mlir::Value mask() const { return lanesOn; }
  void setMask(mlir::Value mask) { lanesOn = mask; }
  bool alignsVectors() const { return traits.vectorAlignment != 0; }

private:
  mlir::Value elementPointer(mlir::Value pointer, mlir::Type storage,
                             LaneIndex offset);
  unsigned alignmentAt(LaneIndex offset, mlir::Type storage) const;

  mlir::OpBuilder &b;
  mlir::Location loc;
  LaneOps &ops;
  IndexBuilder &indices;
  llvm::SmallVector<mlir::Value> arguments;
  BufferTraits traits;
  mlir::Value lanesOn;
};

/// The type that an element has in memory: one byte for a predicate, an integer
/// for bf16, itself otherwise.
mlir::Type getStorageType(mlir::Type element);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_BUFFERMAP_H
