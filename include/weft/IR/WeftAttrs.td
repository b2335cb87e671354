//===- WeftAttrs.td - Mesh, sharding, axes, reduction ------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WEFTATTRS_TD
#define WEFT_IR_WEFTATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "weft/IR/WeftDialect.td"

class Weft_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Weft_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Parts of the attributes below; never written on their own
//===----------------------------------------------------------------------===//

class Weft_AttrPart<string name, string label>
    : AttrDef<Weft_Dialect, name> {
  let attrName = "weft." # label;
}

def Weft_MeshAxisAttr : Weft_AttrPart<"MeshAxis", "mesh_axis"> {
  let summary = "Name and size of an axis, a part of `#weft.mesh`";
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
}

def Weft_AxisRefAttr : Weft_AttrPart<"AxisRef", "axis_ref"> {
  let summary = "Mention of a mesh axis or a part of one, by name";
  let description = [{
    `"x"` is the full axis; `"x":(2)4` the part of size 4 that has a part of
    size 2 on its major side. A full axis is stored with `pre = 1, size = 0`,
    since its size is the mesh's to say.
  }];
  let parameters = (ins
    StringRefParameter<"name">:$name, "int64_t":$pre, "int64_t":$size);
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$name), [{
      return $_get($_ctxt, name, 1, 0);
    }]>
  ];
  let extraClassDeclaration = [{
    /// Whether the spelling is that of a full axis.
    bool isFullAxis() const { return getSize() == 0; }
  }];
}

def Weft_DimShardingAttr : Weft_AttrPart<"DimSharding", "dim_sharding"> {
  let summary = "Sharding of one dimension, a part of `#weft.sharding`";
  let parameters = (ins
    OptionalArrayRefParameter<"::weft::AxisRefAttr">:$axes,
    "bool":$isClosed,
    OptionalParameter<"std::optional<int64_t>">:$priority);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Weft_MeshAttr : Weft_Attr<"Mesh", "mesh"> {
  let summary = "Named axes of devices";
  let description = [{
    The axes of a grid of devices, major to minor; device number = row-major
    position in the grid. Axis names are unique and sizes at least 1.

    Example: `#weft.mesh<["data"=2, "model"=8]>`
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"::weft::MeshAxisAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static MeshAttr get(::mlir::MLIRContext *context,
                        const ::weft::sharding::Mesh &mesh);
    ::weft::sharding::Mesh toMesh() const;
  }];
}

def Weft_ShardingAttr : Weft_Attr<"Sharding", "sharding"> {
  let summary = "How a tensor is laid out over a mesh";
  let description = [{
    For each dimension the axes that split it, major to minor; then the axes
    that hold copies and may not be used by propagation (`replicated`), and
    those that hold partial values of a reduction not done yet (`unreduced`).

    | spelling | meaning |
    | --- | --- |
    | `{}` | not split, closed: stays that way |
    | `{?}` | not split, open: propagation may split it |
    | `{"a", "b"}` | split over `a`, then over `b` |
    | `{"a", ?}` | split over `a`, and open to more axes |
    | `{"a"}p1` | as `{"a"}`, propagated after every dimension of priority 0 |
    | `"a":(2)4` | the sub-axis of `a` of size 4, after a major part of size 2 |
    | `unreduced={"a"}` | the devices along `a` hold partial sums |
    | `unreduced=max{"a"}` | as above, of a maximum (`min` likewise) |

    Example:
    `#weft.sharding<@mesh, [{"a", "b"}, {"c":(1)2, ?}p1], replicated={"d"}>`

    Axes are checked against the mesh where the attribute is used (by the
    verifiers of ops, arguments and results), since the mesh is a symbol.
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    OptionalArrayRefParameter<"::weft::DimShardingAttr">:$dims,
    OptionalArrayRefParameter<"::weft::AxisRefAttr">:$replicated,
    OptionalArrayRefParameter<"::weft::AxisRefAttr">:$unreduced,
    "::weft::sharding::Reduction":$unreducedKind);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ShardingAttr get(::mlir::MLIRContext *context,
                            ::mlir::FlatSymbolRefAttr meshSymbol,
                            const ::weft::sharding::Mesh &mesh,
                            const ::weft::sharding::Sharding &sharding);
    /// Every dimension open, or every dimension closed, and no axes.
    static ShardingAttr getOpen(::mlir::FlatSymbolRefAttr mesh, size_t rank);
    static ShardingAttr getClosed(::mlir::FlatSymbolRefAttr mesh, size_t rank);

    size_t getRank() const { return getDims().size(); }
    /// Resolves names to axes of `mesh`. Fails on an unknown axis and
    /// on a sub-axis as large as its axis or beyond it; all else that makes a
    /// sharding legal is for sharding::checkSharding to say. `report`, if
    /// given, is called with a sentence for each such axis.
    ::llvm::FailureOr<::weft::sharding::Sharding>
    toSharding(const ::weft::sharding::Mesh &mesh,
               ::llvm::function_ref<void(const ::llvm::Twine &)> report = {})
        const;
  }];
}

