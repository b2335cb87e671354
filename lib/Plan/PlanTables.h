//===- PlanTables.h - What the entries of a plan share ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PLAN_PLANTABLES_H
#define WEFT_LIB_PLAN_PLANTABLES_H

#include "weft/IR/WeftOps.h"
#include "weft/Sharding/Mesh.h"
#include "weft/runtime/plan_generated.h"

#include "llvm/ADT/DenseMap.h"

namespace weft {

/// What the entries of a plan share. Everything is numbered in the order in
/// which the instructions first mention it.
class PlanTables {
public:
  PlanTables(mlir::ModuleOp module, sharding::Mesh mesh)
      : symbols(module), mesh(std::move(mesh)) {}

  /// Index of the communicator of `axes`.
  uint32_t groupOf(const sharding::AxisList &axes);
  /// Index of the kernel that `launch` calls, with its results in place as the
  /// launch says: each choice is a kernel of its own.
  uint32_t kernelOf(LaunchOp launch);
  /// Offset of the contents in the constant data.
  uint64_t contentsOf(mlir::ElementsAttr elements);

  /// A kernel to compile, and for how many sets of arguments it is launched at
  /// most.
  struct Kernel {
    mlir::func::FuncOp function;
    std::vector<int64_t> inPlace;
    int64_t maxBatch = 1;
  };

  mlir::SymbolTable symbols;
  const sharding::Mesh mesh;
  std::vector<sharding::AxisList> groups;
  std::vector<Kernel> kernels;
  std::vector<uint8_t> constantData;
  /// What each state is for.
  std::vector<plan::Purpose> statePurposes;

private:
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, uint32_t>
      kernelIndices;
  llvm::DenseMap<mlir::Attribute, uint64_t> contentOffsets;
};

} // namespace weft

#endif // WEFT_LIB_PLAN_PLANTABLES_H
