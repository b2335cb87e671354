//===- Meeting.cpp - Memory that the ranks of a communicator share -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Meeting.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace fake_nccl {

static constexpr size_t headerBytes = 4096;

Meeting *Meeting::open(const std::string &path, int rank, int size) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return nullptr;
  const size_t bytes = headerBytes + size * (sizeof(Announcement) + slotBytes);
  // Sparse: only what is used takes space.
  void *memory = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(bytes)) == 0)
    memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED)
    return nullptr;
  auto *meeting = new Meeting;
  meeting->path = path;
  meeting->memory = static_cast<std::byte *>(memory);
  meeting->bytes = bytes;
  meeting->rank = rank;
  meeting->size = size;
  return meeting;
}

Meeting::~Meeting() {
  ::munmap(memory, bytes);
  if (rank == 0)
    ::unlink(path.c_str());
}

void Meeting::arrive() {
  const uint32_t round = header().round.load();
  arrivedIn = round;
  if (header().arrived.fetch_add(1) + 1 == static_cast<uint32_t>(size)) {
    header().arrived.store(0);
    header().round.store(round + 1);
  }
}

bool Meeting::await(const std::atomic<bool> &stop) {
  while (arrivedIn && header().round.load() == *arrivedIn) {
    if (stop.load())
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  arrivedIn.reset();
  return true;
}

bool Meeting::meet(const std::atomic<bool> &stop) {
  if (!await(stop))
    return false;
  arrive();
  return await(stop);
}

Meeting::Header &Meeting::header() {
  return *reinterpret_cast<Header *>(memory);
}

Announcement &Meeting::announcement(int rank) {
  return reinterpret_cast<Announcement *>(memory + headerBytes)[rank];
}

std::byte *Meeting::slot(int rank) {
  return memory + headerBytes + size * sizeof(Announcement) +
         static_cast<size_t>(rank) * slotBytes;
}

} // namespace fake_nccl
