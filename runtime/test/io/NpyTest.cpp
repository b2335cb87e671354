//===- NpyTest.cpp - Round trips, NumPy's bytes, malformed files ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScratchDirectory.h"

#include "weft/runtime/Npy.h"

#include <gmock/gmock.h>

#include <random>

using namespace weft::runtime;
using testing::HasSubstr;

namespace {

class Npy : public ScratchDirectory {
protected:
  /// A file with the given dictionary and data; `major` is the version.
  std::string npy(const std::string &dictionary, const std::string &data,
                  int major = 1) const {
    std::string text = "\x93NUMPY";
    text += static_cast<char>(major);
    text += '\0';
    const size_t length = dictionary.size();
    for (int byte = 0; byte < (major == 1 ? 2 : 4); ++byte)
      text += static_cast<char>(length >> 8 * byte & 0xff);
    return text + dictionary + data;
  }
  /// Expects a file of these bytes to be refused with this message.
  void expectRefused(const std::string &bytes, const std::string &message) {
    const std::string path = store("bad.npy", bytes);
    const Status status = readNpy(path).status();
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(), path + ": " + message);
  }
};

TEST_F(Npy, RoundTrips) {
  for (DType dtype : {DType::F32, DType::F64, DType::F16, DType::I32,
                      DType::I64, DType::I16, DType::I8, DType::Pred})
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {0}, {7}, {3, 0, 2}, {2, 3, 5}}) {
      const Array x = countingArray(dtype, shape);
      ASSERT_EQ(writeNpy(file("x.npy"), x), Status());
      const Result<Array> y = readNpy(file("x.npy"));
      ASSERT_TRUE(y.ok()) << y.status().toString();
      expectEqual(*y, x);
    }
  EXPECT_EQ(fileCount(), 1);
}

TEST_F(Npy, WritesTheBytesOfNumPy) {
  Array x(DType::F32, {2, 3});
  for (int i = 0; i < 6; ++i)
    x.as<float>()[i] = static_cast<float>(i);
  ASSERT_EQ(writeNpy(file("x.npy"), x), Status());
  // numpy.save of numpy.arange(6, dtype="f4").reshape(2, 3)
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.append(58, ' ');
  expected += '\n';
  expected += std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80"
                          "\x40\0\0\xa0\x40",
                          24);
  EXPECT_EQ(load("x.npy"), expected);
}

TEST_F(Npy, ReadsVersionsTwoAndThreeAndOtherSpellings) {
  for (int version : {1, 2, 3}) {
    const auto x = readNpy(store(
        "x.npy", npy("{\"shape\":(2 , ),'descr':'|i1','fortran_order':True}\n",
                     "ab", version)));
    ASSERT_TRUE(x.ok()) << x.status().toString();
    EXPECT_EQ(x->shape, std::vector<int64_t>{2});
    EXPECT_EQ(x->as<char>()[1], 'b');
  }
}

TEST_F(Npy, ReadsOneSliceOfAStack) {
  const Array x = countingArray(DType::I32, {4, 2, 3});
  ASSERT_EQ(writeNpy(file("x.npy"), x), Status());
  const Result<NpyReader> reader = NpyReader::open(file("x.npy"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->dtype(), DType::I32);
  EXPECT_EQ(reader->shape(), (std::vector<int64_t>{4, 2, 3}));
  for (int step = 0; step < 4; ++step) {
    const Result<Array> slice = reader->readSlice(step);
    ASSERT_TRUE(slice.ok());
    EXPECT_EQ(slice->shape, (std::vector<int64_t>{2, 3}));
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(slice->as<int32_t>()[i], x.as<int32_t>()[step * 6 + i]);
  }
  EXPECT_EQ(reader->readSlice(4).status().message(),
            file("x.npy") + ": the slice must be one of 0 to 3, got 4");
  EXPECT_EQ(reader->readSlice(-1).status().code(), StatusCode::InvalidArgument);
  ASSERT_EQ(writeNpy(file("s.npy"), Array(DType::F32, {})), Status());
  EXPECT_EQ(NpyReader::open(file("s.npy"))->readSlice(0).status().message(),
            file("s.npy") + ": a scalar has no slices");
}

TEST_F(Npy, ConvertsBigEndianAndFortranOrder) {
  // numpy.arange(6).reshape(1, 2, 3)
  for (bool isFortran : {false, true}) {
    std::string data;
    for (int i = 0; i < 6; ++i)
      data += std::string(3, '\0') +
              static_cast<char>(isFortran ? i / 2 + i % 2 * 3 : i);
    const std::string order = isFortran ? "True" : "False";
    const auto reader = NpyReader::open(
        store("x.npy", npy("{'descr': '>i4', 'fortran_order': " + order +
                               ", 'shape': (1, 2, 3), }",
                           data)));
    ASSERT_TRUE(reader.ok()) << reader.status().toString();
    for (const Result<Array> &x : {reader->read(), reader->readSlice(0)}) {
      ASSERT_TRUE(x.ok()) << x.status().toString();
      for (int i = 0; i < 6; ++i)
        EXPECT_EQ(x->as<int32_t>()[i], i);
    }
  }
  const auto bytes = NpyReader::open(store(
      "x.npy", npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }",
                   std::string("\0\3\1\4\2\5", 6))));
  ASSERT_TRUE(bytes.ok()) << bytes.status().toString();
  const Result<Array> row = bytes->readSlice(1);
  ASSERT_TRUE(row.ok()) << row.status().toString();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(row->as<int8_t>()[i], 3 + i);
  const auto half = readNpy(store(
      "x.npy", npy("{'descr': '>f8', 'fortran_order': False, 'shape': (), }",
                   std::string("\x3f\xe0\0\0\0\0\0\0", 8))));
  ASSERT_TRUE(half.ok()) << half.status().toString();
  EXPECT_EQ(half->as<double>()[0], 0.5);
}

