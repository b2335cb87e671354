//===- HostDevice.cpp - A device that is a thread ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDevice.h"

#include "FakeNccl.h"
#include "cuda/comm/kernels/BlockParameters.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace weft::runtime {
namespace {

/// Never destroyed: a test may end while an operation hangs on it.
class Stream {
public:
  Stream() {
    std::thread([this] { loop(); }).detach();
  }
  void push(std::function<void()> work) {
    std::lock_guard<std::mutex> lock(mutex);
    queue.push_back(std::move(work));
    ++pending;
    wake.notify_one();
  }
  bool isIdle() const { return pending.load() == 0; }

private:
  void loop() {
    while (true) {
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait(lock, [&] { return !queue.empty(); });
      const std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      work();
      --pending;
    }
  }

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;
  std::atomic<int> pending{0};
};

Stream &streamOf(size_t queue) {
  static auto *all = new Stream[2];
  return all[queue];
}
Stream &at(cudaStream_t stream) { return *reinterpret_cast<Stream *>(stream); }

/// As a device copies: a word that the host may look at meanwhile, a mark of
/// progress say, whole.
void copyAsDevice(void *to, const void *from, size_t bytes) {
  if (bytes != sizeof(uint32_t)) {
    std::memcpy(to, from, bytes);
    return;
  }
  uint32_t word;
  std::memcpy(&word, from, bytes);
  std::atomic_ref(*static_cast<uint32_t *>(to)).store(word);
}

std::vector<std::shared_ptr<void>> held;

std::atomic<bool> capturing{false};

void copyBlocks(const BlockCopyParameters &copy, int64_t unit) {
  const int64_t *extents = copy.extents;
  for (int64_t a = 0; a < extents[0]; ++a)
    for (int64_t b = 0; b < extents[1]; ++b)
      for (int64_t c = 0; c < extents[2]; ++c) {
        const auto offset = [&](const int64_t *strides) {
          return unit * (a * strides[0] + b * strides[1] + c * strides[2]);
        };
        std::memcpy(static_cast<std::byte *>(copy.destination) +
                        offset(copy.destinationStrides),
                    static_cast<const std::byte *>(copy.source) +
                        offset(copy.sourceStrides),
                    static_cast<size_t>(copy.inner * unit));
      }
}

cudaError_t launchKernel(const void *kernel, dim3, dim3, void **arguments,
                         size_t, cudaStream_t stream) {
  const std::string &name = *static_cast<const std::string *>(kernel);
  const std::string prefix = "weft_copy_";
  if (!name.starts_with(prefix))
    return cudaErrorInvalidDeviceFunction;
  at(stream).push([copy = *static_cast<BlockCopyParameters *>(arguments[0]),
                   unit = std::stoll(name.substr(prefix.size()))] {
    copyBlocks(copy, unit);
  });
  return cudaSuccess;
}

cudaError_t getKernel(cudaKernel_t *kernel, cudaLibrary_t, const char *name) {
  static std::set<std::string> names;
  *kernel = reinterpret_cast<cudaKernel_t>(
      const_cast<std::string *>(&*names.insert(name).first));
  return cudaSuccess;
}

} // namespace

Cudart hostDevice() {
  Cudart table;
  table.getErrorString = [](cudaError_t) { return "an error of the host"; };
  table.getErrorName = [](cudaError_t) { return "cudaErrorOfTheHost"; };
  table.malloc = [](void **memory, size_t bytes) {
    *memory = std::malloc(bytes);
    return cudaSuccess;
  };
  table.mallocHost = table.malloc;
  table.free = [](void *memory) {
    std::free(memory);
    return cudaSuccess;
  };
  table.freeHost = table.free;
  table.memcpy = [](void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  };
  table.getDevice = [](int *device) {
    *device = 0;
    return cudaSuccess;
  };
  table.deviceGetAttribute = [](int *value, cudaDeviceAttr attribute, int) {
    *value = 4;
    return attribute == cudaDevAttrMultiProcessorCount ? cudaSuccess
                                                       : cudaErrorInvalidValue;
  };
  table.deviceSynchronize = [] { return cudaSuccess; };
  table.memcpyAsync = [](void *to, const void *from, size_t bytes,
                         cudaMemcpyKind, cudaStream_t stream) {
    at(stream).push([=] { copyAsDevice(to, from, bytes); });
    return cudaSuccess;
  };
  table.streamIsCapturing = [](cudaStream_t, cudaStreamCaptureStatus *status) {
    *status = capturing.load() ? cudaStreamCaptureStatusActive
                               : cudaStreamCaptureStatusNone;
    return cudaSuccess;
  };
  table.libraryLoadData = [](cudaLibrary_t *library, const void *,
                             cudaJitOption *, void **, unsigned,
                             cudaLibraryOption *, void **, unsigned) {
    *library = reinterpret_cast<cudaLibrary_t>(&streamOf(0));
    return cudaSuccess;
  };
  table.libraryUnload = [](cudaLibrary_t) { return cudaSuccess; };
  table.libraryGetKernel = getKernel;
  table.launchKernel = launchKernel;
  return table;
}

Nccl fakeNccl() {
  const Result<Nccl> table = loadNccl({{WEFT_FAKE_NCCL_FOLDER}});
  if (!table.ok()) {
    ADD_FAILURE() << table.status().message();
    return {};
  }
  void *handle =
      dlopen(WEFT_FAKE_NCCL_FOLDER "/libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  const auto setDevice = reinterpret_cast<decltype(&weftFakeNcclSetDevice)>(
      dlsym(handle, "weftFakeNcclSetDevice"));
  const FakeNcclDevice device = {
      [](cudaStream_t stream, void (*function)(void *), void *argument) {
        at(stream).push([=] { function(argument); });
      },
      [](cudaStream_t) { return capturing.load(); },
      [](cudaStream_t, void *object, void (*release)(void *)) {
        held.emplace_back(object, release);
      },
      [](size_t bytes) { return std::malloc(bytes); },
      [](void *memory) { std::free(memory); }};
  setDevice(&device);
  return *table;
}

cudaStream_t hostStream(size_t queue) {
  return reinterpret_cast<cudaStream_t>(&streamOf(queue));
}
bool isHostStreamIdle() { return streamOf(0).isIdle() && streamOf(1).isIdle(); }
void setHostStreamCapturing(bool isCapturing) { capturing.store(isCapturing); }
void dropHostGraphs() { held.clear(); }

} // namespace weft::runtime
