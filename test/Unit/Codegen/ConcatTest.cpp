//===- ConcatTest.cpp - Tests of concats in kernels -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitKernel.h"
#include "KernelText.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace weft;
using namespace weft::test;

namespace {

/// Gradients of which a collective sends all at once: most begin in the middle
/// of a vector, and some are shorter than one.
const std::vector<int64_t> pieces = {1, 40, 3, 16, 100, 7, 33};

int64_t countAll() {
  int64_t all = 0;
  for (int64_t size : pieces)
    all += size;
  return all;
}

/// A kernel that puts the pieces side by side.
std::string concatOfPieces() {
  Names types, names;
  for (int64_t size : pieces) {
    names.push_back("%" + std::to_string(types.size()));
    types.push_back(tensor({size}, "f32"));
  }
  std::string all = tensor({countAll()}, "f32");
  return function("f", types, {all},
                  "%y = tensor.concat dim(0) " + join(names) + " : (" +
                      join(types) + ") -> " + all + "\n",
                  {"%y"});
}

/// Floats at one end of a page with no memory before and behind it.
class GuardedFloats {
public:
  GuardedFloats(int64_t count, bool atEnd) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    mapped = 3 * page;
    memory = static_cast<char *>(
        mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(memory + page, page, PROT_READ | PROT_WRITE), 0);
    const size_t offset = atEnd ? page - size_t(count) * sizeof(float) : 0;
    first = reinterpret_cast<float *>(memory + page + offset);
  }
  ~GuardedFloats() { munmap(memory, mapped); }
  GuardedFloats(const GuardedFloats &) = delete;
  GuardedFloats &operator=(const GuardedFloats &) = delete;

  float *first;

private:
  char *memory;
  size_t mapped;
};

TEST(Concat, ReadsNothingBesideItsPieces) {
  KernelRunner kernels(concatOfPieces());
  ASSERT_TRUE(kernels.compiled()) << kernels.messages();
  for (bool atEnd : {false, true}) {
    std::vector<std::unique_ptr<GuardedFloats>> inputs;
    std::vector<void *> buffers;
    std::vector<float> expected;
    for (int64_t size : pieces) {
      inputs.push_back(std::make_unique<GuardedFloats>(size, atEnd));
      buffers.push_back(inputs.back()->first);
      for (int64_t i = 0; i < size; ++i)
        expected.push_back(inputs.back()->first[i] =
                               float(expected.size() + 1));
    }
    std::vector<float> found(expected.size());
    buffers.push_back(found.data());
    kernels.run("f", buffers);
    EXPECT_EQ(found, expected);
  }
}

// A masked load takes a CPU hundreds of cycles where no memory is, even if all
// lanes are off.
TEST(Concat, LoadsWithMasksOnlyWhereVectorsLieInSeveralPieces) {
  KernelRunner kernels(concatOfPieces());
  ASSERT_TRUE(kernels.compiled()) << kernels.messages();
  mlir::func::FuncOp kernel = kernels.function("f");
  auto module = kernel->getParentOfType<mlir::ModuleOp>();
  ASSERT_TRUE(mlir::succeeded(emitKernel(module, kernel, {-1}, "g")));
  size_t whole = 0;
  module.walk([&](mlir::Operation *op) {
    if (llvm::isa<mlir::LLVM::MaskedLoadOp>(op))
      EXPECT_TRUE(op->getParentOfType<mlir::scf::IfOp>());
    else if (llvm::isa<mlir::LLVM::LoadOp>(op) &&
             llvm::isa<mlir::VectorType>(op->getResultTypes()[0]))
      ++whole;
  });
  EXPECT_EQ(whole, pieces.size() - 1) << "of all but the single element";
}

} // namespace
