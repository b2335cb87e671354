//===- ShardyAttributes.cpp - Meshes and shardings of Shardy --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardyAttributes.h"
#include "Scanner.h"

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

namespace {
/// Recursive descent. Every function says whether what it reads was there.
class ShardyParser {
public:
  ShardyParser(StringRef text, MLIRContext *context)
      : scanner(text), context(context) {}

  bool mesh(ShardyMesh &mesh);
  bool sharding(ShardySharding &sharding);

  bool consume(StringRef token) { return scanner.consume(token); }
  bool atEnd() { return scanner.atEnd(); }

private:
  bool axis(SmallVectorImpl<AxisRefAttr> &axes);
  bool axisList(SmallVectorImpl<AxisRefAttr> &axes);
  bool dim(SmallVectorImpl<DimShardingAttr> &dims);
  bool trailing(ShardySharding &sharding);

  Scanner scanner;
  MLIRContext *context;
};
} // namespace

/// `<["data"=4, "model"=2], device_ids=[1, 0]>`
bool ShardyParser::mesh(ShardyMesh &mesh) {
  if (!consume("<") || !consume("["))
    return false;
  if (!consume("]")) {
    do {
      std::optional<std::string> name = scanner.string();
      if (!name || !consume("="))
        return false;
      std::optional<int64_t> size = scanner.integer();
      if (!size)
        return false;
      mesh.axes.push_back(MeshAxisAttr::get(context, *name, *size));
    } while (consume(","));
    if (!consume("]"))
      return false;
  }
  if (consume(",")) {
    if (!consume("device_ids") || !consume("="))
      return false;
    std::optional<SmallVector<int64_t>> ids = scanner.integers();
    if (!ids)
      return false;
    mesh.deviceIds = *ids;
  }
  return consume(">");
}

/// `"data"` or `"data":(1)2`
bool ShardyParser::axis(SmallVectorImpl<AxisRefAttr> &axes) {
  std::optional<std::string> name = scanner.string();
  if (!name)
    return false;
  if (!consume(":")) {
    axes.push_back(AxisRefAttr::get(context, *name));
    return true;
  }
  if (!consume("("))
    return false;
  std::optional<int64_t> pre = scanner.integer();
  if (!pre || !consume(")"))
    return false;
  std::optional<int64_t> size = scanner.integer();
  if (!size || *pre < 1 || *size < 1)
    return false;
  axes.push_back(AxisRefAttr::get(context, *name, *pre, *size));
  return true;
}

/// `{"a", "b"}`
bool ShardyParser::axisList(SmallVectorImpl<AxisRefAttr> &axes) {
  if (!consume("{"))
    return false;
  if (consume("}"))
    return true;
  do {
    if (!axis(axes))
      return false;
  } while (consume(","));
  return consume("}");
}

/// `{"a", ?}p1`
bool ShardyParser::dim(SmallVectorImpl<DimShardingAttr> &dims) {
  SmallVector<AxisRefAttr> axes;
  bool closed = true;
  if (!consume("{"))
    return false;
  if (!consume("}")) {
    do {
      if (!closed)
        return false;
      if (consume("?"))
        closed = false;
      else if (!axis(axes))
        return false;
    } while (consume(","));
    if (!consume("}"))
      return false;
  }
  std::optional<int64_t> priority;
  if (consume("p") && !(priority = scanner.integer()))
    return false;
  dims.push_back(DimShardingAttr::get(context, axes, closed, priority));
  return true;
}

/// `, replicated={"a"}, unreduced=max{"b"}`
bool ShardyParser::trailing(ShardySharding &sharding) {
  while (consume(",")) {
    if (consume("replicated")) {
      if (!consume("=") || !axisList(sharding.replicated))
        return false;
      continue;
    }
    if (!consume("unreduced") || !consume("="))
      return false;
    if (std::optional<StringRef> word = scanner.word()) {
      std::optional<sharding::Reduction> kind = symbolizeReduction(*word);
      if (!kind)
        return false;
      sharding.unreducedKind = *kind;
    }
    if (!axisList(sharding.unreduced))
      return false;
  }
  return true;
}

/// `<@mesh, [{"data"}, {}], replicated={"x"}>`
bool ShardyParser::sharding(ShardySharding &sharding) {
  if (!consume("<"))
    return false;
  if (consume("@")) {
    std::optional<std::string> name = scanner.string();
    if (!name) {
      std::optional<StringRef> word = scanner.word();
      if (!word)
        return false;
      name = word->str();
    }
    sharding.meshName = *name;
  } else if (!consume("mesh") || !mesh(sharding.mesh)) {
    return false;
  }
  if (!consume(",") || !consume("["))
    return false;
  if (!consume("]")) {
    do {
      if (!dim(sharding.dims))
        return false;
    } while (consume(","));
    if (!consume("]"))
      return false;
  }
  return trailing(sharding) && consume(">");
}

/// A parser behind the mnemonic of an attribute of sdy; none if it is another.
static std::optional<ShardyParser> parserOf(Attribute attr,
                                            StringRef mnemonic) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(attr);
  if (!opaque || opaque.getDialectNamespace() != "sdy")
    return std::nullopt;
  StringRef text = opaque.getAttrData();
  if (!text.consume_front(mnemonic) || !text.starts_with("<"))
    return std::nullopt;
  return ShardyParser(text, attr.getContext());
}

std::optional<ShardyMesh> weft::stablehlo::readMesh(Attribute attr) {
  ShardyMesh mesh;
  std::optional<ShardyParser> parser = parserOf(attr, "mesh");
  if (!parser || !parser->mesh(mesh) || !parser->atEnd())
    return std::nullopt;
  return mesh;
}

std::optional<ShardySharding> weft::stablehlo::readSharding(Attribute attr) {
  ShardySharding sharding;
  std::optional<ShardyParser> parser = parserOf(attr, "sharding");
  if (!parser || !parser->sharding(sharding) || !parser->atEnd())
    return std::nullopt;
  return sharding;
}

std::optional<std::vector<ShardySharding>>
weft::stablehlo::readShardings(Attribute attr) {
  std::vector<ShardySharding> shardings;
  if (std::optional<ShardySharding> single = readSharding(attr)) {
    shardings.push_back(*single);
    return shardings;
  }
  std::optional<ShardyParser> parser = parserOf(attr, "sharding_per_value");
  if (!parser || !parser->consume("<") || !parser->consume("["))
    return std::nullopt;
  if (!parser->consume("]")) {
    do {
      if (!parser->sharding(shardings.emplace_back()))
        return std::nullopt;
    } while (parser->consume(","));
    if (!parser->consume("]"))
      return std::nullopt;
  }
  if (!parser->consume(">") || !parser->atEnd())
    return std::nullopt;
  return shardings;
}
