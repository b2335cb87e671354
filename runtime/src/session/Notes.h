//===- Notes.h - What a session tells its user once -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is no failure but not what was asked for either: a library that is not
// there, an algorithm that was not measured. Whoever finds it says so, from any
// thread and as often as it likes; the user hears each text once, from one
// thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_SESSION_NOTES_H
#define WEFT_RUNTIME_SRC_SESSION_NOTES_H

#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace weft::runtime {

class Notes {
public:
  using Tell = std::function<void(const std::string &)>;

  /// Without a function texts are dropped.
  explicit Notes(Tell tell) : tell(std::move(tell)) {}

  void add(const std::string &text) {
    const std::lock_guard lock(mutex);
    if (tell && told.insert(text).second)
      tell(text);
  }

  /// Returns when nobody is being told, and nobody will be: what `tell` refers
  /// to may go. Threads that were left behind may still add.
  void close() {
    const std::lock_guard lock(mutex);
    tell = nullptr;
  }

private:
  std::mutex mutex;
  Tell tell;
  std::set<std::string> told;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_SESSION_NOTES_H
