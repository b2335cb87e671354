//===- Status.h - Outcome of a runtime call ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every runtime function that can fail returns a Status, or a Result<T> which
// is a Status or a value. No exception crosses the border of the library, and
// nothing in it ends the process.
//
// A message says what is wrong, where, the two values and the remedy; it
// starts in lower case and has no final period, so that callers can put their
// context in front: `step 17 all_reduce on rank 3: ...`.
//
//   Result<Plan> readPlan(const std::string &path) {
//     WEFT_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
//     WEFT_RETURN_IF_ERROR(checkHeader(file));
//     ...
//   }
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_STATUS_H
#define WEFT_RUNTIME_STATUS_H

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft::runtime {

/// The kinds of failure that callers tell apart. Their numbers are stable: the
/// tools derive exit codes from them.
enum class StatusCode : uint8_t {
  Ok = 0,
  /// The caller's input is wrong, whatever the state of the machine.
  InvalidArgument = 1,
  /// A named thing (file, tensor, entry) does not exist.
  NotFound = 2,
  /// The call is not allowed now, or the peers' calls do not fit it.
  FailedPrecondition = 3,
  /// Memory or disk is exhausted.
  ResourceExhausted = 4,
  /// A peer, a file or a device cannot be reached or was lost.
  Unavailable = 5,
  /// A wait ran out.
  DeadlineExceeded = 6,
  /// Legal, but this build or back end cannot do it.
  Unimplemented = 7,
  /// A bug of ours.
  Internal = 8,
};

/// The code in lower case with underscores: "invalid_argument".
constexpr std::string_view name(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return "ok";
  case StatusCode::InvalidArgument:
    return "invalid_argument";
  case StatusCode::NotFound:
    return "not_found";
  case StatusCode::FailedPrecondition:
    return "failed_precondition";
  case StatusCode::ResourceExhausted:
    return "resource_exhausted";
  case StatusCode::Unavailable:
    return "unavailable";
  case StatusCode::DeadlineExceeded:
    return "deadline_exceeded";
  case StatusCode::Unimplemented:
    return "unimplemented";
  case StatusCode::Internal:
    return "internal";
  }
  return "unknown";
}

/// Success, or a code with a message. Success costs no allocation.
class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;
  Status(StatusCode code, std::string message)
      : statusCode(code), text(std::move(message)) {
    assert(code != StatusCode::Ok && "success carries no message");
  }

  bool ok() const { return statusCode == StatusCode::Ok; }
  StatusCode code() const { return statusCode; }
  const std::string &message() const { return text; }

  /// The same failure with "<context>: " in front of its message; success
  /// stays success.
  Status withContext(std::string_view context) const {
    if (ok())
      return {};
    return Status(statusCode, std::string(context) + ": " + text);
  }

  /// "ok", or "<code>: <message>".
  std::string toString() const {
    if (ok())
      return "ok";
    return std::string(name(statusCode)) + ": " + text;
  }

  friend bool operator==(const Status &, const Status &) = default;

private:
  StatusCode statusCode = StatusCode::Ok;
  std::string text;
};

inline Status invalidArgument(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}
inline Status notFound(std::string message) {
  return Status(StatusCode::NotFound, std::move(message));
}
inline Status failedPrecondition(std::string message) {
  return Status(StatusCode::FailedPrecondition, std::move(message));
}
inline Status resourceExhausted(std::string message) {
  return Status(StatusCode::ResourceExhausted, std::move(message));
}
inline Status unavailable(std::string message) {
  return Status(StatusCode::Unavailable, std::move(message));
}
inline Status deadlineExceeded(std::string message) {
  return Status(StatusCode::DeadlineExceeded, std::move(message));
}
inline Status unimplemented(std::string message) {
  return Status(StatusCode::Unimplemented, std::move(message));
}
inline Status internalError(std::string message) {
  return Status(StatusCode::Internal, std::move(message));
}

/// A value, or the Status that says why there is none. `value()`, `*` and `->`
/// may be used only after `ok()` was checked.
template <typename T> class [[nodiscard]] Result {
  static_assert(!std::is_same_v<T, Status>, "a function that returns nothing "
                                            "but its outcome returns Status");

public:
  Result(T value) : storage(std::move(value)) {}
  Result(Status status) : storage(std::move(status)) {
    assert(!std::get<Status>(storage).ok() && "success needs a value");
  }
  /// From anything T is made of implicitly, as `return std::make_unique<D>()`.
  template <typename U>
    requires(std::is_convertible_v<U &&, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Status> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U &&value) : storage(T(std::forward<U>(value))) {}

  bool ok() const { return std::holds_alternative<T>(storage); }

  /// The failure, or success when there is a value.
  Status status() const { return ok() ? Status() : std::get<Status>(storage); }

  T &value() & { return std::get<T>(storage); }
  const T &value() const & { return std::get<T>(storage); }
  T &&value() && { return std::get<T>(std::move(storage)); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

private:
  std::variant<T, Status> storage;
};

} // namespace weft::runtime

#define WEFT_STATUS_CONCAT_INNER(a, b) a##b
#define WEFT_STATUS_CONCAT(a, b) WEFT_STATUS_CONCAT_INNER(a, b)

/// Returns from the enclosing function when `expression`, a Status, failed.
#define WEFT_RETURN_IF_ERROR(expression)                                       \
  do {                                                                         \
    if (::weft::runtime::Status weftStatus = (expression); !weftStatus.ok())   \
      return weftStatus;                                                       \
  } while (false)

/// Declares or assigns `target` from `expression`, a Result, or returns its
/// failure. `target` may be a declaration: WEFT_ASSIGN_OR_RETURN(int n, f()).
#define WEFT_ASSIGN_OR_RETURN(target, expression)                              \
  WEFT_ASSIGN_OR_RETURN_AS(WEFT_STATUS_CONCAT(weftResult, __LINE__), target,   \
                           expression)
#define WEFT_ASSIGN_OR_RETURN_AS(result, target, expression)                   \
  auto result = (expression);                                                  \
  if (!result.ok())                                                            \
    return result.status();                                                    \
  target = *std::move(result)

#endif // WEFT_RUNTIME_STATUS_H
