//===- WeftAttrs.cpp - Mesh, sharding, axes, reduction --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the attributes, and their conversions to and from the algebra.
// Their syntax is in AttributeSyntax.cpp.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/WeftAttrs.h"
#include "weft/IR/WeftDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using sharding::AxisList;
using sharding::AxisRef;
using sharding::DimSharding;
using sharding::Mesh;
using sharding::MeshAxis;
using sharding::Reduction;
using sharding::Sharding;

#include "weft/IR/WeftEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "weft/IR/WeftAttrs.cpp.inc"

void WeftDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "weft/IR/WeftAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

LogicalResult
MicrobatchesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         StringAttr name, int64_t count) {
  if (!name || name.empty())
    return emitError() << "a loop over micro-batches needs a name";
  if (count < 1)
    return emitError() << "a loop needs at least 1 micro-batch, got " << count;
  // The number of a micro-batch is an i32.
  if (count > std::numeric_limits<int32_t>::max())
    return emitError() << "a loop has at most 2147483647 micro-batches, got "
                       << count;
  return success();
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes) {
  bool legal = true;
  llvm::StringSet<> names;
  // Plans and the runtime number devices with 32 bits.
  constexpr int64_t maxDevices = std::numeric_limits<int32_t>::max();
  int64_t devices = 1;
  for (MeshAxisAttr axis : axes) {
    StringRef name = axis.getName();
    int64_t size = axis.getSize();
    if (name.empty()) {
      emitError() << "an axis of a mesh has no name";
      legal = false;
    }
    if (!names.insert(name).second) {
      emitError() << "axis \"" << name << "\" of a mesh is declared twice";
      legal = false;
    }
    if (size < 1) {
      emitError() << "size of mesh axis \"" << name
                  << "\" must be at least 1, got " << size;
      legal = false;
    } else if (size > maxDevices / devices) {
      emitError() << "mesh has more than " << maxDevices
                  << " devices at axis \"" << name << "\" of size " << size;
      return failure();
    } else {
      devices *= size;
    }
  }
  return success(legal);
}

MeshAttr MeshAttr::get(MLIRContext *context, const Mesh &mesh) {
  SmallVector<MeshAxisAttr> axes;
  for (const MeshAxis &axis : mesh.axes())
    axes.push_back(MeshAxisAttr::get(context, axis.name, axis.size));
  return get(context, axes);
}

Mesh MeshAttr::toMesh() const {
  std::vector<MeshAxis> axes;
  for (MeshAxisAttr axis : getAxes())
    axes.push_back({axis.getName().str(), axis.getSize()});
  return Mesh(std::move(axes));
}

//===----------------------------------------------------------------------===//
// Lists of axes
//===----------------------------------------------------------------------===//

static AxisRefAttr toAttr(MLIRContext *context, const Mesh &mesh,
                          const AxisRef &ref) {
  StringRef name = mesh.axisName(ref.axis);
  if (mesh.isFull(ref))
    return AxisRefAttr::get(context, name);
  return AxisRefAttr::get(context, name, ref.pre, ref.size);
}

static SmallVector<AxisRefAttr> toAttrs(MLIRContext *context, const Mesh &mesh,
                                        ArrayRef<AxisRef> axes) {
  return llvm::map_to_vector(
      axes, [&](const AxisRef &ref) { return toAttr(context, mesh, ref); });
}

/// The sentence about a name that the mesh lacks: its axes, and the one whose
/// spelling is nearest if it is near.
static std::string unknownAxis(const Mesh &mesh, StringRef name) {
  std::string text = ("unknown axis \"" + name + "\"; ").str();
  if (mesh.axes().empty())
    return text + "the mesh has no axes";
  text += "the mesh has ";
  StringRef nearest;
  unsigned distance = name.size() / 2 + 1;
  llvm::ListSeparator separator;
  for (const MeshAxis &axis : mesh.axes()) {
    text += (StringRef(separator) + "\"" + axis.name + "\"").str();
    unsigned d = name.edit_distance(axis.name, true, distance);
    if (d < distance) {
      distance = d;
      nearest = axis.name;
    }
  }
  if (!nearest.empty())
    text += ("; did you mean \"" + nearest + "\"?").str();
  return text;
}