TEST_F(Npy, ExplainsWhatItCannotRead) {
  const std::string order = "'fortran_order': False, ";
  expectRefused(npy("{'descr': '<V2', " + order + "'shape': (), }", "ab"),
                "the elements are raw bytes ('<V2'); NumPy has no bfloat16, "
                "save such arrays as .safetensors");
  expectRefused(
      npy("{'descr': '<c8', " + order + "'shape': (), }", "abcdefgh"),
      "the element type '<c8' is not one of f4, f8, f2, i4, i8, i2, i1, "
      "b1");
  expectRefused(
      npy("{'descr': [('a', '<f4')], " + order + "'shape': (), }", "abcd"),
      "the elements are records; save each field as an array of its own");
  expectRefused(npy("{'descr': '|b1', " + order + "'shape': (2,), }",
                    std::string("\1\2", 2)),
                "a boolean must be 0 or 1, got 2 at byte 68");
}

TEST_F(Npy, RefusesMalformedFiles) {
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  expectRefused("", "the file has 0 bytes, too few for an .npy file");
  expectRefused("\x93NUMPX\1_______", "the file does not start as an .npy file "
                                      "does");
  expectRefused(npy(good, "abcd", 4),
                "the file has .npy version 4.0, known are 1 to 3");
  expectRefused(std::string("\x93NUMPY\1\0\xff\xff{}", 12),
                "the header has 65535 bytes, but the file has 12 and the limit "
                "is 1048576");
  expectRefused(npy(good, "abc"),
                "the header promises 4 bytes of data, the file has 3");
  expectRefused(npy(good, "abcde"),
                "the header promises 4 bytes of data, the file has 5");
  const std::string start = "{'descr': '<f4', 'fortran_order': False, ";
  expectRefused(npy(start + "'shape': (-1,), }", ""),
                "the header is malformed: expected an extent of 0 to 2^63 - 1 "
                "at its character 51");
  expectRefused(npy(start + "'shape': (9223372036854775807, 4), }", ""),
                "the shape has more than 2^63 bytes");
  // The empty extent must not hide the overflow of the others.
  expectRefused(npy(start + "'shape': (0, 9223372036854775807, 4), }", ""),
                "the shape has more than 2^63 bytes");
  expectRefused(npy(start + "}", ""),
                "the header is malformed: it must have the keys 'descr', "
                "'fortran_order' and 'shape'");
  expectRefused(npy(start + "'descr': '<f4'}", ""),
                "the header is malformed: unknown or repeated key 'descr'");
  expectRefused(npy(good + "x", "abcd"),
                "the header is malformed: expected nothing but spaces at its "
                "character 57");
}

TEST_F(Npy, SurvivesDamage) {
  ASSERT_EQ(writeNpy(file("x.npy"), countingArray(DType::F32, {5, 3})),
            Status());
  const std::string whole = load("x.npy");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(readNpy(store("cut.npy", whole.substr(0, length))).ok());
  // Whatever is accepted has the size that its header promises.
  std::mt19937 random(7);
  int accepted = 0;
  for (int run = 0; run < 3000; ++run) {
    std::string damaged = whole;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % 128] = static_cast<char>(random());
    const Result<Array> x = readNpy(store("damaged.npy", damaged));
    if (!x.ok())
      continue;
    ++accepted;
    EXPECT_LE(x->bytes(), damaged.size());
    EXPECT_EQ(x->bytes(), x->size() * byteSize(x->dtype));
  }
  EXPECT_LT(accepted, 2000);
}

TEST_F(Npy, ReportsFilesThatCannotBeOpenedOrWritten) {
  EXPECT_EQ(readNpy(file("none.npy")).status(),
            notFound(file("none.npy") +
                     ": cannot open the file: No such file or directory"));
  EXPECT_EQ(readNpy(directory.string()).status(),
            invalidArgument(directory.string() + ": not a regular file"));
  EXPECT_EQ(writeNpy(file("b.npy"), Array(DType::BF16, {2})),
            invalidArgument(file("b.npy") +
                            ": NumPy has no bf16; write a .safetensors file, "
                            "or convert the values to f32"));
  EXPECT_EQ(writeNpy(directory.string(), Array(DType::F32, {})),
            invalidArgument(directory.string() + ": it is a folder"));
  const Status status = writeNpy(file("no/x.npy"), Array(DType::F32, {}));
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  EXPECT_THAT(status.message(), HasSubstr("cannot create the file"));
  EXPECT_EQ(fileCount(), 0);
}

} // namespace
