//===- Meshes.cpp - The mesh of an imported program -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Meshes.h"

#include "weft/IR/MeshDevices.h"

#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

Meshes::Meshes(ModuleOp module, Problems &problems)
    : module(module), problems(problems) {
  for (Operation &op : *module.getBody()) {
    if (op.getName().getStringRef() != "sdy.mesh")
      continue;
    auto symbol = dyn_cast_or_null<StringAttr>(op.getAttr("sym_name"));
    std::optional<ShardyMesh> mesh = readMesh(op.getAttr("mesh"));
    if (symbol && mesh)
      declarations.push_back({symbol.str(), *mesh, op.getLoc()});
    else
      problems.malformed(op.getLoc(), "sdy.mesh is malformed: it needs a "
                                      "sym_name and a mesh");
  }
}

/// A mesh of a single device, on which values have no layout.
static bool isTrivial(const ShardyMesh &mesh) { return mesh.axes.empty(); }

/// `<["data"=4, "model"=2], device_ids=[1, 0]>`
static std::string print(const ShardyMesh &mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "<[";
  llvm::interleaveComma(mesh.axes, os, [&](MeshAxisAttr axis) {
    os << '"' << axis.getName() << "\"=" << axis.getSize();
  });
  os << "]";
  if (!mesh.deviceIds.empty()) {
    os << ", device_ids=[";
    llvm::interleaveComma(mesh.deviceIds, os);
    os << "]";
  }
  os << ">";
  return text;
}

/// The attribute of a mesh; null, and a problem, if the mesh is not legal.
static MeshAttr makeAttr(MLIRContext *context, Location loc,
                         const ShardyMesh &mesh, Problems &problems) {
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    problems.malformed(loc, diagnostic.str());
    return success();
  });
  return MeshAttr::getChecked([&] { return emitError(loc); }, context,
                              ArrayRef<MeshAxisAttr>(mesh.axes));
}

void Meshes::choose(Location loc, StringRef name, const ShardyMesh &mesh) {
  chosen = mesh;
  if (MeshAttr attr = makeAttr(module.getContext(), loc, mesh, problems)) {
    auto builder = OpBuilder::atBlockBegin(module.getBody());
    meshOp = MeshOp::create(builder, loc, name.empty() ? "mesh" : name, attr);
    setDevices(loc);
  }
}

void Meshes::setDevices(Location loc) {
  if (!meshOp || chosen->deviceIds.empty())
    return;
  const std::string problem =
      checkDevices(chosen->deviceIds, meshOp.getMesh().toMesh().numDevices());
  if (!problem.empty())
    problems.malformed(loc, problem);
  else
    meshOp->setAttr(
        kDevicesAttrName,
        DenseI64ArrayAttr::get(module.getContext(), chosen->deviceIds));
}

bool Meshes::unify(Location loc, StringRef name, const ShardyMesh &mesh) {
  if (!chosen)
    choose(loc, name, mesh);
  if (*chosen == mesh)
    return static_cast<bool>(meshOp);
  // What was traced for a mesh without devices lists none.
  if (chosen->axes == mesh.axes &&
      (mesh.deviceIds.empty() || chosen->deviceIds.empty())) {
    if (chosen->deviceIds.empty()) {
      chosen->deviceIds = mesh.deviceIds;
      setDevices(loc);
    }
    return static_cast<bool>(meshOp);
  }
  problems.malformed(loc, "a program has one mesh, got " + print(mesh) +
                              " beside " + print(*chosen));
  return false;
}

ShardingAttr Meshes::convert(Location loc, const ShardySharding &sharding) {
  ShardyMesh mesh = sharding.mesh;
  if (!sharding.meshName.empty()) {
    auto declared =
        llvm::find_if(declarations, [&](const Declaration &declaration) {
          return declaration.name == sharding.meshName;
        });
    if (declared == declarations.end()) {
      problems.malformed(loc, "a sharding names mesh @" +
                                  Twine(sharding.meshName) +
                                  ", which is not declared");
      return {};
    }
    mesh = declared->mesh;
  }
  if (isTrivial(mesh) || !unify(loc, sharding.meshName, mesh))
    return {};
  return ShardingAttr::get(module.getContext(),
                           FlatSymbolRefAttr::get(meshOp.getSymNameAttr()),
                           sharding.dims, sharding.replicated,
                           sharding.unreduced, sharding.unreducedKind);
}

ShardingAttr Meshes::convert(Location loc, Attribute attr) {
  if (std::optional<ShardySharding> sharding = readSharding(attr))
    return convert(loc, *sharding);
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  problems.malformed(loc, "cannot read the sharding " + text);
  return {};
}

std::string Meshes::describe(ShardingAttr sharding) {
  sharding::Mesh mesh = meshOp.getMesh().toMesh();
  FailureOr<sharding::Sharding> read = sharding.toSharding(mesh);
  return succeeded(read) ? sharding::print(mesh, *read) : "another sharding";
}

int64_t Meshes::countShards(int64_t size) const {
  const ShardyMesh *mesh = chosen ? &*chosen : nullptr;
  for (const Declaration &declaration : declarations)
    if (!mesh && !isTrivial(declaration.mesh))
      mesh = &declaration.mesh;
  std::set<int64_t> counts = {1};
  if (mesh)
    for (MeshAxisAttr axis : mesh->axes)
      for (int64_t count : std::vector<int64_t>(counts.begin(), counts.end()))
        if (size % (count * axis.getSize()) == 0)
          counts.insert(count * axis.getSize());
  return *counts.rbegin();
}

void Meshes::finish() {
  for (const Declaration &declaration : declarations)
    if (!chosen && !isTrivial(declaration.mesh))
      choose(declaration.loc, declaration.name, declaration.mesh);
}
