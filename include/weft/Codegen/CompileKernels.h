//===- CompileKernels.h - Kernels to machine code ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels to machine code.
//
// A kernel is a function on static tensors whose body is linalg.generic and a
// few ops that move data. `compileKernels` turns a list of them into one ELF
// shared object with one function each:
//
//   void symbol(void *const *buffers, const int64_t *positions,
//               int64_t part, int64_t parts);
//
// `buffers` are the operands in order, then the results that are not in place;
// `positions` are the values of the arguments marked `weft.position`, which
// come last. Tensors are dense and row-major; a predicate is one byte. A call
// computes one of `parts` parts, which may be any number up to `maxParts`; the
// calls for all of them, in any order or at once, make up the kernel.
//
// The object needs nothing: no C library, no math library, no constructor. The
// same request gives the same bytes, and the same numbers on every processor:
// the order of every sum is fixed by the shapes.
//
// Example:
//
//   func.func private @add(%a: tensor<8xf32>, %b: tensor<8xf32>)
//       -> tensor<8xf32> attributes {weft.kernel} { ... }
//
//   auto object = compileKernels({{add, {0}, "kernel_0"}}, {});
//   // kernel_0({a, b}, {}, 0, 1) replaces a by a + b.

#ifndef WEFT_CODEGEN_COMPILEKERNELS_H
#define WEFT_CODEGEN_COMPILEKERNELS_H

#include "weft/Codegen/CpuTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

struct KernelRequest {
  mlir::func::FuncOp kernel;
  /// For each result the operand whose buffer it takes, or -1. Every pair must
  /// be one for which `mayShareBuffer` holds. Empty: no result is in place.
  std::vector<int64_t> inPlace;
  std::string symbol;
  /// For how many sets of arguments it is launched at most. Code for a CPU is
  /// called once for each.
  int64_t maxBatch = 1;
};

struct KernelObject {
  /// The shared object; empty if there are no kernels.
  std::string elf;
  /// LLVM's name of the processor.
  std::string cpu;
  /// Features that the machine must have, as LLVM spells them.
  std::vector<std::string> cpuFeatures;
  /// For each kernel in how many parts it may be computed at once.
  std::vector<int64_t> maxParts;
};

/// Compiles kernels, which must be of one context. Problems are reported at the
/// kernels.
mlir::FailureOr<KernelObject>
compileKernels(llvm::ArrayRef<KernelRequest> kernels,
               const TargetOptions &options);

/// How the independent parts of a kernel, its nests, run: on a CPU one after
/// the other, on a GPU all at once.
enum class NestOrder { InTurn, AtOnce };

/// Answers, for one kernel, which results may take the buffer of which operand:
/// where types are equal and an element of the operand is read for the last
/// time before, or when, the same element of the result is written.
class BufferSharing {
public:
  /// Fails, with diagnostics, if the kernel cannot be compiled.
  static mlir::FailureOr<BufferSharing>
  analyze(mlir::func::FuncOp kernel, NestOrder order = NestOrder::InTurn);

  bool mayShare(unsigned operand, unsigned result) const {
    return allowed[operand][result];
  }

private:
  std::vector<std::vector<bool>> allowed;
};

/// What `BufferSharing` says of the two; false if the kernel cannot be
/// compiled.
bool mayShareBuffer(mlir::func::FuncOp kernel, unsigned operand,
                    unsigned result, NestOrder order = NestOrder::InTurn);

} // namespace weft

#endif // WEFT_CODEGEN_COMPILEKERNELS_H
