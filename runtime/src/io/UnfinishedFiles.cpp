//===- UnfinishedFiles.cpp - Files that a signal removes ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnfinishedFiles.h"

#include "weft/runtime/OutputFiles.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>

namespace weft::runtime {

namespace {
enum State : int { Free, Claimed, Ready };
constexpr size_t maxFiles = 16;
} // namespace

/// Memory that is never freed: the handler may look at any time.
struct UnfinishedFile::Slot {
  std::atomic<int> state{Free};
  char path[4096];
};
constinit UnfinishedFile::Slot UnfinishedFile::slots[maxFiles] = {};

UnfinishedFile::UnfinishedFile(const std::string &path) {
  if (path.size() >= sizeof(Slot::path))
    return;
  for (Slot &candidate : slots) {
    int free = Free;
    if (!candidate.state.compare_exchange_strong(free, Claimed))
      continue;
    slot = &candidate;
    std::memcpy(slot->path, path.c_str(), path.size() + 1);
    slot->state.store(Ready);
    return;
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (slot)
    slot->state.store(Free);
}

void removeUnfinishedFiles() {
  for (const UnfinishedFile::Slot &slot : UnfinishedFile::slots)
    if (slot.state.load() == Ready)
      ::unlink(slot.path);
}

void removeUnfinishedFilesOnSignals() {
  struct sigaction action{};
  // The signal does what it does by default when it is raised again.
  action.sa_flags = SA_RESETHAND;
  action.sa_handler = [](int signal) {
    removeUnfinishedFiles();
    ::raise(signal);
  };
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction before{};
    if (::sigaction(signal, nullptr, &before) == 0 &&
        before.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);
  }
}

} // namespace weft::runtime
