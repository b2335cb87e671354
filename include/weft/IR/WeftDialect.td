//===- WeftDialect.td - The weft dialect -------------------*- tablegen -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_WEFTDIALECT_TD
#define WEFT_IR_WEFTDIALECT_TD

include "mlir/IR/DialectBase.td"

def Weft_Dialect : Dialect {
  let name = "weft";
  let cppNamespace = "::weft";
  let summary = "Tensor programs laid out over a mesh of devices";
  let description = [{
    What upstream MLIR lacks to say how a tensor program is spread over many
    devices. Elementwise math is not here: `arith` and `math` ops on ranked
    tensors are used as they are, and take part in sharding through external
    models of `ShardingRuleOpInterface`.

    A program moves through five forms; the dialect serves the first four.

    1. **graph**: functions over static ranked tensors with global shapes;
       `weft.sharding` on arguments and results, and `weft.constraint` ops,
       where the user wrote them. As it is read it may call private functions
       and take gradients of them; both are resolved first.
    2. **sharded graph**: the same, with the sharding of every op result in the
       discardable attribute `weft.shardings`.
    3. **SPMD program**: local shapes; data moves between devices only through
       the collectives (`weft.all_gather`, ...). Arguments and results carry
       `weft.global_type` beside `weft.sharding`.
    4. **schedule**: kernels, GEMMs and asynchronous collectives in one order.

    `--weft-verify-form` checks what each form promises.

    Discardable attributes of the dialect:

    | attribute | on | holds |
    | --- | --- | --- |
    | `weft.sharding` | function argument, function result | `#weft.sharding` |
    | `weft.shardings` | op | array with a `#weft.sharding` for each result |
    | `weft.operand_shardings` | op | array with a `#weft.sharding` for each operand that the op takes in one |
    | `weft.name` | function argument, function result | the name of the input, output or state |
    | `weft.global_type` | function argument, function result | ranked tensor type before partitioning |
    | `weft.parameter` | function argument | unit: a loss is differentiated by it; of a segment, also a frozen parameter |
    | `weft.origin` | op | `#weft.origin`: the backward pass, recomputation, the gradient of a parameter |
    | `weft.result_origins` | op that stands for several | array with a `#weft.origin`, or unit, for each result |
    | `weft.kernel` | private function | unit: the function is the body of a kernel |
    | `weft.in_place` | kernel | pairs of an operand and a result that may share a buffer, one after the other |
    | `weft.offset` | argument of an entry | offset in the arena, in bytes |
    | `weft.offsets` | op of a schedule | offsets of the results |
    | `weft.arena_bytes`, `weft.liveness_bytes` | entry | bytes of the arena used, and the least any layout needs |
    | `weft.devices` | mesh | the device at each position, where they are not in order |
    | `weft.differentiated` | module | names of what a loss was differentiated by that is no argument of an entry |
    | `weft.pipeline` | module | how it is cut into pipeline stages and run, until it is |
    | `weft.stages` | module | number of pipeline stages into which it was cut |
    | `weft.chains` | module | for each chain of regions that are run again, their number and how often they are run |
    | `weft.microbatches` | `weft.repeat` | the loop over micro-batches that it is |
    | `weft.timeline` | entry that is a declaration | `#weft.timeline`: what each role executes, in order |
    | `weft.segment` | function | `#weft.segment`: the part of an entry that it is |
    | `weft.slots` | argument or result of a segment | of how many micro-batches it holds the values |
    | `weft.counts` | argument of a segment | unit: the number of the micro-batch |
    | `weft.position` | argument of a kernel | unit: a number, not a buffer |
    | `weft.queue`, `weft.behind` | `weft.start` | the queue of the collective; in a loop, the instruction behind whose last execution it may start |
    | `weft.choice`, `weft.saved_times`, `weft.recomputation` | entry | what passes chose, for the report |
    | `weft.provenance` | op, function argument, function result | from which annotation each axis came, and through which ops |
    | `weft.reasons` | module | why there are collectives, by cause |

    Example:

    ```mlir
    weft.mesh @mesh = <["data"=2, "model"=4]>
    func.func @dense(
        %x: tensor<8x16xf32> {weft.name = "x",
            weft.sharding = #weft.sharding<@mesh, [{"data"}, {} ]>},
        %w: tensor<16x32xf32> {weft.name = "w",
            weft.sharding = #weft.sharding<@mesh, [{}, {"model"} ]>})
        -> tensor<8x32xf32> {
      %y = weft.dot_general %x, %w contracting = [1] x [0]
          : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      return %y : tensor<8x32xf32>
    }
    ```
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Names of the discardable attributes of the dialect.
    static constexpr ::llvm::StringLiteral kShardingAttrName = "weft.sharding";
    static constexpr ::llvm::StringLiteral kShardingsAttrName =
        "weft.shardings";
    static constexpr ::llvm::StringLiteral kNameAttrName = "weft.name";
    static constexpr ::llvm::StringLiteral kGlobalTypeAttrName =
        "weft.global_type";
    static constexpr ::llvm::StringLiteral kOriginAttrName = "weft.origin";
    static constexpr ::llvm::StringLiteral kResultOriginsAttrName =
        "weft.result_origins";
    static constexpr ::llvm::StringLiteral kParameterAttrName =
        "weft.parameter";
    static constexpr ::llvm::StringLiteral kSegmentAttrName = "weft.segment";
    static constexpr ::llvm::StringLiteral kTimelineAttrName =
        "weft.timeline";
    static constexpr ::llvm::StringLiteral kSlotsAttrName = "weft.slots";
    static constexpr ::llvm::StringLiteral kKernelAttrName = "weft.kernel";
    static constexpr ::llvm::StringLiteral kInPlaceAttrName = "weft.in_place";

  private:
    void registerAttributes();
    void registerTypes();
    void registerOps();

  public:
  }];
}

#endif // WEFT_IR_WEFTDIALECT_TD
