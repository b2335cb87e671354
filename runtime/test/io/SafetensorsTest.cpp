//===- SafetensorsTest.cpp - Round trips, reference bytes, malformed files
//-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScratchDirectory.h"

#include "weft/runtime/OutputFiles.h"
#include "weft/runtime/Safetensors.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft::runtime;
using testing::HasSubstr;

namespace {

class Safetensors : public ScratchDirectory {
protected:
  static std::string withLength(const std::string &json,
                                const std::string &data) {
    std::string text;
    for (int byte = 0; byte < 8; ++byte)
      text += static_cast<char>(json.size() >> 8 * byte & 0xff);
    return text + json + data;
  }
  void expectRefused(const std::string &json, const std::string &data,
                     const std::string &message) {
    const std::string path = store("bad.safetensors", withLength(json, data));
    const Status status = SafetensorsFile::open(path).status();
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(), path + ": " + message);
  }
};

TEST_F(Safetensors, RoundTripsEveryType) {
  std::vector<Array> arrays;
  std::vector<NamedTensor> tensors;
  for (int type = 0; type < dtypeCount; ++type)
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {0, 4}, {3, 5}})
      arrays.push_back(countingArray(static_cast<DType>(type), shape));
  for (size_t i = 0; i < arrays.size(); ++i)
    tensors.push_back({"t" + std::to_string(i), arrays[i]});
  const Metadata metadata = {{"step", "100"}, {"note", "a \"quoted\" ü"}};
  ASSERT_EQ(writeSafetensors(file("x"), tensors, metadata), Status());

  const auto x = SafetensorsFile::open(file("x"));
  ASSERT_TRUE(x.ok()) << x.status().toString();
  EXPECT_EQ(x->metadata(), metadata);
  ASSERT_EQ(x->tensors().size(), tensors.size());
  EXPECT_TRUE(std::is_sorted(x->tensors().begin(), x->tensors().end(),
                             [](const TensorInfo &a, const TensorInfo &b) {
                               return a.name < b.name;
                             }));
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Result<Array> y = x->read(tensors[i].name);
    ASSERT_TRUE(y.ok()) << y.status().toString();
    expectEqual(*y, arrays[i]);
    const TensorInfo *info = x->find(tensors[i].name);
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->offset % byteSize(info->dtype), 0u);
  }
}

TEST_F(Safetensors, WritesTheBytesOfTheReference) {
  const Array w = countingArray(DType::BF16, {2}),
              b = countingArray(DType::F32, {1});
  const NamedTensor tensors[] = {{"w", w}, {"b", b}};
  ASSERT_EQ(writeSafetensors(file("x"), tensors), Status());
  std::string json =
      R"({"b":{"data_offsets":[0,4],"dtype":"F32","shape":[1]},)"
      R"("w":{"data_offsets":[4,8],"dtype":"BF16","shape":[2]}})";
  json.append((8 - json.size() % 8) % 8, ' ');
  EXPECT_EQ(load("x"), withLength(json, std::string("\0\1\2\3\0\1\2\3", 8)));
}

TEST_F(Safetensors, EqualTensorsGiveEqualFilesInWhateverOrder) {
  const Array a = countingArray(DType::I8, {3}),
              b = countingArray(DType::F64, {2}),
              c = countingArray(DType::F32, {});
  const NamedTensor forward[] = {{"a", a}, {"b", b}, {"c", c}};
  const NamedTensor backward[] = {{"c", c}, {"b", b}, {"a", a}};
  ASSERT_EQ(writeSafetensors(file("1"), forward), Status());
  ASSERT_EQ(writeSafetensors(file("2"), backward), Status());
  EXPECT_EQ(load("1"), load("2"));
}

TEST_F(Safetensors, ReadsIntoGivenMemory) {
  const Array w = countingArray(DType::F32, {2, 2});
  const NamedTensor tensors[] = {{"w", w}};
  ASSERT_EQ(writeSafetensors(file("x"), tensors), Status());
  const auto x = SafetensorsFile::open(file("x"));
  ASSERT_TRUE(x.ok());
  std::vector<std::byte> memory(16);
  EXPECT_EQ(x->readInto("w", memory), Status());
  EXPECT_EQ(memory, w.data);
  memory.resize(12);
  EXPECT_EQ(x->readInto("w", memory),
            invalidArgument(file("x") +
                            ": tensor 'w' has 16 bytes, the memory for it 12"));
  EXPECT_EQ(x->read("v").status(), notFound(file("x") + ": no tensor 'v'"));
}

