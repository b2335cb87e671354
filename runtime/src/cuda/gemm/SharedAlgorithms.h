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
//   first rank    choose a GEMM's algorithm, tell
//   the others    ask, check, use
//
// The key of a problem is the name of its choice, also when a rank has GEMMs
// that another has not, or asks for one twice. A rank that cannot use a choice
// remembers its own in its place, so that each key is asked for once.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_GEMM_SHAREDALGORITHMS_H
#define WEFT_RUNTIME_SRC_CUDA_GEMM_SHAREDALGORITHMS_H

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

  /// What was told, asked or remembered before.
  std::optional<cublasLtMatmulAlgo_t> known(const std::string &key) const;

  /// The first rank: tells the choice for a GEMM.
  Status tell(const std::string &key, const cublasLtMatmulAlgo_t &algorithm);
  /// The others: waits for it. Nothing if the first rank has chosen for all its
  /// GEMMs, and this is none of them.
  Result<std::optional<cublasLtMatmulAlgo_t>> ask(const std::string &key);
  /// The others: this rank has chosen alone.
  void remember(const std::string &key, const cublasLtMatmulAlgo_t &algorithm);

  /// Under which the choice for a GEMM is in the store: digits of a hash.
  static std::string nameOf(const std::string &key);

  /// The first rank: all GEMMs have been chosen for.
  Status end();

private:
  std::string storeKey(const std::string &what) const;

  Bootstrap &bootstrap;
  const int firstRank;
  const std::string session;
  const std::chrono::nanoseconds timeout;
  std::map<std::string, cublasLtMatmulAlgo_t> algorithms;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_GEMM_SHAREDALGORITHMS_H
