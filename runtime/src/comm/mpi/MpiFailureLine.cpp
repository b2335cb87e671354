//===- MpiFailureLine.cpp - How processes tell each other a failure -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiFailureLine.h"

#include <algorithm>
#include <cstring>

namespace weft::runtime {

MpiFailureLine::MpiFailureLine(MpiEngine &engine, MpiGroupHandle handle,
                               int tag, std::vector<int> others)
    : engine(engine), handle(handle), tag(tag), others(std::move(others)),
      expected(this->others.size()) {}

void MpiFailureLine::tell(const Status &failure) { news.tell(failure); }

/// The code, and the text to the end of the message.
void MpiFailureLine::News::tell(const Status &failure) {
  const auto code = static_cast<int32_t>(failure.code());
  const size_t bytes =
      std::min(failure.message().size(), messageBytes - sizeof code);
  message.resize(sizeof code + bytes);
  std::memcpy(message.data(), &code, sizeof code);
  std::memcpy(message.data() + sizeof code, failure.message().data(), bytes);
  begin();
  line.engine.start(*this);
}

bool MpiFailureLine::News::progress(MpiLibrary &library) {
  bool hasMoved = !isPosted;
  // Whoever cannot be told any more needs not know.
  if (!isPosted)
    for (int process : line.others)
      (void)sends.send(library, line.handle, message.data(), message.size(),
                       process, line.tag);
  isPosted = true;
  (void)sends.test(library, hasMoved);
  if (sends.areComplete())
    finish();
  return hasMoved;
}

std::string MpiFailureLine::expect(MpiLibrary &library) {
  for (size_t i = 0; i < others.size(); ++i) {
    Expected &each = expected[i];
    if (each.isPosted)
      continue;
    each.message.resize(messageBytes);
    if (std::string problem =
            library.receive(handle, each.message.data(), each.message.size(),
                            others[i], tag, each.request);
        !problem.empty())
      return problem;
    each.isPosted = true;
  }
  return "";
}

Status MpiFailureLine::told(MpiLibrary &library) {
  for (Expected &each : expected) {
    bool isDone = false;
    size_t bytes = 0;
    if (!each.isPosted || !library.test(each.request, isDone, bytes).empty() ||
        !isDone)
      continue;
    each.isPosted = false;
    int32_t code = 0;
    std::memcpy(&code, each.message.data(), sizeof code);
    return {static_cast<StatusCode>(code),
            std::string(reinterpret_cast<const char *>(each.message.data()) +
                            sizeof code,
                        bytes - sizeof code)};
  }
  return {};
}

void MpiFailureLine::close(MpiLibrary &library) {
  for (Expected &each : expected)
    if (each.isPosted) {
      withdraw(library, each.request);
      each.isPosted = false;
    }
}

void withdraw(MpiLibrary &library, MpiRequest &request) {
  library.cancel(request);
  bool isDone = false;
  size_t bytes = 0;
  while (!isDone)
    (void)library.test(request, isDone, bytes);
}

} // namespace weft::runtime
