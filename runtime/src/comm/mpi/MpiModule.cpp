//===- MpiModule.cpp - The calls of one implementation of MPI -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiLibrary.h"

// Without the functions for C++ of older versions, which would want libraries
// of their own.
#define MPICH_SKIP_MPICXX
#define OMPI_SKIP_MPICXX
#include <mpi.h>

#include <cstring>

namespace weft::runtime {
namespace {

template <typename Word, typename Handle> Word pack(Handle handle) {
  static_assert(sizeof handle <= sizeof(Word));
  uint64_t word = 0;
  std::memcpy(&word, &handle, sizeof handle);
  return static_cast<Word>(word);
}

template <typename Handle, typename Word> Handle unpack(Word word) {
  Handle handle;
  std::memcpy(&handle, &word, sizeof handle);
  return handle;
}

std::string textOf(int error, const char *call) {
  if (error == MPI_SUCCESS)
    return "";
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  return std::string(call) + ": " + text;
}

class Library final : public MpiLibrary {
public:
  std::string initialize(int &process, int &processes,
                         bool &isForAllThreads) override {
    int provided = 0;
    std::string problem = textOf(
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
        "MPI_Init_thread");
    isForAllThreads = provided >= MPI_THREAD_SERIALIZED;
    if (!problem.empty())
      return problem;
    if (provided < MPI_THREAD_FUNNELED)
      return "MPI_Init_thread: the library has no support for threads";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    return "";
  }

  void finalize() override { MPI_Finalize(); }

  std::string version() override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text);
    std::string line = all.substr(0, all.find_first_of("\n,"));
    for (char &character : line)
      if (character == '\t')
        character = ' ';
    return line;
  }

  std::string createGroup(std::span<const int> processes, int tag,
                          MpiGroupHandle &group) override {
    MPI_Group world, members;
    MPI_Comm created = MPI_COMM_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(processes.size()), processes.data(),
                   &members);
    std::string problem =
        textOf(MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &created),
               "MPI_Comm_create_group");
    MPI_Group_free(&members);
    MPI_Group_free(&world);
    if (!problem.empty())
      return problem;
    MPI_Comm_set_errhandler(created, MPI_ERRORS_RETURN);
    group = pack<MpiGroupHandle>(created);
    return "";
  }

  void freeGroup(MpiGroupHandle group) override {
    auto handle = unpack<MPI_Comm>(group);
    MPI_Comm_free(&handle);
  }

  int mostTag() override {
    int *most = nullptr, isFound = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void *>(&most),
                      &isFound);
    return isFound ? *most : 32767; // what the standard promises
  }

  std::string send(MpiGroupHandle group, const void *memory, size_t bytes,
                   int process, int tag, MpiRequest &request) override {
    MPI_Request started;
    const int error =
        MPI_Isend(memory, static_cast<int>(bytes), MPI_BYTE, process, tag,
                  unpack<MPI_Comm>(group), &started);
    request = pack<MpiRequest>(started);
    return textOf(error, "MPI_Isend");
  }

  std::string receive(MpiGroupHandle group, void *memory, size_t bytes,
                      int process, int tag, MpiRequest &request) override {
    MPI_Request started;
    const int error =
        MPI_Irecv(memory, static_cast<int>(bytes), MPI_BYTE, process, tag,
                  unpack<MPI_Comm>(group), &started);
    request = pack<MpiRequest>(started);
    return textOf(error, "MPI_Irecv");
  }

  std::string test(MpiRequest &request, bool &isDone, size_t &bytes) override {
    auto handle = unpack<MPI_Request>(request);
    MPI_Status status;
    int flag = 0, count = 0;
    const int error = MPI_Test(&handle, &flag, &status);
    request = pack<MpiRequest>(handle);
    isDone = flag != 0 || error != MPI_SUCCESS;
    if (isDone && error == MPI_SUCCESS) {
      MPI_Get_count(&status, MPI_BYTE, &count);
      bytes = count < 0 ? 0 : static_cast<size_t>(count);
    }
    return textOf(error, "MPI_Test");
  }

  void moveOn() override {
    int isThere = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &isThere,
               MPI_STATUS_IGNORE);
  }

  void cancel(MpiRequest &request) override {
    auto handle = unpack<MPI_Request>(request);
    MPI_Cancel(&handle);
    request = pack<MpiRequest>(handle);
  }

  std::string ownCollective(Own kind, const float *from, float *to,
                            int count) override {
    const MPI_Comm all = MPI_COMM_WORLD;
    switch (kind) {
    case Own::AllReduce:
      return textOf(MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, all),
                    "MPI_Allreduce");
    case Own::AllGather:
      return textOf(
          MPI_Allgather(from, count, MPI_FLOAT, to, count, MPI_FLOAT, all),
          "MPI_Allgather");
    case Own::ReduceScatter:
      return textOf(
          MPI_Reduce_scatter_block(from, to, count, MPI_FLOAT, MPI_SUM, all),
          "MPI_Reduce_scatter_block");
    case Own::AllToAll:
      return textOf(
          MPI_Alltoall(from, count, MPI_FLOAT, to, count, MPI_FLOAT, all),
          "MPI_Alltoall");
    }
    return "";
  }
};

} // namespace
} // namespace weft::runtime

extern "C" __attribute__((visibility("default"))) weft::runtime::MpiLibrary *
weftMpiLibrary() {
  static weft::runtime::Library library;
  return &library;
}
