//===- MpiLibrary.h - What the runtime calls of MPI -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MPI without its types, which differ between its implementations: each is
// called by a module of its own (MpiModule.cpp), and a process loads that of
// the launcher that started it. So one build runs under all of them, and where
// there is none.
//
// Functions are called by one thread at a time. Texts are empty on success.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_MPILIBRARY_H
#define WEFT_RUNTIME_COMM_MPI_MPILIBRARY_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::runtime {

/// An MPI_Comm and an MPI_Request.
enum class MpiGroupHandle : uint64_t {};
enum class MpiRequest : uint64_t {};

class MpiLibrary {
public:
  virtual ~MpiLibrary() = default;

  /// Whether other threads than this one may make later calls is
  /// `isForAllThreads`.
  virtual std::string initialize(int &process, int &processes,
                                 bool &isForAllThreads) = 0;
  virtual void finalize() = 0;
  /// Its name and version on one line.
  virtual std::string version() = 0;

  /// A communicator of the processes, which all call it; `tag` tells those
  /// apart that are created at once.
  virtual std::string createGroup(std::span<const int> processes, int tag,
                                  MpiGroupHandle &group) = 0;
  virtual void freeGroup(MpiGroupHandle group) = 0;
  virtual int mostTag() = 0;

  /// Starts to move at most 2^31 - 1 bytes to or from a process, counted in the
  /// group.
  virtual std::string send(MpiGroupHandle group, const void *memory,
                           size_t bytes, int process, int tag,
                           MpiRequest &request) = 0;
  virtual std::string receive(MpiGroupHandle group, void *memory, size_t bytes,
                              int process, int tag, MpiRequest &request) = 0;
  /// Whether it is complete, and how many bytes were received. A complete or
  /// failed request is gone.
  virtual std::string test(MpiRequest &request, bool &isDone,
                           size_t &bytes) = 0;
  /// Lets the library move what it has not moved yet, also of complete
  /// requests.
  virtual void moveOn() = 0;
  /// Of a receive, which is then still to be tested.
  virtual void cancel(MpiRequest &request) = 0;

  /// The library's own collective of all processes, which sums floats in an
  /// order of its own and waits inside MPI: what ours are compared with.
  /// `count` are the elements that a process has of what is split, or all.
  enum class Own { AllReduce, AllGather, ReduceScatter, AllToAll };
  virtual std::string ownCollective(Own kind, const float *from, float *to,
                                    int count) = 0;
};

/// What a module exports: a library, which lives as long as the process.
using MpiLibraryFunction = MpiLibrary *();
inline constexpr const char *mpiLibraryFunction = "weftMpiLibrary";

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_MPILIBRARY_H
