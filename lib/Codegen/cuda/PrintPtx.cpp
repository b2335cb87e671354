//===- PrintPtx.cpp - Print kernels as code for a GPU ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Codegen/CompileGpuKernels.h"
#include "weft/Codegen/Passes.h"
#include "weft/IR/WeftDialect.h"

#include "llvm/Support/raw_ostream.h"

namespace weft {
#define GEN_PASS_DEF_PRINTPTX
#include "weft/Codegen/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

static void print(const KernelRequest &request, const KernelGrid &grid) {
  llvm::outs() << "// " << request.symbol << ": " << grid.blocks
               << " blocks of " << grid.threads << " threads, "
               << grid.sharedBytes << " bytes of shared memory, ";
  if (grid.launchSharedBytes > 0)
    llvm::outs() << grid.launchSharedBytes << " more by its launch, ";
  llvm::outs() << grid.workspaceBytes << " bytes of workspace\n";
}

namespace {
struct PrintPtx : weft::impl::PrintPtxBase<PrintPtx> {
  using PrintPtxBase::PrintPtxBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerGpuKernelDialects(registry);
  }

  void runOnOperation() override {
    llvm::Expected<TargetOptions> target = parseTarget("cuda:" + processor);
    if (!target) {
      getOperation().emitError(toString(target.takeError()));
      return signalPassFailure();
    }
    target->ptxas = "none";
    std::vector<KernelRequest> requests;
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(WeftDialect::kKernelAttrName))
        requests.push_back({kernel, {}, kernel.getName().str(), maxBatch});
    FailureOr<GpuCode> code = compileGpuKernels(requests, *target);
    if (failed(code))
      return signalPassFailure();
    for (auto [request, grid] : llvm::zip_equal(requests, code->grids))
      print(request, grid);
    llvm::outs() << code->ptx;
  }
};
} // namespace
