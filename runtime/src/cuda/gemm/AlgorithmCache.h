//===- AlgorithmCache.h - Measured algorithms on disk -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which algorithm of cuBLASLt was the fastest for a GEMM, from one load to
// the next: a JSON file of keys and the 64 bytes that describe an algorithm.
// These mean something to the library's version that gave them only (rule C5),
// so keys contain it, and whoever uses them has them checked.
//
//   {"weft-cublaslt": 1,
//    "algorithms": {"NVIDIA H200 | cuBLASLt 130100 | 1 x (a bf16 ...":
//    "0a00..."}}
//
// Any number of threads and processes may use one file: it is replaced as a
// whole, and what others added stays. A file that is damaged is ignored, with a
// note, and replaced.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_GEMM_ALGORITHMCACHE_H
#define WEFT_RUNTIME_SRC_CUDA_GEMM_ALGORITHMCACHE_H

#include "weft/runtime/Status.h"

#include <cublasLt.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

/// The 64 bytes as 128 digits, and back; nothing if it is no such text.
std::string toHex(const cublasLtMatmulAlgo_t &algorithm);
std::optional<cublasLtMatmulAlgo_t> fromHex(std::string_view text);

class AlgorithmCache {
public:
  /// $XDG_CACHE_HOME/weft/cublaslt.json, or in ~/.cache; empty if the
  /// environment names neither.
  static std::string defaultPath();

  /// With an empty path it remembers for the life of the process only.
  explicit AlgorithmCache(std::string path);

  std::optional<cublasLtMatmulAlgo_t> find(const std::string &key);

  /// Remembers, and puts it in the file. The failure of a file is a note: the
  /// algorithm is as good without.
  void add(const std::string &key, const cublasLtMatmulAlgo_t &algorithm);

  /// What was wrong with the file since the last call, each once.
  std::vector<std::string> takeNotes();

private:
  using Algorithms = std::map<std::string, cublasLtMatmulAlgo_t>;

  /// What the file has; nothing if it does not exist or is damaged.
  Algorithms read();
  Status write();
  void note(std::string text);

  const std::string path;
  std::mutex mutex;
  bool isRead = false;
  Algorithms algorithms;
  std::vector<std::string> notes, toldNotes;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_GEMM_ALGORITHMCACHE_H
