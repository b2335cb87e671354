//===- EntryContents.h - What the buffers of an entry hold ---- -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of an entry are put together to contents: a value, its views, what
// a wait gives of it, and what is written over it in place. A content is alive
// from the instruction that makes it to its last reader.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_ENTRYCONTENTS_H
#define WEFT_LIB_SCHEDULE_ENTRYCONTENTS_H

#include "weft/IR/FormRules.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

/// What mends a layout of memory that breaks a rule.
inline constexpr llvm::StringLiteral planMemoryRemedy =
    "; run --weft-plan-memory";

/// What one buffer holds: a value and what takes its buffer over.
struct Content {
  /// The value that made it, and those that hold what it holds now.
  mlir::Value maker;
  llvm::SmallVector<mlir::Value, 2> current;
  /// Instructions; that of the return for what is returned.
  int64_t first, lastRead = -1;
  bool isWrittenOver = false;
  /// The content that it is a part of, and from which byte.
  std::optional<size_t> whole = {};
  int64_t offset = 0;
  /// Those that are parts of it.
  llvm::SmallVector<size_t, 0> parts = {};

  int64_t last() const { return std::max(first, lastRead); }
};

class EntryContents {
public:
  /// Those of `entry`, all values of which have offsets. A value that is not
  /// where its buffer is, or is written over what is still read, is an error of
  /// `check`.
  EntryContents(mlir::func::FuncOp entry, const mlir::SymbolTable &symbols,
                FormCheck &check);

  llvm::ArrayRef<Content> all() const { return contents; }
  size_t indexOf(mlir::Value value) const { return indices.at(value); }
  const Content &contentOf(mlir::Value value) const {
    return contents[indexOf(value)];
  }
  /// As messages say it.
  std::string nameOf(mlir::Value value) const;
  /// The number of instructions: the time of the return.
  int64_t endOfEntry() const { return end; }

private:
  void number(mlir::Block &block);
  int64_t endOf(mlir::Operation *op) const;
  int64_t lastReadOf(mlir::Value value) const;
  void addValue(mlir::Value value, int64_t time);
  void addResults(mlir::Operation &op);
  void addLoop(RepeatOp loop);
  void takeOver(RepeatOp loop, mlir::OpOperand &init, mlir::Value carried);
  void addView(mlir::Value value, mlir::Value source);
  void addPart(mlir::Operation *op, mlir::Value part, mlir::Value whole,
               int64_t offset);
  void addParts(mlir::Operation *op);
  llvm::SmallVector<size_t> sharing(size_t index) const;
  void addInPlace(mlir::OpResult result, mlir::OpOperand &operand);
  void checkWrittenOver(mlir::OpResult result, const Content &over,
                        const Content &content);
  void checkKernelAllows(mlir::OpResult result, mlir::OpOperand &operand);
  void checkOperands(LaunchOp launch);
  int64_t beginOf(StartOp start);
  void checkBehind(StartOp start, RepeatOp loop, int64_t begin);

  mlir::func::FuncOp entry;
  const mlir::SymbolTable &symbols;
  FormCheck &check;
  llvm::DenseMap<mlir::Operation *, int64_t> times;
  int64_t end = 0;
  std::vector<Content> contents;
  llvm::DenseMap<mlir::Value, size_t> indices;
  /// By loop and content the last instruction in the loop that touches it.
  llvm::DenseMap<mlir::Operation *, llvm::DenseMap<size_t, int64_t>>
      lastTouches;
};

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_ENTRYCONTENTS_H
