//===- PassGathers.h - What is gathered ahead of a pass ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage whose parameters are in shards gathers them anew in each pass over a
// micro-batch. The first of these gathers, which nothing in the pass could
// hide, depend on no micro-batch: the rank can make them while it does
// something else, or waits. What the pass gathers later it gathers itself,
// beside its computation, so that what is there ahead is a few parameters for
// each pass.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_PASSGATHERS_H
#define WEFT_LIB_PIPELINING_PASSGATHERS_H

#include "SegmentPlan.h"

#include <map>
#include <optional>

namespace weft {

class PassGathers {
public:
  PassGathers(mlir::Block &block, const SegmentPlan &plan);

  /// The segment that gathers ahead of `pass`, if `op` is a gather that the
  /// pass needs for its first matmuls, or before.
  std::optional<SegmentKey> segmentOf(mlir::Operation *op,
                                      const SegmentKey &pass) const;

private:
  void addGathers(mlir::Operation *user, const SegmentKey &pass);

  const SegmentPlan &plan;
  std::map<SegmentKey, llvm::DenseSet<mlir::Operation *>> ahead;
};

} // namespace weft

#endif // WEFT_LIB_PIPELINING_PASSGATHERS_H