TEST_F(Safetensors, RefusesMalformedHeaders) {
  expectRefused("[]", "", "the header is not a JSON object");
  expectRefused("{", "", "the header is not a JSON object");
  expectRefused(std::string(100000, '['), "",
                "the header is not a JSON object");
  expectRefused(R"({"a":{}})", "",
                "tensor 'a': must be an object with 'dtype', 'shape' and "
                "'data_offsets'");
  expectRefused(R"({"__metadata__":{"a":1}})", "",
                "'__metadata__' must be an object whose values are strings");
  const auto tensor = [](const std::string &dtype, const std::string &shape,
                         const std::string &offsets) {
    return "{\"dtype\":" + dtype + ",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
  };
  const auto one = [&](const std::string &dtype, const std::string &shape,
                       const std::string &offsets) {
    return "{\"a\":" + tensor(dtype, shape, offsets) + "}";
  };
  expectRefused(one("\"U8\"", "[1]", "[0,1]"), "a",
                "tensor 'a': the element type 'U8' is not one of F32, BF16, "
                "F16, F64, I32, I64, I8, I16, BOOL");
  expectRefused(one("3", "[1]", "[0,1]"), "a",
                "tensor 'a': 'dtype' must be a string");
  for (const char *shape :
       {"[-1]", "[1.0]", "[\"1\"]", "[18446744073709551615]", "{}"})
    expectRefused(one("\"I8\"", shape, "[0,1]"), "a",
                  "tensor 'a': 'shape' must be a list of whole numbers from 0 "
                  "to 2^63 - 1");
  for (const char *offsets : {"[1,0]", "[0]", "[0,1,1]"})
    expectRefused(one("\"I8\"", "[1]", offsets), "a",
                  "tensor 'a': 'data_offsets' must be a begin and an end");
  expectRefused(one("\"F32\"", "[4611686018427387904,2]", "[0,1]"), "a",
                "tensor 'a': the shape has more than 2^63 bytes");
  expectRefused(one("\"F32\"", "[2]", "[0,4]"), "abcd",
                "tensor 'a': its type and shape need 8 bytes, 'data_offsets' "
                "give it 4");
  expectRefused(one("\"I8\"", "[2]", "[0,2]"), "abc",
                "the tensors have 2 bytes, but the file has 3 bytes of data");
  expectRefused(one("\"I8\"", "[2]", "[0,2]"), "a",
                "the tensors have 2 bytes, but the file has 1 bytes of data");
  const std::string i8 = "\"I8\"";
  expectRefused("{\"a\":" + tensor(i8, "[2]", "[0,2]") +
                    ",\"b\":" + tensor(i8, "[2]", "[1,3]") + "}",
                "abc",
                "tensor 'b' starts at byte 1 of the data, but the one before "
                "it ends at 2");
  expectRefused("{\"a\":" + tensor(i8, "[1]", "[0,1]") +
                    ",\"b\":" + tensor(i8, "[1]", "[2,3]") + "}",
                "abc",
                "tensor 'b' starts at byte 2 of the data, but the one before "
                "it ends at 1");
  expectRefused("{\"a\":" + tensor(i8, "[1]", "[0,1]") +
                    ",\"a\":" + tensor(i8, "[1]", "[0,1]") + "}",
                "a", "the header has the name 'a' twice");
}

TEST_F(Safetensors, RefusesMalformedLengths) {
  EXPECT_THAT(SafetensorsFile::open(store("x", "1234567")).status().message(),
              HasSubstr("the file has 7 bytes, too few"));
  EXPECT_THAT(SafetensorsFile::open(store("x", std::string(8, '\xff')))
                  .status()
                  .message(),
              HasSubstr("the header has 18446744073709551615 bytes, but the "
                        "file has 8 and the limit is 100000000"));
}

TEST_F(Safetensors, SurvivesDamage) {
  const Array w = countingArray(DType::BF16, {2, 3}),
              b = countingArray(DType::Pred, {4});
  const NamedTensor tensors[] = {{"w", w}, {"b", b}};
  ASSERT_EQ(writeSafetensors(file("x"), tensors, {{"k", "v"}}), Status());
  const std::string whole = load("x");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(
        SafetensorsFile::open(store("cut", whole.substr(0, length))).ok());
  std::mt19937 random(11);
  for (int run = 0; run < 3000; ++run) {
    std::string damaged = whole;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto x = SafetensorsFile::open(store("damaged", damaged));
    if (!x.ok())
      continue;
    for (const TensorInfo &info : x->tensors()) {
      const Result<Array> y = x->read(info.name);
      if (y.ok())
        EXPECT_EQ(y->bytes(), info.bytes);
      else
        EXPECT_EQ(info.dtype, DType::Pred) << y.status().toString();
    }
  }
}

TEST_F(Safetensors, RefusesBadNames) {
  const Array x = countingArray(DType::F32, {});
  const NamedTensor twice[] = {{"a", x}, {"a", x}};
  EXPECT_EQ(writeSafetensors(file("x"), twice),
            invalidArgument(file("x") + ": two tensors have the name 'a'"));
  const NamedTensor reserved[] = {{"__metadata__", x}};
  EXPECT_EQ(writeSafetensors(file("x"), reserved),
            invalidArgument(file("x") +
                            ": a tensor cannot have the name '__metadata__'"));
  const NamedTensor binary[] = {{"\xff", x}};
  EXPECT_EQ(writeSafetensors(file("x"), binary),
            invalidArgument(file("x") +
                            ": a name or a metadata string is not UTF-8"));
  EXPECT_EQ(fileCount(), 0);
}

