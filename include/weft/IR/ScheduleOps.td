//===- ScheduleOps.td - Kernels, GEMMs and buffers ---------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of the schedule (form 4). An entry is a list of these ops, executed in
// order; what they compute with is a plan's instruction set, one op a plan
// instruction. Values are still tensors: that each has an offset in the arena is
// said beside them, in the discardable attribute `weft.offsets`, so that no
// pass before the memory planner needs to know of buffers.
//
// More ops may stand in a schedule: `weft.attention` and `weft.attention_grad`,
// which are instructions as they are; `weft.reshape`, a view of its operand's
// buffer that costs nothing; `weft.concat` and `weft.slice`, which cost nothing
// either, since the operands lie side by side in the buffer of the result, and
// the result in a range of the operand's; and `arith.constant`, a buffer that is
// filled when the plan is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_SCHEDULEOPS_TD
#define WEFT_IR_SCHEDULEOPS_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "weft/IR/CommunicationOpInterface.td"
include "weft/IR/InstructionOpInterface.td"
include "weft/IR/WeftOps.td"

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

def Weft_GemmEpilogue : I32EnumAttr<"GemmEpilogue",
    "What a GEMM does to its sums before they are stored", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"Bias", 1, "bias">,
      I32EnumAttrCase<"Gelu", 2, "gelu">,
      I32EnumAttrCase<"BiasGelu", 3, "bias_gelu">,
      I32EnumAttrCase<"GeluAux", 4, "gelu_aux">,
      I32EnumAttrCase<"BiasGeluAux", 5, "bias_gelu_aux">,
      I32EnumAttrCase<"GeluGrad", 6, "gelu_grad">,
      I32EnumAttrCase<"GeluGradBiasGrad", 7, "gelu_grad_bias_grad">,
      I32EnumAttrCase<"LhsBiasGrad", 8, "lhs_bias_grad">,
      I32EnumAttrCase<"RhsBiasGrad", 9, "rhs_bias_grad">,
      I32EnumAttrCase<"Accumulate", 10, "accumulate">]> {
  let cppNamespace = "::weft";
}

def Weft_GemmPrecision : I32EnumAttr<"GemmPrecision",
    "How the operands of a GEMM of f32 are rounded", [
      I32EnumAttrCase<"Full", 0, "full">,
      I32EnumAttrCase<"TF32", 1, "tf32">]> {
  let cppNamespace = "::weft";
}

def Weft_AxesArray : TypedArrayAttrBase<Weft_AxesAttr, "list of axes">;

