//===- KernelRunner.h - Kernels from text, in this process ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the kernels of an MLIR module, loads the shared object from memory
// and calls its functions.
//
//   KernelRunner kernels("func.func private @add(...) ...");
//   kernels.run("add", {x.data(), y.data(), sum.data()});

#ifndef WEFT_TEST_UNIT_CODEGEN_KERNELRUNNER_H
#define WEFT_TEST_UNIT_CODEGEN_KERNELRUNNER_H

#include "weft/Codegen/CompileKernels.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::test {

class KernelRunner {
public:
  using InPlace = std::map<std::string, std::vector<int64_t>>;

  /// Compiles every function of `text`. Maps @a to other names: identity maps
  /// #v, #m, #t (ranks 1 to 3) are predefined.
  explicit KernelRunner(const std::string &text, std::string cpu = "host",
                        InPlace inPlace = {});
  ~KernelRunner();
  KernelRunner(const KernelRunner &) = delete;

  bool compiled() const { return handle != nullptr; }
  /// What went wrong: all diagnostics, one a line.
  const std::string &messages() const { return diagnostics; }
  const KernelObject &object() const { return compiledObject; }
  mlir::func::FuncOp function(const std::string &name);
  const std::vector<std::string> &symbols() const { return names; }

  void run(const std::string &name, std::vector<void *> buffers,
           std::vector<int64_t> positions = {}) const;

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string diagnostics;
  KernelObject compiledObject;
  std::vector<std::string> names;
  void *handle = nullptr;
};

/// Whether this machine can run code for x86-64-v4.
bool machineHasAvx512();

} // namespace weft::test

#endif // WEFT_TEST_UNIT_CODEGEN_KERNELRUNNER_H