def Weft_AxesAttr : Weft_Attr<"Axes", "axes"> {
  let summary = "An ordered list of axes of one mesh";
  let description = [{
    The devices that differ only along the axes form a group; the axes, major to
    minor, number its members. Collectives name their groups this way.

    Example: `#weft.axes<@mesh, {"data", "model":(1)2}>`
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    OptionalArrayRefParameter<"::weft::AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static AxesAttr get(::mlir::MLIRContext *context,
                        ::mlir::FlatSymbolRefAttr meshSymbol,
                        const ::weft::sharding::Mesh &mesh,
                        ::llvm::ArrayRef<::weft::sharding::AxisRef> axes);
    /// As ShardingAttr::toSharding.
    ::llvm::FailureOr<::weft::sharding::AxisList>
    toAxes(const ::weft::sharding::Mesh &mesh,
           ::llvm::function_ref<void(const ::llvm::Twine &)> report = {}) const;
  }];
}

def Weft_ElementMapAttr : Weft_Attr<"ElementMap", "element_map"> {
  let summary = "Where the elements of a dimension go"
                " (sharding::ElementMap)";
  let description = [{
    The first list has the sizes of the segments that lie behind each other
    along the dimension before, the second list those after; where a group of
    devices holds them, the sizes of a device's part of each. `F to T for N by S`
    takes the elements at F, F + S, ... to T, T + 1, ...: N elements, counted
    over the whole segments. `by 1` is not written.

    Example: what three tensors of 64 columns, each in four parts, are in one of
    192 in four parts:
    `#weft.element_map<[16, 16, 16] to [48], 0 to 0 for 192>`
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$from, ArrayRefParameter<"int64_t">:$to,
    ArrayRefParameter<"int64_t">:$runs);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ElementMapAttr get(::mlir::MLIRContext *context,
                              const ::weft::sharding::ElementMap &map);
    ::weft::sharding::ElementMap toMap() const;
  }];
}

def Weft_ReductionAttr : Weft_Attr<"Reduction", "reduction"> {
  let summary = "How partial values are combined: sum, max or min";
  let description = [{
    Example: `#weft.reduction<sum>`
  }];
  let parameters = (ins "::weft::sharding::Reduction":$value);
  let hasCustomAssemblyFormat = 1;
  let returnType = "::weft::sharding::Reduction";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::weft::ReductionAttr::get($_builder.getContext(), $0)";
}

def Weft_CollectiveKindAttr : Weft_Attr<"CollectiveKind", "collective_kind"> {
  let summary = "What a collective does: the name of its op";
  let description = [{
    Example: `#weft.collective_kind<all_gather>`
  }];
  let parameters = (ins "::weft::cost::CollectiveKind":$value);
  let hasCustomAssemblyFormat = 1;
  let returnType = "::weft::cost::CollectiveKind";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall =
    "::weft::CollectiveKindAttr::get($_builder.getContext(), $0)";
}

def Weft_StagePass : I32EnumAttr<"StagePass",
    "which pass of a pipeline stage over a micro-batch an op is of", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"Forward", 1, "forward">,
      I32EnumAttrCase<"InputGradient", 2, "input_gradient">,
      I32EnumAttrCase<"WeightGradient", 3, "weight_gradient">]> {
  let cppNamespace = "::weft";
  let genSpecializedAttr = 0;
}

