//===- StageParameters.cpp - The parameters that stages use ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/StageParameters.h"

#include "weft/IR/Microbatches.h"
#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;

/// The arguments that values from outside of the loop are computed from.
static llvm::SetVector<BlockArgument> findArguments(ArrayRef<Value> values) {
  llvm::SetVector<Value> seen(values.begin(), values.end());
  llvm::SetVector<BlockArgument> arguments;
  for (size_t i = 0; i < seen.size(); ++i) {
    Value value = seen[i];
    if (auto argument = dyn_cast<BlockArgument>(value))
      arguments.insert(argument);
    else
      seen.insert_range(value.getDefiningOp()->getOperands());
  }
  return arguments;
}

static bool isDifferentiated(BlockArgument argument) {
  auto entry = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return bool(entry.getArgAttr(argument.getArgNumber(),
                               WeftDialect::kParameterAttrName));
}

static bool isFloatArray(BlockArgument argument) {
  RankedTensorType type = typeOf(argument);
  return type.getRank() > 0 && isa<FloatType>(type.getElementType());
}

namespace {

/// What comes into the loop of an entry.
class LoopInputs {
public:
  explicit LoopInputs(func::FuncOp entry);

  ArrayRef<OpOperand *> all() const { return inputs; }
  /// The parameters that values from before the loop are computed from.
  llvm::SetVector<BlockArgument> findParameters(ArrayRef<Value> values) const;

private:
  SmallVector<OpOperand *> inputs;
  llvm::SetVector<BlockArgument> batch;
};

} // namespace

LoopInputs::LoopInputs(func::FuncOp entry) {
  Block &block = entry.front();
  Microbatches microbatches(block);
  SmallVector<Value> sliced;
  for (Operation &op : block) {
    if (!microbatches.loopOf(&op))
      continue;
    if (auto slice = dyn_cast<MicrobatchSliceOp>(op))
      sliced.push_back(slice.getOperand());
    for (OpOperand &operand : op.getOpOperands())
      if (Operation *definer = operand.get().getDefiningOp();
          !definer || !microbatches.loopOf(definer))
        inputs.push_back(&operand);
  }
  batch = findArguments(sliced);
}

llvm::SetVector<BlockArgument>
LoopInputs::findParameters(ArrayRef<Value> values) const {
  llvm::SetVector<BlockArgument> found = findArguments(values);
  found.remove_if([&](BlockArgument argument) {
    return !isDifferentiated(argument) &&
           (!isFloatArray(argument) || batch.contains(argument));
  });
  return found;
}

SmallVector<BlockArgument> weft::findLoopParameters(func::FuncOp entry) {
  LoopInputs inputs(entry);
  SmallVector<Value> values;
  for (OpOperand *input : inputs.all())
    values.push_back(input->get());
  SmallVector<BlockArgument> parameters =
      inputs.findParameters(values).takeVector();
  llvm::sort(parameters, [](BlockArgument a, BlockArgument b) {
    return a.getArgNumber() < b.getArgNumber();
  });
  return parameters;
}

llvm::SmallBitVector weft::findStagesWithParameter(func::FuncOp entry,
                                                   int64_t count) {
  llvm::SmallBitVector with(count);
  if (llvm::none_of(entry.getArguments(), isDifferentiated))
    return with.set();
  LoopInputs inputs(entry);
  std::vector<SmallVector<Value>> ofStage(count);
  for (OpOperand *input : inputs.all())
    if (int64_t stage = stageOf(getOrigin(input->getOwner())); stage >= 0)
      ofStage[stage].push_back(input->get());
  for (int64_t stage = 0; stage < count; ++stage)
    if (!inputs.findParameters(ofStage[stage]).empty())
      with.set(stage);
  return with;
}
