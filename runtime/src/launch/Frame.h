//===- Frame.h - What the TCP store sends -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A frame is a word that no other protocol begins with, a kind, and two texts
// with their lengths:
//
//   "Weft" | kind: u8 | key bytes: u32 | value bytes: u32 | key | value
//
// Numbers are little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_LAUNCH_FRAME_H
#define WEFT_RUNTIME_SRC_LAUNCH_FRAME_H

#include "comm/EventCount.h"
#include "weft/runtime/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weft::runtime {

enum class FrameKind : uint8_t {
  /// A rank introduces itself: the job as key, its number as value.
  Hello = 0,
  Set = 1,
  Find = 2,
  Leave = 3,
  /// Answers: done or found; not there; refused, with the reason.
  Yes = 4,
  No = 5,
  Refused = 6,
  /// A rank lives; the value is after how many milliseconds without a frame
  /// of its it does not.
  Alive = 7,
};

struct Frame {
  FrameKind kind;
  std::string key;
  std::string value;
};

/// No text of a frame is longer.
inline constexpr uint32_t maxFrameText = 1 << 20;

std::string encode(const Frame &frame);

/// Takes the first frame out of `bytes`; nothing while it is incomplete, and a
/// failure when this is no frame.
Result<std::optional<Frame>> takeFrame(std::string &bytes);

/// A descriptor that is closed with its owner.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor &&other) : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other) {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor();

  int get() const { return number; }
  bool isOpen() const { return number >= 0; }

private:
  int number = -1;
};

/// Waits until the socket can be read (POLLIN) or written (POLLOUT).
Status waitFor(int socket, short events, WaitBudget &budget);

/// Writes all of a frame to a socket, or says what kept it.
Status sendFrame(int socket, const Frame &frame, WaitBudget &budget);

/// Reads one frame from a socket; `bytes` keeps what came after it.
Result<Frame> receiveFrame(int socket, std::string &bytes, WaitBudget &budget);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_LAUNCH_FRAME_H