def Weft_PendingType : TypeDef<Weft_Dialect, "Pending"> {
  let mnemonic = "pending";
  let summary = "A tensor that a collective is still writing";
  let description = [{
    Nothing but `weft.wait` takes a value of this type: that no op uses the
    result of a collective before it is there needs no check.

    Example: `!weft.pending<tensor<4x8xf32>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

def Weft_LaunchOp : Weft_Op<"launch",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     DeclareOpInterfaceMethods<InstructionOpInterface,
                               ["getInPlaceOperand"]>]> {
  let summary = "Call a generated kernel";
  let description = [{
    Calls the private function `kernel`, marked `weft.kernel`, with the operands
    and then, as `tensor<i32>`, the device's position along each element of
    `positions`.

    `in_place` says for each result the operand whose buffer it takes over, or
    -1; set when memory is planned.

    ```mlir
    %r:2 = weft.launch @kernel(%a, %b) positions = [#weft.axes<@mesh, {"data"}>]
        : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
    ```

    With a `batch`, the kernel is called for so many sets of operands at once:
    those of the first set come first, and so do its results. What `in_place`
    says holds for each set. A set may read what another one reads, but not what
    it writes.

    ```mlir
    // Two steps of gradient descent with one rate.
    %s:2 = weft.launch @descend(%p, %dp, %rate, %q, %dq, %rate) batch = 2
        in_place = [0]
        : (tensor<4xf32>, tensor<4xf32>, tensor<f32>,
           tensor<4xf32>, tensor<4xf32>, tensor<f32>)
        -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$kernel, Variadic<Weft_Tensor>:$operands,
    OptionalAttr<Weft_AxesArray>:$positions,
    OptionalAttr<DenseI64ArrayAttr>:$in_place,
    DefaultValuedAttr<I64Attr, "1">:$batch);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let assemblyFormat = [{
    $kernel `(` $operands `)` (`batch` `=` $batch^)?
    (`positions` `=` $positions^)? (`in_place` `=` $in_place^)? attr-dict
    `:` functional-type($operands, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operands and the results of one of the sets of a batch.
    ::mlir::OperandRange getSetOperands(int64_t set) {
      int64_t size = getOperands().size() / int64_t(getBatch());
      return getOperands().slice(set * size, size);
    }
    ::mlir::ResultRange getSetResults(int64_t set) {
      int64_t size = getNumResults() / int64_t(getBatch());
      return getResults().slice(set * size, size);
    }
  }];
}

def Weft_GemmOp : Weft_Op<"gemm",
    [Pure, DeclareOpInterfaceMethods<InstructionOpInterface,
                                     ["getInPlaceOperand"]>,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Batched GEMM over strides";
  let description = [{
    `out[b, m, n]` = sum over `k` of `lhs[b, m, k] * rhs[b, k, n]`, where an
    index is translated to an element of the row-major operand by strides, given
    as [batch, m, k], [batch, k, n] and [batch, m, n]. Transposed operands and
    results are a choice of strides. Every element of the result is written
    once; for each tensor one of the two matrix strides is 1.

    ```mlir
    // The right operand is used transposed.
    %r = weft.gemm %a, %b batch = 1 m = 4 n = 8 k = 16
        strides = [64, 16, 1] x [128, 1, 16] -> [32, 8, 1]
        : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
    ```

    An `epilogue`, named after `then`, works on the sums before they are
    stored, and has at most one operand and one result more. Any schedule may
    have `accumulate`; the others are those of cuBLASLt, and only schedules for
    CUDA have them; GELU is the one with tanh:

    | epilogue              | stores                      | operand | result  |
    | --------------------- | --------------------------- | ------- | ------- |
    | `bias`                | sums + bias[n]              | bias    |         |
    | `gelu`                | gelu(sums)                  |         |         |
    | `bias_gelu`           | gelu(sums + bias[n])        | bias    |         |
    | `gelu_aux`            | gelu(aux), aux = sums       |         | aux     |
    | `bias_gelu_aux`       | gelu(aux), aux = sums + bias[n] | bias | aux    |
    | `gelu_grad`           | sums * gelu'(aux)           | aux     |         |
    | `gelu_grad_bias_grad` | the same                    | aux     | its sum over m, [n] |
    | `lhs_bias_grad`       | sums                        |         | the sum of lhs over k, [m] |
    | `rhs_bias_grad`       | sums                        |         | the sum of rhs over k, [n] |
    | `accumulate`          | addend + sums               | addend  |         |

    The addend of `accumulate` has the type of the result and is overwritten by
    it.

    A bias and its gradient have the element type of the result, f32, bf16 or f16;
    with one, batch is 1. But for those that sum an operand, rows of the result
    are contiguous. `aux` has the type of the result, and n is then a multiple of 8.

    With `tf32`, the operands of f32 are rounded to 10 bits of mantissa.

    ```mlir
    // The activation of a perceptron, and what its derivative needs.
    %y:2 = weft.gemm %x, %w batch = 1 m = 4 n = 8 k = 16
        strides = [64, 16, 1] x [128, 8, 1] -> [32, 8, 1]
        tf32 then bias_gelu_aux(%bias)
        : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8xf32>)
        -> (tensor<4x8xf32>, tensor<4x8xf32>)
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$lhs, Weft_Tensor:$rhs,
    I64Attr:$batch, I64Attr:$m, I64Attr:$n, I64Attr:$k,
    DenseI64ArrayAttr:$lhs_strides, DenseI64ArrayAttr:$rhs_strides,
    DenseI64ArrayAttr:$out_strides,
    Optional<Weft_Tensor>:$epilogue_operand,
    DefaultValuedAttr<Weft_GemmEpilogue,
                      "::weft::GemmEpilogue::None">:$epilogue,
    DefaultValuedAttr<Weft_GemmPrecision,
                      "::weft::GemmPrecision::Full">:$precision);
  let results = (outs Weft_Tensor:$result,
                 Optional<Weft_Tensor>:$epilogue_result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` `=` custom<Dim>($batch) `m` `=` custom<Dim>($m)
    `n` `=` custom<Dim>($n) `k` `=` custom<Dim>($k)
    `strides` `=` $lhs_strides `x` $rhs_strides `->` $out_strides
    ($precision^)? (`then` $epilogue^)? (`(` $epilogue_operand^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The bias that the epilogue adds, or the gradient of one that it writes;
    /// null if it has none.
    ::mlir::Value getBias();
    /// The sums that the epilogue writes or reads beside the result; null if it
    /// does neither.
    ::mlir::Value getAux();
    /// What the sums are added to, in its buffer; null without `accumulate`.
    ::mlir::Value getAddend();
  }];
}

def Weft_ConvolveOp
    : Weft_Op<"convolve", [Pure, InstructionOpInterface, Weft_Product]> {
  let summary = "Convolution over strides";
  let description = [{
    `out[g, b, i.., m]` = sum over places `k..` and features `f` of `lhs[g, b,
    p.., f] * rhs[g, k.., f, m]`, in which `p` is, along each spatial dimension,
    `(i * strides + k * rhs_dilation - low) / lhs_dilation`; where this is no
    place of lhs there is no term.

    `lhs_sizes`, `rhs_sizes` and `out_sizes` are the spatial dimensions, of which
    there are at most four. An index is translated to an element of the
    row-major operand by a layout, the strides of [groups, batch, input
    features, spatial dimensions] of lhs, [groups, input features, output
    features, spatial dimensions] of rhs, and [groups, batch, output features,
    spatial dimensions] of the result. Features are those of a group. Every
    element of the result is written once. All have elements of f32. Only
    schedules for CPUs have it.

    ```mlir
    %r = weft.convolve %x, %w groups = 1 batch = 4 input_features = 3 output_features = 8
        [16] by [3] to [8] strides = [2] low = [1]
        lhs_dilation = [1] rhs_dilation = [1]
        layouts = [3, 48, 1, 3] x [8, 8, 1, 24] -> [8, 64, 1, 8]
        : (tensor<4x16x3xf32>, tensor<3x3x8xf32>) -> tensor<4x8x8xf32>
    ```
  }];
  let arguments = (ins
    Weft_Tensor:$lhs, Weft_Tensor:$rhs,
    I64Attr:$groups, I64Attr:$batch, I64Attr:$input_features,
    I64Attr:$output_features,
    DenseI64ArrayAttr:$lhs_sizes, DenseI64ArrayAttr:$rhs_sizes,
    DenseI64ArrayAttr:$out_sizes, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$lhs_dilation,
    DenseI64ArrayAttr:$rhs_dilation, DenseI64ArrayAttr:$lhs_layout,
    DenseI64ArrayAttr:$rhs_layout, DenseI64ArrayAttr:$out_layout);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `groups` `=` custom<Dim>($groups)
    `batch` `=` custom<Dim>($batch)
    `input_features` `=` custom<Dim>($input_features)
    `output_features` `=` custom<Dim>($output_features) $lhs_sizes `by` $rhs_sizes `to` $out_sizes
    `strides` `=` $strides `low` `=` $low `lhs_dilation` `=` $lhs_dilation
    `rhs_dilation` `=` $rhs_dilation
    `layouts` `=` $lhs_layout `x` $rhs_layout `->` $out_layout attr-dict
    `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    /// Spatial dimensions; lib/Plan checks that plans have as many.
    static constexpr size_t maxSpatialDims = 4;
  }];
  let hasVerifier = 1;
}

def Weft_CopyOp
    : Weft_Op<"copy", [InstructionOpInterface, SameOperandsAndResultType]> {
  let summary = "Copy a tensor to another buffer";
  let description = [{
    Inserted by the memory planner where a result must end in a buffer that its
    producer cannot write to.

    ```mlir
    %r = weft.copy %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Weft_Tensor:$operand);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

def Weft_StartOp
    : Weft_Op<"start", [Pure, CommunicationOpInterface,
                        InstructionOpInterface]> {
  let summary = "Start a collective";
  let description = [{
    The asynchronous half of the collective of form 3 that `kind` names: it runs
    beside the ops that follow, until `weft.wait` takes its result. The operand
    must not be overwritten before the wait. All devices start the same
    collectives in the same order.

    `in_place`, for `all_reduce` only: the result takes over the buffer of the
    operand; set by the memory planner. `shift` is that of `weft.permute`.

    ```mlir
    %p = weft.start all_reduce %x sum over <@mesh, {"data"}>
        : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
    %q = weft.start all_gather %y dim = 0 over <@mesh, {"data"}>
        {cause = "%y is split over \"data\", its user needs it whole"}
        : tensor<2x8xf32> -> !weft.pending<tensor<4x8xf32>>
    %s = weft.start all_to_all %z split = 0 concat = 1 over <@mesh, {"data"}>
        : tensor<4x8xf32> -> !weft.pending<tensor<2x16xf32>>
    %t = weft.start permute %u from <@mesh, {"a"}> to <@mesh, {"b"}>
        : tensor<4x8xf32> -> !weft.pending<tensor<4x8xf32>>
    %v = weft.start exchange %w dim = 1 over <@mesh, {"a"}>
        map <[6] to [3, 3], 0 to 0 for 12>
        : tensor<4x6xf32> -> !weft.pending<tensor<4x6xf32>>
    ```
  }];
  let arguments = (ins
    Weft_CollectiveKindAttr:$kind, Weft_Tensor:$operand,
    OptionalAttr<Weft_ReductionAttr>:$reduction,
    OptionalAttr<I64Attr>:$dim, OptionalAttr<I64Attr>:$concat,
    Weft_AxesAttr:$axes, OptionalAttr<Weft_AxesAttr>:$to,
    OptionalAttr<Weft_ElementMapAttr>:$map, UnitAttr:$in_place, OptionalAttr<StrAttr>:$cause,
    DefaultValuedAttr<I64Attr, "0">:$shift);
  let results = (outs Weft_PendingType:$pending);
  let assemblyFormat = [{
    custom<CollectiveKind>($kind) $operand
    custom<CollectiveDetails>(ref($kind), $reduction, $dim, $concat, $axes, $to,
                              $map)
    attr-dict `:` type($operand) `->` qualified(type($pending))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getInPlaceOperand(unsigned) { return getInPlace() ? 0 : -1; }
    bool isStart() { return true; }
    ::weft::cost::CollectiveKind getCollectiveKind() { return getKind(); }
    ::weft::ElementMapAttr getElementMap() { return getMapAttr(); }
    ::mlir::Value buildStart(::mlir::OpBuilder &) { return getPending(); }
  }];
}

def Weft_WaitOp : Weft_Op<"wait", [Pure, InstructionOpInterface,
    TypesMatchWith<"result is the tensor that is pending", "pending", "result",
                   "::llvm::cast<PendingType>($_self).getTensor()">]> {
  let summary = "Wait for a collective";
  let description = [{
    Each `weft.start` has exactly one.

    ```mlir
    %r = weft.wait %p : !weft.pending<tensor<4x8xf32>>
    ```
  }];
  let arguments = (ins Weft_PendingType:$pending);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$pending attr-dict `:` qualified(type($pending))";
}

#endif // WEFT_IR_SCHEDULEOPS_TD
