//===- Meeting.h - Memory that the ranks of a communicator share -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that every rank maps: a count of those that have arrived, and a slot
// for each rank. Ranks publish what they have, arrive, await the others, read
// their slots, and arrive again, so that others may publish the next. Between
// arriving and awaiting, a rank may do something else.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_NCCL_MEETING_H
#define WEFT_EMULATOR_NCCL_MEETING_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace fake_nccl {

/// What a rank says of the operation that it carries out.
struct Announcement {
  uint64_t operation;
  uint64_t count;
  uint64_t type;
  uint64_t reduction;
  /// Send and receive: where the data for each rank begin in the slot.
  uint64_t offsets[64];
  friend bool operator==(const Announcement &, const Announcement &) = default;
};

class Meeting {
public:
  static constexpr uint64_t slotBytes = 16 << 20;

  /// Null when the file cannot be mapped.
  static Meeting *open(const std::string &path, int rank, int size);
  ~Meeting();

  /// Says that this rank has come. It has awaited the others since the last
  /// time.
  void arrive();
  /// Returns true when all ranks have come as often as this one; false when
  /// `stop` was set.
  bool await(const std::atomic<bool> &stop);
  /// Both, at a time when nothing else goes on.
  bool meet(const std::atomic<bool> &stop);

  Announcement &announcement(int rank);
  std::byte *slot(int rank);

private:
  struct Header {
    std::atomic<uint32_t> arrived;
    std::atomic<uint32_t> round;
  };
  Meeting() = default;
  Header &header();

  std::string path;
  std::byte *memory = nullptr;
  size_t bytes = 0;
  int rank = 0;
  int size = 1;
  /// The round that this rank has come to and not awaited.
  std::optional<uint32_t> arrivedIn;
};

} // namespace fake_nccl

#endif // WEFT_EMULATOR_NCCL_MEETING_H
