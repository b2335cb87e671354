//===- AttributeConversionTest.cpp - Attributes and algebra ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DialectFixture.h"

#include "gmock/gmock.h"

using namespace mlir;
using namespace weft;
using sharding::AxisList;
using sharding::Mesh;
using sharding::Reduction;
using sharding::Sharding;
using testing::ElementsAre;

namespace {

class AttributeConversion : public DialectFixture {
protected:
  Mesh mesh{{{"a", 2}, {"b", 8}}};

  ShardingAttr parseSharding(llvm::StringRef text) {
    return cast<ShardingAttr>(parseAttribute(text, &context));
  }
  std::vector<std::string> problemsOf(ShardingAttr attr) {
    std::vector<std::string> problems;
    FailureOr<Sharding> sharding = attr.toSharding(
        mesh, [&](const Twine &text) { problems.push_back(text.str()); });
    EXPECT_EQ(failed(sharding), !problems.empty());
    return problems;
  }
};

TEST_F(AttributeConversion, MeshThereAndBack) {
  MeshAttr attr = MeshAttr::get(&context, mesh);
  EXPECT_EQ(print(attr), R"(#weft.mesh<["a"=2, "b"=8]>)");
  EXPECT_EQ(attr.toMesh(), mesh);
}

TEST_F(AttributeConversion, ShardingThereAndBack) {
  for (llvm::StringRef text :
       {R"(#weft.sharding<@mesh, []>)",
        R"(#weft.sharding<@mesh, [{"a", "b"}, {?}, {}]>)",
        R"(#weft.sharding<@mesh, [{"b":(2)4, ?}p1], replicated={"a"}>)",
        R"(#weft.sharding<@mesh, [{"a"}p0], unreduced=max{"b":(1)2}>)"}) {
    ShardingAttr attr = parseSharding(text);
    FailureOr<Sharding> sharding = attr.toSharding(mesh);
    ASSERT_TRUE(succeeded(sharding));
    EXPECT_EQ(ShardingAttr::get(&context, symbol, mesh, *sharding), attr);
    EXPECT_EQ(print(attr), text);
  }
}

TEST_F(AttributeConversion, ShardingHasTheValuesOfItsText) {
  FailureOr<Sharding> sharding =
      parseSharding(
          R"(#weft.sharding<@mesh, [{"b":(2)4, ?}p1, {}], unreduced=min{"a"}>)")
          .toSharding(mesh);
  ASSERT_TRUE(succeeded(sharding));
  ASSERT_EQ(sharding->dims.size(), 2u);
  EXPECT_EQ(sharding->dims[0].axes, AxisList({{1, 2, 4}}));
  EXPECT_FALSE(sharding->dims[0].closed);
  EXPECT_EQ(sharding->dims[0].priority, 1);
  EXPECT_TRUE(sharding->dims[1].closed);
  EXPECT_EQ(sharding->unreduced, AxisList({{0, 1, 2}}));
  EXPECT_EQ(sharding->unreducedKind, Reduction::Min);
}

/// The kind of a reduction over no axes has no spelling.
TEST_F(AttributeConversion, KindOfNothingUnreducedIsSum) {
  Sharding sharding = Sharding::closed(1);
  sharding.unreducedKind = Reduction::Max;
  EXPECT_EQ(ShardingAttr::get(&context, symbol, mesh, sharding),
            ShardingAttr::getClosed(symbol, 1));
}

TEST_F(AttributeConversion, OpenAndClosed) {
  EXPECT_EQ(print(ShardingAttr::getOpen(symbol, 2)),
            "#weft.sharding<@mesh, [{?}, {?}]>");
  EXPECT_EQ(print(ShardingAttr::getClosed(symbol, 1)),
            "#weft.sharding<@mesh, [{}]>");
}

TEST_F(AttributeConversion, UnknownAxesAreAllReported) {
  EXPECT_THAT(
      problemsOf(parseSharding(
          R"(#weft.sharding<@mesh, [{"c"}], replicated={"d"}, unreduced={"e"}>)")),
      ElementsAre(R"(unknown axis "c"; the mesh has "a", "b")",
                  R"(unknown axis "d"; the mesh has "a", "b")",
                  R"(unknown axis "e"; the mesh has "a", "b")"));
}

TEST_F(AttributeConversion, NearestNameIsOffered) {
  mesh = Mesh({{"data", 2}, {"model", 8}});
  EXPECT_THAT(
      problemsOf(parseSharding(R"(#weft.sharding<@mesh, [{"modle"}]>)")),
      ElementsAre(R"(unknown axis "modle"; the mesh has "data", "model"; )"
                  R"(did you mean "model"?)"));
  mesh = Mesh();
  EXPECT_THAT(problemsOf(parseSharding(R"(#weft.sharding<@mesh, [{"x"}]>)")),
              ElementsAre(R"(unknown axis "x"; the mesh has no axes)"));
}

TEST_F(AttributeConversion, AxesThereAndBack) {
  AxisList axes{{1, 2, 4}, {0, 1, 2}};
  AxesAttr attr = AxesAttr::get(&context, symbol, mesh, axes);
  EXPECT_EQ(print(attr), R"(#weft.axes<@mesh, {"b":(2)4, "a"}>)");
  FailureOr<AxisList> back = attr.toAxes(mesh);
  ASSERT_TRUE(succeeded(back));
  EXPECT_EQ(*back, axes);
  EXPECT_TRUE(failed(attr.toAxes(Mesh({{"a", 2}}))));
}

} // namespace
