//===- Projection.cpp - Shardings seen along factors ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Projection.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace weft::sharding {

const FactorSharding *TensorProjection::find(int32_t factor) const {
  for (const FactorSharding &sharding : factors)
    if (sharding.factor == factor)
      return &sharding;
  return nullptr;
}

FactorSharding *TensorProjection::find(int32_t factor) {
  return const_cast<FactorSharding *>(std::as_const(*this).find(factor));
}

namespace {

/// Deals the axes of one dimension out to factors, major to minor.
class AxisDealer {
public:
  explicit AxisDealer(llvm::ArrayRef<AxisRef> axes) : axes(axes) {
    if (!axes.empty())
      next = axes.front();
  }

  bool empty() const { return index == axes.size(); }

  AxisList takeAll() {
    AxisList taken;
    while (!empty())
      taken.push_back(takeFront(next.size));
    return taken;
  }

  /// What splits a factor of `size`; `size` becomes what is left of it.
  AxisList takeDividing(int64_t &size) {
    AxisList taken;
    while (!empty()) {
      int64_t common = std::gcd(size, next.size);
      if (common == 1 && next.size != 1)
        break;
      taken.push_back(takeFront(common));
      size /= common;
    }
    return taken;
  }

private:
  /// The major part of size `size` of the next axis.
  AxisRef takeFront(int64_t size) {
    AxisRef taken{next.axis, next.pre, size};
    if (size < next.size)
      next = {next.axis, taken.next(), next.size / size};
    else if (++index < axes.size())
      next = axes[index];
    return taken;
  }

  llvm::ArrayRef<AxisRef> axes;
  size_t index = 0;
  /// What is left of axes[index].
  AxisRef next;
};

} // namespace

static void projectDim(llvm::ArrayRef<int32_t> dimFactors,
                       llvm::ArrayRef<Factor> factors,
                       llvm::ArrayRef<AxisRef> axes, bool closed,
                       TensorProjection &projection) {
  AxisDealer dealer(axes);
  bool afterOverflow = false;
  for (int32_t factor : dimFactors) {
    FactorSharding sharding;
    sharding.factor = factor;
    sharding.closed = closed || afterOverflow;
    sharding.minorMost = factor == dimFactors.back();
    if (sharding.minorMost) {
      sharding.axes = dealer.takeAll();
    } else if (!afterOverflow) {
      int64_t remaining = factors[factor].size;
      sharding.axes = dealer.takeDividing(remaining);
      if (remaining > 1)
        sharding.overflow = dealer.takeAll();
    }
    bool overflows = !sharding.overflow.empty();
    projection.factors.push_back(std::move(sharding));
    if (afterOverflow)
      return;
    afterOverflow = overflows;
  }
}

TensorProjection project(const TensorFactors &tensor,
                         llvm::ArrayRef<Factor> factors,
                         const Sharding *sharding, bool missingIsClosed) {
  TensorProjection projection;
  for (auto [index, dimFactors] : llvm::enumerate(tensor)) {
    if (sharding)
      projectDim(dimFactors, factors, sharding->dims[index].axes,
                 sharding->dims[index].closed, projection);
    else
      projectDim(dimFactors, factors, {}, missingIsClosed, projection);
  }
  if (sharding) {
    projection.replicated = sharding->replicated;
    projection.unreduced = sharding->unreduced;
    projection.unreducedKind = sharding->unreducedKind;
  }
  return projection;
}

static DimSharding unprojectDim(llvm::ArrayRef<int32_t> dimFactors,
                                llvm::ArrayRef<Factor> factors,
                                const TensorProjection &projection) {
  DimSharding dim;
  for (int32_t factor : dimFactors) {
    const FactorSharding *sharding = projection.find(factor);
    if (!sharding)
      break;
    dim.closed |= sharding->closed;
    for (const AxisRef &ref : sharding->axes)
      appendMerging(dim.axes, ref);
    for (const AxisRef &ref : sharding->overflow)
      appendMerging(dim.axes, ref);
    if (!sharding->overflow.empty() ||
        numShards(sharding->axes) < factors[factor].size)
      break;
  }
  return dim;
}

Sharding unproject(const TensorFactors &tensor, llvm::ArrayRef<Factor> factors,
                   const TensorProjection &projection) {
  Sharding sharding;
  for (const DimFactors &dimFactors : tensor)
    sharding.dims.push_back(unprojectDim(dimFactors, factors, projection));
  sharding.replicated = projection.replicated;
  sharding.unreduced = projection.unreduced;
  sharding.unreducedKind = projection.unreducedKind;
  return sharding;
}

} // namespace weft::sharding
