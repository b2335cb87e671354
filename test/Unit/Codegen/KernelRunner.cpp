//===- KernelRunner.cpp - Kernels from text, in this process --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"

#include "weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace weft;
using namespace weft::test;

static const char *prelude = R"(
#v = affine_map<(i) -> (i)>
#m = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j, k) -> (i, j, k)>
)";

static void *loadFromMemory(const std::string &elf) {
  int file = memfd_create("kernels", 0);
  EXPECT_EQ(write(file, elf.data(), elf.size()), ssize_t(elf.size()));
  std::string path = "/proc/self/fd/" + std::to_string(file);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  close(file);
  return handle;
}

KernelRunner::KernelRunner(const std::string &text, std::string cpu,
                           InPlace inPlace) {
  context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect,
                      mlir::math::MathDialect, mlir::linalg::LinalgDialect,
                      mlir::tensor::TensorDialect, weft::WeftDialect>();
  context.allowUnregisteredDialects();
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    diagnostics += d.str() + "\n";
    return mlir::success();
  });
  module = mlir::parseSourceString<mlir::ModuleOp>(prelude + text, &context);
  if (!module)
    return;
  std::vector<KernelRequest> requests;
  for (auto function : module->getOps<mlir::func::FuncOp>()) {
    std::string name = function.getName().str();
    requests.push_back({function, inPlace[name], name});
    names.push_back(name);
  }
  auto result = compileKernels(requests, {.cpu = std::move(cpu)});
  if (mlir::failed(result))
    return;
  compiledObject = std::move(*result);
  handle = loadFromMemory(compiledObject.elf);
}

KernelRunner::~KernelRunner() {
  if (handle)
    dlclose(handle);
}

mlir::func::FuncOp KernelRunner::function(const std::string &name) {
  return module->lookupSymbol<mlir::func::FuncOp>(name);
}

void KernelRunner::run(const std::string &name, std::vector<void *> buffers,
                       std::vector<int64_t> positions) const {
  ASSERT_TRUE(handle) << diagnostics;
  using Kernel = void (*)(void *const *, const int64_t *, int64_t, int64_t);
  auto kernel = reinterpret_cast<Kernel>(dlsym(handle, name.c_str()));
  ASSERT_TRUE(kernel) << "no function " << name;
  // In parts, the last one first: their order must not count.
  auto index = std::distance(names.begin(), llvm::find(names, name));
  int64_t parts = std::min<int64_t>(compiledObject.maxParts[index], 3);
  for (int64_t part = parts; part-- > 0;)
    kernel(buffers.data(), positions.data(), part, parts);
}

bool test::machineHasAvx512() {
  return llvm::sys::getHostCPUFeatures().lookup("avx512vl");
}
