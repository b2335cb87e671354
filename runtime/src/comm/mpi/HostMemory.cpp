//===- HostMemory.cpp - Memory that processes of a host share -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostMemory.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::runtime {

static std::byte *map(int file, size_t bytes) {
  void *const address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return address == MAP_FAILED ? nullptr : static_cast<std::byte *>(address);
}

namespace {

/// Under a name, until all have opened it.
struct Named {
  std::string name;
  std::byte *address = nullptr;
  ~Named() {
    if (!name.empty())
      ::shm_unlink(name.c_str());
  }
};

} // namespace

/// Nothing where the host has no room: what it does not have at once would be
/// missing when it is written.
static void create(Named &made, size_t bytes) {
  std::random_device random;
  const std::string name =
      fmt::format("/weft-{}-{:08x}{:08x}", ::getpid(), random(), random());
  const int file =
      ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  made.name = name;
  if (::posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0)
    made.address = map(file, bytes);
  ::close(file);
}

static std::byte *open(const std::string &name, size_t bytes) {
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0)
    return nullptr;
  std::byte *const address = map(file, bytes);
  ::close(file);
  return address;
}

Result<std::unique_ptr<HostMemory>>
HostMemory::share(Bootstrap &bootstrap, size_t bytes,
                  std::chrono::nanoseconds timeout) {
  const int own = bootstrap.launch().rank;
  const int first = bootstrap.firstOnHost(own);
  const bool isWanted = isUsed && bytes != 0;
  Named made;
  if (isWanted && own == first)
    create(made, bytes);
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        bootstrap.gather("the memory of their hosts",
                                         made.address ? made.name : "",
                                         timeout));
  std::byte *address = made.address;
  if (isWanted && own != first && !names[first].empty())
    address = open(names[first], bytes);
  std::unique_ptr<HostMemory> memory(address ? new HostMemory(address, bytes)
                                             : nullptr);
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                        bootstrap.gather("whether they share memory",
                                         address ? "yes" : "no", timeout));
  for (int r = 0; r < bootstrap.launch().world; ++r)
    if (bootstrap.firstOnHost(r) == first && found[r] != "yes")
      memory.reset();
  return memory;
}

HostMemory::~HostMemory() { ::munmap(address, bytes); }

} // namespace weft::runtime
