//===- SharedAlgorithms.h - One choice for all ranks ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that are processes would each measure which algorithm is the fastest,
// and now and then find another one: their results would differ in the last
// bits, and the slowest would keep the others waiting. So the first rank of
// each kind of device chooses, and tells the others over the job's store.
//
//   first rank    choose a product's algorithm, tell
//   the others    ask, check, use
//
// All bind the products of one plan in one order, so that the number of a
// product is its name; the key of the problem is compared all the same.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_SHAREDALGORITHMS_H
#define WEFT_RUNTIME_SRC_CUDA_SHAREDALGORITHMS_H

#include "weft/runtime/Bootstrap.h"

#include <cublasLt.h>

#include <map>
#include <optional>
#include <string>

namespace weft::runtime {

/// Of one rank in one session; used by its thread.
class SharedAlgorithms {
public:
  /// `session` is the same text on all ranks, and of this session only.
  SharedAlgorithms(Bootstrap &bootstrap, int first, std::string session,
                   std::chrono::nanoseconds timeout)
      : bootstrap(bootstrap), firstRank(first), session(std::move(session)),
        timeout(timeout) {}

  /// The rank that chooses, and whether it is this one.
  int first() const { return firstRank; }
  bool isFirst() const { return bootstrap.launch().rank == firstRank; }

  /// What was told or asked before.
  std::optional<cublasLtMatmulAlgo_t> known(const std::string &key) const;

  /// The first rank: tells the choice for the next product.
  Status tell(const std::string &key, const cublasLtMatmulAlgo_t &algorithm);
  /// The others: waits for it. Nothing if the first rank has chosen for another
  /// product, or for none.
  Result<std::optional<cublasLtMatmulAlgo_t>> ask(const std::string &key);

  /// The first rank: all products have been chosen for.
  Status end();

private:
  std::string place(const std::string &what) const;

  Bootstrap &bootstrap;
  const int firstRank;
  const std::string session;
  const std::chrono::nanoseconds timeout;
  int products = 0;
  std::map<std::string, cublasLtMatmulAlgo_t> algorithms;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_SHAREDALGORITHMS_H
