//===- ProgramStates.h - Values that live between calls ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A name that is a result of some entry and an argument of some entry is a
// state: a parameter, a momentum, a step counter. It has one offset in the
// arena, the same for all entries.
//
// Example: init() -> w and step(w, x) -> (w, loss): w is a state, x an input,
// loss an output.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_PROGRAMSTATES_H
#define WEFT_SCHEDULE_PROGRAMSTATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace weft {

/// The entries of a program: its public functions, in order.
llvm::SmallVector<mlir::func::FuncOp> findEntries(mlir::ModuleOp module);

struct ProgramState {
  std::string name;
  /// The only role that has it; -1: all ranks have it.
  int64_t role = -1;
  /// Of how many micro-batches it holds the values, one behind the other.
  int64_t slots = 1;
  /// Local type.
  mlir::RankedTensorType type;
  /// Byte offset in the arena.
  int64_t offset = 0;
  /// Where it is first mentioned: argument or result `index` of `entry`.
  mlir::func::FuncOp entry;
  bool isArgument = false;
  unsigned index = 0;

  /// Of one slot, up to the next.
  int64_t slotBytes() const;
};

class ProgramStates {
public:
  /// Collects the states of a module, in the order of their first mention, and
  /// puts them one after the other at the start of the arena, those of a role
  /// behind those of all ranks. A state is an argument of one entry and a
  /// result of one, or either of a segment. Reports a state whose occurrences
  /// differ in type.
  static mlir::FailureOr<ProgramStates> collect(mlir::ModuleOp module);

  llvm::ArrayRef<ProgramState> states() const { return states_; }
  int32_t ofArgument(mlir::func::FuncOp entry, unsigned index) const;
  int32_t ofResult(mlir::func::FuncOp entry, unsigned index) const;
  /// Bytes of the states of a role and of all ranks; what follows them in the
  /// arena starts here. Of no role: behind those of every role.
  int64_t bytes(int64_t role = -1) const;

private:
  void placeStates();
  /// Index of a state, or -1.
  int32_t find(int64_t role, llvm::StringRef name) const;

  std::vector<ProgramState> states_;
  std::map<std::pair<int64_t, std::string>, int32_t> indices_;
  int64_t bytes_ = 0;
  std::map<int64_t, int64_t> bytesOfRole_;
};

} // namespace weft

#endif // WEFT_SCHEDULE_PROGRAMSTATES_H