TEST_F(Safetensors, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const Array small = countingArray(DType::F32, {4});
  const Array large = countingArray(DType::F32, {1 << 20});
  const NamedTensor old[] = {{"w", small}}, next[] = {{"w", large}};
  ASSERT_EQ(writeSafetensors(file("x"), old), Status());
  const std::string before = load("x");

  // A limit on file sizes stands for a full disk.
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit tight{1 << 16, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = writeSafetensors(file("x"), next);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);

  EXPECT_EQ(status, resourceExhausted(
                        file("x") + ": cannot write the file: File too large"));
  EXPECT_EQ(load("x"), before);
  EXPECT_EQ(fileCount(), 1);
  ASSERT_EQ(writeSafetensors(file("x"), next), Status());
  EXPECT_NE(load("x"), before);
  EXPECT_EQ(fileCount(), 1);
}

TEST_F(Safetensors, AFileCutAfterOpeningIsAnError) {
  const Array w = countingArray(DType::F32, {4});
  const NamedTensor tensors[] = {{"w", w}};
  ASSERT_EQ(writeSafetensors(file("x"), tensors), Status());
  const auto x = SafetensorsFile::open(file("x"));
  ASSERT_TRUE(x.ok());
  std::filesystem::resize_file(file("x"), x->find("w")->offset + 6);
  const Status status = x->read("w").status();
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_THAT(status.message(), HasSubstr("10 bytes early"));
}

TEST_F(Safetensors, SlicesOfATensor) {
  const Array w = countingArray(DType::BF16, {3, 2});
  const NamedTensor tensors[] = {{"w", w}};
  ASSERT_EQ(writeSafetensors(file("x"), tensors), Status());
  const auto x = SafetensorsFile::open(file("x"));
  ASSERT_TRUE(x.ok());
  const auto slice = x->readSlice("w", 1);
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->shape, std::vector<int64_t>{2});
  EXPECT_TRUE(
      std::equal(slice->data.begin(), slice->data.end(), w.data.begin() + 4));
  EXPECT_THAT(x->readSlice("w", 3).status().message(),
              HasSubstr("the slice must be one of 0 to 2, got 3"));
}

TEST_F(Safetensors, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(SafetensorsFile::open(file("pipe")).status(),
            invalidArgument(file("pipe") + ": not a regular file"));
  EXPECT_EQ(SafetensorsFile::open("/dev/zero").status(),
            invalidArgument("/dev/zero: not a regular file"));
}

TEST_F(Safetensors, ALinkStaysAndItsTargetIsWritten) {
  const Array w = countingArray(DType::F32, {4});
  const NamedTensor tensors[] = {{"w", w}};
  std::filesystem::create_directory(directory / "steps");
  std::filesystem::create_symlink("steps/last", file("link"));
  std::filesystem::create_symlink("link", file("second"));
  // Whether what it links to exists or not.
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(writeSafetensors(file("second"), tensors), Status());
    EXPECT_TRUE(std::filesystem::is_symlink(file("second")));
    EXPECT_TRUE(std::filesystem::is_symlink(file("link")));
    EXPECT_TRUE(SafetensorsFile::open(file("steps/last")).ok());
    EXPECT_EQ(fileCount(), 3);
  }
  std::filesystem::create_symlink("loop", file("loop"));
  EXPECT_EQ(writeSafetensors(file("loop"), tensors).message(),
            file("loop") + ": cannot create the file: Too many levels of "
                           "symbolic links");
}

TEST_F(Safetensors, WhatCannotBeReplacedIsWritten) {
  const Array w = countingArray(DType::F32, {4});
  const NamedTensor tensors[] = {{"w", w}};
  EXPECT_EQ(writeSafetensors("/dev/null", tensors), Status());
  EXPECT_EQ(writeSafetensors("/dev/full", tensors).message(),
            "/dev/full: cannot write the file: No space left on device");
  EXPECT_EQ(writeSafetensors(directory.string(), tensors).message(),
            directory.string() + ": it is a folder");
}

TEST_F(Safetensors, ASignalRemovesWhatIsUnfinished) {
  const pid_t child = fork();
  if (child == 0) {
    removeUnfinishedFilesOnSignals();
    const Array w = countingArray(DType::F32, {1 << 20});
    const NamedTensor tensors[] = {{"w", w}};
    while (writeSafetensors(file("x"), tensors).ok()) {
    }
    _exit(1);
  }
  // After the first file there is nearly always an unfinished one.
  while (!std::filesystem::exists(file("x")))
    ::usleep(1000);
  ASSERT_EQ(::kill(child, SIGTERM), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_EQ(fileCount(), 1);
}

} // namespace
