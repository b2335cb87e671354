//===- KnownOrders.cpp - Orders that were made before ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stages in the middle of a pipeline are equal, and so are the programs of
// its stages under another schedule. Orders are kept by a digest of all that
// they depend on, since steps themselves take ten times as much memory.
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OverlapOrder.h"

#include "llvm/Support/BLAKE3.h"

#include <array>
#include <map>
#include <mutex>

namespace weft {

namespace {

using Digest = std::array<uint8_t, 32>;

/// Orders of this process, which threads share.
class KnownOrders {
public:
  std::optional<std::vector<Action>> find(const Digest &digest) {
    const std::lock_guard lock(mutex);
    const auto found = orders.find(digest);
    return found == orders.end() ? std::nullopt : std::optional(found->second);
  }
  void add(const Digest &digest, const std::vector<Action> &order) {
    constexpr size_t most = size_t(1) << 22; // 32 MiB
    const std::lock_guard lock(mutex);
    if (kept + order.size() > most) {
      orders.clear();
      kept = 0;
    }
    if (orders.emplace(digest, order).second)
      kept += order.size();
  }

private:
  std::mutex mutex;
  std::map<Digest, std::vector<Action>> orders;
  /// Actions of all of them.
  size_t kept = 0;
};

} // namespace

static Digest digestOf(llvm::ArrayRef<Step> steps, double growth,
                       int64_t beside, int64_t spared) {
  llvm::BLAKE3 hasher;
  auto add = [&](const auto *values, size_t count) {
    hasher.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(values),
                                 count * sizeof(*values)));
  };
  add(&growth, 1);
  for (const Step &step : steps) {
    const int64_t numbers[] = {
        step.isCollective, step.enlarges,
        step.picoseconds,  step.link,
        step.bytes,        step.isReturned,
        step.isView,       int64_t(step.operands.size())};
    add(numbers, std::size(numbers));
    add(step.operands.data(), step.operands.size());
  }
  const int64_t numbers[] = {beside, spared};
  add(numbers, std::size(numbers));
  return hasher.final();
}

std::vector<Action> knownFastestOrder(llvm::ArrayRef<Step> steps, double growth,
                                      int64_t beside, int64_t spared) {
  static KnownOrders known;
  const Digest digest = digestOf(steps, growth, beside, spared);
  if (auto found = known.find(digest))
    return std::move(*found);
  std::vector<Action> order = fastestOrder(steps, growth, beside, spared);
  known.add(digest, order);
  return order;
}

} // namespace weft
