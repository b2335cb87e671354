//===- SharedAlgorithms.cpp - One choice for all ranks ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/SharedAlgorithms.h"

#include "comm/Call.h"
#include "cuda/gemm/AlgorithmCache.h"
#include "launch/Store.h"

#include <fmt/format.h>

namespace weft::runtime {

std::string SharedAlgorithms::storeKey(const std::string &what) const {
  return fmt::format("algorithms/{}/{}/{}", firstRank, session, what);
}

std::optional<cublasLtMatmulAlgo_t>
SharedAlgorithms::known(const std::string &key) const {
  const auto found = algorithms.find(key);
  if (found == algorithms.end())
    return std::nullopt;
  return found->second;
}

Status SharedAlgorithms::tell(const std::string &key,
                              const cublasLtMatmulAlgo_t &algorithm) {
  remember(key, algorithm);
  return bootstrap.store().set(storeKey(nameOf(key)),
                               toHex(algorithm) + " " + key);
}

void SharedAlgorithms::remember(const std::string &key,
                                const cublasLtMatmulAlgo_t &algorithm) {
  algorithms.insert_or_assign(key, algorithm);
}

/// FNV-1a: std::hash need not be the same in two processes.
std::string SharedAlgorithms::nameOf(const std::string &key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

Result<std::optional<cublasLtMatmulAlgo_t>>
SharedAlgorithms::ask(const std::string &key) {
  const std::string mine = storeKey(nameOf(key));
  WaitBudget budget(timeout);
  for (Backoff backoff;; backoff.sleep(budget)) {
    // Looked at before: who has ended has told all.
    WEFT_ASSIGN_OR_RETURN(const auto ended,
                          bootstrap.store().find(storeKey("end")));
    WEFT_ASSIGN_OR_RETURN(const auto told, bootstrap.store().find(mine));
    if (told) {
      const size_t space = told->find(' ');
      const auto algorithm = fromHex(std::string_view(*told).substr(0, space));
      // Two keys may have one hash.
      if (!algorithm ||
          told->substr(std::min(space, told->size() - 1) + 1) != key)
        return std::optional<cublasLtMatmulAlgo_t>();
      remember(key, *algorithm);
      return algorithm;
    }
    if (ended)
      return std::optional<cublasLtMatmulAlgo_t>();
    WEFT_RETURN_IF_ERROR(bootstrap.failure());
    if (budget.isSpent())
      return deadlineExceeded(fmt::format(
          "rank {} waited {} for rank {} to choose the algorithm of a GEMM",
          bootstrap.launch().rank, describeDuration(timeout), firstRank));
  }
}

Status SharedAlgorithms::end() {
  return isFirst() ? bootstrap.store().set(storeKey("end"), "") : Status();
}

} // namespace weft::runtime