/// Resolves names; false if one is unknown or no part of its axis.
static bool resolveAxes(const Mesh &mesh, ArrayRef<AxisRefAttr> attrs,
                        function_ref<void(const Twine &)> report,
                        AxisList &axes) {
  bool legal = true;
  for (AxisRefAttr attr : attrs) {
    std::optional<int32_t> axis = mesh.find(attr.getName());
    if (!axis) {
      if (report)
        report(unknownAxis(mesh, attr.getName()));
      legal = false;
    } else if (attr.isFullAxis()) {
      axes.push_back(mesh.fullAxis(*axis));
    } else if (attr.getSize() == mesh.axisSize(*axis)) {
      if (report)
        report("sub-axis of axis \"" + attr.getName() +
               "\" has the size of the axis, " + Twine(attr.getSize()) +
               "; write the axis alone");
      legal = false;
    } else if (attr.getPre() > mesh.axisSize(*axis) / attr.getSize()) {
      // Also keeps the product of the two within 64 bits.
      if (report)
        report("sub-axis \"" + attr.getName() + "\":(" + Twine(attr.getPre()) +
               ")" + Twine(attr.getSize()) + " goes beyond its axis of size " +
               Twine(mesh.axisSize(*axis)));
      legal = false;
    } else {
      axes.push_back({*axis, attr.getPre(), attr.getSize()});
    }
  }
  return legal;
}

AxesAttr AxesAttr::get(MLIRContext *context, FlatSymbolRefAttr meshSymbol,
                       const Mesh &mesh, ArrayRef<AxisRef> axes) {
  return get(context, meshSymbol, toAttrs(context, mesh, axes));
}

FailureOr<AxisList>
AxesAttr::toAxes(const Mesh &mesh,
                 function_ref<void(const Twine &)> report) const {
  AxisList axes;
  if (!resolveAxes(mesh, getAxes(), report, axes))
    return failure();
  return axes;
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

ShardingAttr ShardingAttr::get(MLIRContext *context,
                               FlatSymbolRefAttr meshSymbol, const Mesh &mesh,
                               const Sharding &sharding) {
  SmallVector<DimShardingAttr> dims;
  for (const DimSharding &dim : sharding.dims)
    dims.push_back(DimShardingAttr::get(
        context, toAttrs(context, mesh, dim.axes), dim.closed, dim.priority));
  return get(
      context, meshSymbol, dims, toAttrs(context, mesh, sharding.replicated),
      toAttrs(context, mesh, sharding.unreduced),
      sharding.unreduced.empty() ? Reduction::Sum : sharding.unreducedKind);
}

static ShardingAttr getUnsplit(FlatSymbolRefAttr mesh, size_t rank,
                               bool closed) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimShardingAttr> dims(
      rank, DimShardingAttr::get(context, {}, closed, std::nullopt));
  return ShardingAttr::get(context, mesh, dims, ArrayRef<AxisRefAttr>(),
                           ArrayRef<AxisRefAttr>(), Reduction::Sum);
}

ShardingAttr ShardingAttr::getOpen(FlatSymbolRefAttr mesh, size_t rank) {
  return getUnsplit(mesh, rank, /*closed=*/false);
}

ShardingAttr ShardingAttr::getClosed(FlatSymbolRefAttr mesh, size_t rank) {
  return getUnsplit(mesh, rank, /*closed=*/true);
}

FailureOr<Sharding>
ShardingAttr::toSharding(const Mesh &mesh,
                         function_ref<void(const Twine &)> report) const {
  Sharding sharding;
  bool known = true;
  for (DimShardingAttr attr : getDims()) {
    DimSharding dim;
    known &= resolveAxes(mesh, attr.getAxes(), report, dim.axes);
    dim.closed = attr.getIsClosed();
    dim.priority = attr.getPriority();
    sharding.dims.push_back(std::move(dim));
  }
  known &= resolveAxes(mesh, getReplicated(), report, sharding.replicated);
  known &= resolveAxes(mesh, getUnreduced(), report, sharding.unreduced);
  sharding.unreducedKind = getUnreducedKind();
  if (!known)
    return failure();
  return sharding;
}
