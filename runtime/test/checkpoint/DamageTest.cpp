//===- DamageTest.cpp - Damaged checkpoints -------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever happens to a file, no damaged tensor is ever read, and the message
// names the file and the tensors.
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cctype>

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Damage : ScratchDirectory {
  Damage() {
    tensors = {{"a", countingArray(DType::F32, {4, 3})},
               {"b", countingArray(DType::BF16, {5})},
               {"c", countingArray(DType::Pred, {6})},
               {"d", countingArray(DType::I64, {2})}};
    CheckpointOptions options;
    options.fileBytes = 64;
    EXPECT_EQ(writeCheckpoint(file("run"), tensors, 1, options), Status());
  }
  std::string inside(const std::string &name) const {
    return "run/step-00000001/" + name;
  }
  Status read() const {
    const auto found = readAll(file("run/step-00000001"));
    if (found.ok())
      expectEqual(found, tensors);
    return found.status();
  }

  Tensors tensors;
  const std::string first = "model-00001-of-00002.safetensors";
  const std::string second = "model-00002-of-00002.safetensors";
};

TEST_F(Damage, Missing) {
  std::filesystem::remove(file(inside(first)));
  EXPECT_THAT(read().message(),
              AllOf(HasSubstr(inside(first) +
                              ": the file is missing; it has tensors \"a\", "
                              "\"b\", \"c\""),
                    Not(HasSubstr(second))));
  // All at once.
  std::filesystem::remove(file(inside(second)));
  EXPECT_THAT(read().message(),
              AllOf(HasSubstr(first),
                    HasSubstr(inside(second) + ": the file is missing; it has "
                                               "tensor \"d\"")));
}

TEST_F(Damage, Truncated) {
  const std::string text = load(inside(second));
  store(inside(second), text.substr(0, text.size() - 1));
  EXPECT_THAT(
      read().message(),
      HasSubstr(fmt::format("{}: the file has {} bytes, and had {} "
                            "when it was written; it has tensor \"d\"",
                            inside(second), text.size() - 1, text.size())));
  store(inside(second), text + "x");
  EXPECT_THAT(read().message(), HasSubstr(inside(second)));
}

TEST_F(Damage, FlippedData) {
  std::string text = load(inside(first));
  text[text.size() - 40] ^= 1;
  store(inside(first), text);
  EXPECT_THAT(read().message(),
              HasSubstr(inside(first) +
                        ": tensor \"a\" has changed since the file was "
                        "written"));
}

TEST_F(Damage, FlippedBoolean) {
  std::string text = load(inside(first));
  text.back() ^= 0x40;
  store(inside(first), text);
  EXPECT_THAT(read().message(),
              AllOf(HasSubstr(inside(first) +
                              ": a boolean must be 0 or 1, got 65 at byte"),
                    HasSubstr("; it is of tensor \"c\"")));
}

TEST_F(Damage, FlippedHeader) {
  std::string text = load(inside(first));
  text[text.find("F32") + 1] = '6';
  store(inside(first), text);
  EXPECT_THAT(read().message(),
              HasSubstr(inside(first) +
                        ": the header of the file has changed since it was "
                        "written; it has tensors \"a\", \"b\", \"c\""));
}

TEST_F(Damage, Description) {
  const std::string name = inside("checkpoint.json");
  std::string text = load(name);
  text.replace(text.find("\"step\": 1"), 9, "\"step\": 2");
  store(name, text);
  EXPECT_THAT(read().message(),
              HasSubstr(name + ": its contents have changed since it was "
                               "written"));
  store(name, "{}");
  EXPECT_THAT(read().message(),
              HasSubstr(name + ": it is no description of a checkpoint"));
  std::filesystem::remove(file(name));
  EXPECT_THAT(read().message(),
              HasSubstr(name + ": cannot open the file: No such file"));
}

TEST_F(Damage, Index) {
  const std::string name = inside("model.safetensors.index.json");
  store(name, load(name) + " ");
  EXPECT_THAT(read().message(),
              HasSubstr(name + ": the file has changed since it was written"));
}

/// One bit of every third byte of any file, and a file that ends in front of
/// it.
TEST_F(Damage, NothingGoesUnnoticed) {
  for (const auto &entry :
       std::filesystem::directory_iterator(file("run/step-00000001"))) {
    const std::string name = inside(entry.path().filename().string());
    const std::string text = load(name);
    for (size_t i = 0; i < text.size(); i += 3) {
      std::string damaged = text;
      damaged[i] ^= static_cast<char>(1 << i % 8);
      store(name, damaged);
      const Status flipped = read();
      // White space of the description has no meaning.
      if (flipped.ok())
        EXPECT_TRUE(name.ends_with("checkpoint.json") &&
                    std::isspace(static_cast<unsigned char>(text[i])))
            << name << " byte " << i;
      store(name, text.substr(0, i));
      EXPECT_FALSE(read().ok() && i + 1 < text.size()) << name << " " << i;
    }
    store(name, text);
  }
  EXPECT_EQ(read(), Status());
}

} // namespace
} // namespace weft::runtime