def Weft_StagePassParameter : EnumParameter<Weft_StagePass> {
  let defaultValue = "::weft::StagePass::None";
}

def Weft_OriginAttr : Weft_Attr<"Origin", "origin"> {
  let summary = "What an op of a differentiated program is for";
  let description = [{
    Set by `--weft-autodiff` as `weft.origin` on the ops that it makes, and kept
    by every pass that replaces them by other ops. An op without it belongs
    to the forward pass, or to what follows the gradients.

    | parameter | meaning |
    | --- | --- |
    | `backward` | the op is of a backward pass |
    | `recomputed` | the op runs a part of the forward pass once more |
    | `gradient_of` | its result is the gradient of the parameter of this name |
    | `regions` | the checkpoint regions, numbered by `--weft-checkpoint-regions`, that it is of |
    | `stage` | the pipeline stage that computes it, numbered by `--weft-assign-stages`; -1: none |
    | `stage_pass` | the pass of the stage over a micro-batch: `forward`, `input_gradient`, `weight_gradient`; `none` of what is computed once a step |

    Example: `#weft.origin<backward = true, gradient_of = "w">`
  }];
  let parameters = (ins
    DefaultValuedParameter<"bool", "false">:$backward,
    DefaultValuedParameter<"bool", "false">:$recomputed,
    OptionalParameter<"::mlir::StringAttr">:$gradient_of,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$regions,
    DefaultValuedParameter<"int64_t", "-1">:$stage,
    Weft_StagePassParameter:$stage_pass);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Weft_MicrobatchesAttr : Weft_Attr<"Microbatches", "microbatches"> {
  let summary = "A loop over micro-batches";
  let description = [{
    The ops of one loop name it alike; `count` is the number of micro-batches.

    Example: `#weft.microbatches<"step", 4>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$count);
  let assemblyFormat = "`<` $name `,` $count `>`";
  let genVerifyDecl = 1;
}

def Weft_SegmentAttr : Weft_Attr<"Segment", "segment"> {
  let summary = "What a function is for in the timeline of a pipeline";
  let description = [{
    On a function, as `weft.segment`. `action` is the stage and the kind of what
    it does, in the notation of timelines without the micro-batch (`2F`, `2W`),
    with the level of what is done once a step (`2U1`). `role` is the coordinate
    of the ranks that have it along the axis of the pipeline.

    Example: `#weft.segment<entry = "step", action = "2F", role = 0>`
  }];
  let parameters = (ins "::mlir::StringAttr":$entry,
    "::mlir::StringAttr":$action, "int64_t":$role);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Weft_MessageAttr : Weft_Attr<"Message", "message"> {
  let summary = "What one stage of a pipeline sends to another";
  let description = [{
    `kind` is `F` of activations, `B` of cotangents, each once a micro-batch,
    `P` or `U` of what is sent once a step, before or behind the loop over
    micro-batches, after the segment of this `level`. `values` are names of
    states that both stages have.

    Example: `#weft.message<kind = "F", source = 0, destination = 1, queue = 0,
    values = ["0F:0"]>`
  }];
  let parameters = (ins "::mlir::StringAttr":$kind,
    DefaultValuedParameter<"int64_t", "0">:$level, "int64_t":$source,
    "int64_t":$destination, "int64_t":$queue, "::mlir::ArrayAttr":$values);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Weft_TimelineAttr : Weft_Attr<"Timeline", "timeline"> {
  let summary = "How the roles of a pipeline execute an entry";
  let description = [{
    On the declaration of an entry, as `weft.timeline`. `rows` has a row of
    actions for each coordinate along the mesh axis `axis`, in the notation of
    schedules (docs/Pipelines.md); segments are functions of the module.

    Example: `#weft.timeline<axis = "pipe", microbatches = 1, rows =
    ["0F0,0SEND_F0,0RECV_B0,0B0", "1RECV_F0,1F0,1B0,1SEND_B0"], messages =
    [...]>`
  }];
  let parameters = (ins "::mlir::StringAttr":$axis, "int64_t":$microbatches,
    "::mlir::ArrayAttr":$rows, "::mlir::ArrayAttr":$messages);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // WEFT_IR_WEFTATTRS_TD
