//===- ScratchDirectory.h - A directory of one test -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_IO_SCRATCHDIRECTORY_H
#define WEFT_RUNTIME_TEST_IO_SCRATCHDIRECTORY_H

#include "../PrintStatus.h"
#include "weft/runtime/Array.h"
#include "weft/runtime/Status.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::runtime {

/// A fixture with an empty directory, removed afterwards.
class ScratchDirectory : public testing::Test {
protected:
  ScratchDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "weft-io-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
  }
  ~ScratchDirectory() override { std::filesystem::remove_all(directory); }

  std::string file(const std::string &name) const {
    return (directory / name).string();
  }
  /// Writes `bytes` to a file and returns its path.
  std::string store(const std::string &name, std::string_view bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  std::string load(const std::string &name) const {
    std::ifstream stream(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// The number of files in the directory.
  int64_t fileCount() const {
    return std::distance(std::filesystem::directory_iterator(directory), {});
  }

  std::filesystem::path directory;
};

/// An array whose bytes count up; booleans alternate.
inline Array countingArray(DType dtype, std::vector<int64_t> shape) {
  Array array(dtype, std::move(shape));
  for (size_t i = 0; i < array.data.size(); ++i)
    array.data[i] = static_cast<std::byte>(dtype == DType::Pred ? i % 2 : i);
  return array;
}

inline void expectEqual(const Array &a, const Array &b) {
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.data, b.data);
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_IO_SCRATCHDIRECTORY_H
