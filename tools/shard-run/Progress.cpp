//===- Progress.cpp - What shard-run prints while it runs -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include "Printable.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

namespace weft::tools {

using namespace weft::runtime;
using Clock = std::chrono::steady_clock;

Scalars::Scalars(const EntrySpec &entry) {
  for (const ValueSpec &output : entry.outputs)
    if (!output.isState && output.globalShape.empty())
      outputs.push_back(output.name);
}

static std::string digits(const Array &scalar) {
  switch (scalar.dtype) {
  case DType::F32:
    return fmt::format("{:.9g}", scalar.as<float>()[0]);
  case DType::F64:
    return fmt::format("{:.17g}", scalar.as<double>()[0]);
  case DType::BF16:
    return fmt::format("{:.9g}", toFloat(scalar.as<BFloat16>()[0]));
  case DType::F16:
    return fmt::format("{:.9g}", toFloat(scalar.as<Float16>()[0]));
  case DType::I32:
    return fmt::format("{}", scalar.as<int32_t>()[0]);
  case DType::I64:
    return fmt::format("{}", scalar.as<int64_t>()[0]);
  case DType::I16:
    return fmt::format("{}", scalar.as<int16_t>()[0]);
  case DType::I8:
  case DType::Pred:
    return fmt::format("{}", static_cast<int>(scalar.as<int8_t>()[0]));
  }
  return "";
}

Result<std::vector<std::string>> Scalars::read(const Session &session) const {
  std::vector<std::string> values;
  for (const std::string &name : outputs) {
    WEFT_ASSIGN_OR_RETURN(const Array value, session.getOutput(name));
    values.push_back(digits(value));
  }
  return values;
}

static Status writeError(const std::string &path) {
  return unavailable(
      fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

/// A field of a CSV file as RFC 4180 has it.
static std::string csvField(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos)
    return text;
  std::string field = "\"";
  for (const char c : text)
    field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

/// A string of JSON.
static std::string quoted(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

std::string StepsFile::lineOf(int64_t step,
                              const std::vector<std::string> &values) const {
  if (!isJson)
    return fmt::format("{}{}{}\n", step, values.empty() ? "" : ",",
                       fmt::join(values, ","));
  std::string line = fmt::format("{{\"step\": {}", step);
  for (size_t i = 0; i < values.size(); ++i) {
    // JSON has neither infinities nor NaN.
    const bool isNumber =
        values[i].find_first_of("0123456789") != std::string::npos;
    line += fmt::format(", {}: {}", keys[i], isNumber ? values[i] : "null");
  }
  return line + "}\n";
}

/// Bytes of the header and of the lines of steps before `first` in a file of
/// such lines; nothing when it does not begin as this one would.
std::optional<uintmax_t> StepsFile::bytesBefore(std::istream &before,
                                                int64_t first) const {
  std::string line;
  uintmax_t bytes = 0;
  if (!isJson) {
    if (!std::getline(before, line) || before.eof() || line != header)
      return std::nullopt;
    bytes = line.size() + 1;
  }
  for (int64_t step = 0; step < first; ++step) {
    if (!std::getline(before, line) || before.eof())
      break;
    if (!line.starts_with(isJson ? fmt::format("{{\"step\": {},", step)
                                 : fmt::format("{},", step)))
      return isJson && step == 0 ? std::nullopt : std::optional(bytes);
    bytes += line.size() + 1;
  }
  return bytes;
}

Status StepsFile::open(const std::string &name,
                       const std::vector<std::string> &columns, int64_t first) {
  path = name;
  isJson = path.ends_with(".jsonl");
  header = "step";
  for (const std::string &column : columns) {
    header += "," + csvField(column);
    keys.push_back(quoted(column));
  }
  std::ifstream before(path, std::ios::binary);
  if (first > 0 && before.is_open()) {
    const auto kept = bytesBefore(before, first);
    if (!kept)
      return failedPrecondition(fmt::format(
          "{}: is not of this run: its first line is not {}; remove it, or "
          "give another file",
          path, isJson ? "that of step 0" : "\"" + header + "\""));
    std::error_code error;
    std::filesystem::resize_file(path, *kept, error);
    file.reset(error ? nullptr : std::fopen(path.c_str(), "ab"));
    return file ? Status() : writeError(path);
  }
  file.reset(std::fopen(path.c_str(), "wb"));
  if (!file)
    return writeError(path);
  return !isJson && std::fprintf(file.get(), "%s\n", header.c_str()) < 0
             ? writeError(path)
             : Status();
}

void StepsFile::write(int64_t step, const std::vector<std::string> &values) {
  if (!file || !failure.ok())
    return;
  const std::string line = lineOf(step, values);
  const bool isWritten =
      std::fwrite(line.data(), 1, line.size(), file.get()) == line.size() &&
      std::fflush(file.get()) == 0;
  if (!isWritten)
    failure = writeError(path);
}

Status StepsFile::close() {
  if (!file)
    return {};
  const bool isClosed = std::fclose(file.release()) == 0;
  if (failure.ok() && !isClosed)
    failure = writeError(path);
  return failure;
}

Progress::Progress(int64_t first, int64_t steps, bool quiet,
                   const Scalars &scalars, const Launch &launch)
    : first(first), steps(steps), quiet(quiet),
      isTerminal(launch.world == 1 && isatty(STDOUT_FILENO) == 1),
      isShowing(launch.rank == 0), scalars(scalars), begin(Clock::now()) {}

/// A failure shows in the state of the stream, which main() looks at.
static void print(const std::string &text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool Progress::wants(int64_t step) const {
  if (quiet)
    return false;
  if (step == first || step + 1 == steps)
    return true;
  if (isTerminal)
    return Clock::now() - lastDrawn > std::chrono::milliseconds(100);
  return (step + 1) % std::max<int64_t>(1, steps / 20) == 0;
}

void Progress::show(int64_t step, const std::vector<std::string> &values) {
  if (!isShowing)
    return;
  std::string line = fmt::format("step {}/{}", step + 1, steps);
  for (size_t i = 0; i < values.size(); ++i)
    line += fmt::format(" {} {}", printable(scalars.names()[i]), values[i]);
  if (!isTerminal) {
    print(line + "\n");
    return;
  }
  const double rate = (step + 1 - first) / std::max(seconds(), 1e-9);
  const auto left =
      std::chrono::seconds(static_cast<int64_t>((steps - step - 1) / rate));
  print(fmt::format("\r\x1b[K{}  {:.1f} steps/s  {:%H:%M:%S} left", line, rate,
                    left));
  lastDrawn = Clock::now();
}

void Progress::finish(int64_t done) {
  const int64_t made = done - first;
  if (quiet || made <= 0 || !isShowing)
    return;
  const double elapsed = seconds();
  print(fmt::format("{}{} {} in {:.3f} s ({:.1f} steps/s)\n",
                    isTerminal ? "\n" : "", made, made == 1 ? "step" : "steps",
                    elapsed, made / std::max(elapsed, 1e-9)));
}

} // namespace weft::tools
