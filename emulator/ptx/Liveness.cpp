//===- Liveness.cpp - Where registers hold what is read later -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Liveness.h"

#include <algorithm>

namespace weft::emulator {
namespace {

using Bits = std::vector<uint64_t>;

bool has(const Bits &bits, uint32_t index) {
  return bits[index / 64] >> (index % 64) & 1;
}
void set(Bits &bits, uint32_t index) {
  bits[index / 64] |= uint64_t(1) << (index % 64);
}

struct BasicBlock {
  uint32_t begin, end;
  std::vector<uint32_t> successors;
  /// Registers that are read before they are written, that are written, and
  /// that are live at the begin and at the end.
  Bits reads, writes, liveIn, liveOut;
};

class Analysis {
public:
  Analysis(const Program &program, size_t count)
      : program(program), code(program.code), words((count + 63) / 64),
        intervals(count) {}

  std::vector<Interval> run() {
    split();
    for (BasicBlock &block : blocks)
      summarize(block);
    while (propagate())
      ;
    for (const BasicBlock &block : blocks)
      extend(block);
    return std::move(intervals);
  }

private:
  /// Targets of an operation besides the next one.
  std::vector<uint32_t> targets(const Op &op) const {
    if (op.flow == Op::Flow::Branch)
      return {op.target};
    if (op.flow == Op::Flow::BranchTable)
      return program.branchTables[op.immediate];
    return {};
  }

  static bool endsBlock(const Op &op) {
    return op.flow == Op::Flow::Branch || op.flow == Op::Flow::BranchTable ||
           op.flow == Op::Flow::Exit;
  }

  void split() {
    std::vector<bool> starts(code.size() + 1);
    starts[0] = true;
    for (size_t i = 0; i < code.size(); ++i) {
      for (uint32_t target : targets(code[i]))
        starts[target] = true;
      if (endsBlock(code[i]))
        starts[i + 1] = true;
    }
    std::vector<uint32_t> blockAt(code.size() + 1);
    for (uint32_t i = 0; i < code.size(); ++i) {
      if (starts[i])
        blocks.push_back(
            {i, i, {}, Bits(words), Bits(words), Bits(words), Bits(words)});
      blocks.back().end = i + 1;
      blockAt[i] = blocks.size() - 1;
    }
    for (BasicBlock &block : blocks) {
      const Op &last = code[block.end - 1];
      for (uint32_t target : targets(last))
        block.successors.push_back(blockAt[target]);
      bool falls = !endsBlock(last) || last.guard != Op::noGuard;
      if (falls && block.end < code.size())
        block.successors.push_back(blockAt[block.end]);
    }
  }

  template <typename Read, typename Write>
  void forOperands(const Op &op, Read read, Write write) const {
    for (uint32_t k = op.definitions; k < op.count; ++k)
      read(op.operands[k]);
    if (op.guard != Op::noGuard)
      read(op.guard);
    for (uint32_t k = 0; k < op.definitions; ++k)
      write(op.operands[k]);
  }

  void summarize(BasicBlock &block) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Op &op = code[i];
      auto reads = [&](uint32_t index) {
        intervals[index].include(i);
        if (!has(block.writes, index))
          set(block.reads, index);
      };
      forOperands(op, reads, [&](uint32_t index) {
        // What a guard leaves as it was goes on living.
        if (op.guard != Op::noGuard)
          reads(index);
        intervals[index].include(i);
        set(block.writes, index);
      });
    }
  }

  bool propagate() {
    bool changed = false;
    for (size_t b = blocks.size(); b-- > 0;) {
      BasicBlock &block = blocks[b];
      for (size_t w = 0; w < words; ++w) {
        uint64_t out = 0;
        for (uint32_t successor : block.successors)
          out |= blocks[successor].liveIn[w];
        uint64_t in = block.reads[w] | (out & ~block.writes[w]);
        changed |= in != block.liveIn[w];
        block.liveOut[w] = out;
        block.liveIn[w] = in;
      }
    }
    return changed;
  }

  void extend(const BasicBlock &block) {
    for (uint32_t index = 0; index < intervals.size(); ++index) {
      if (has(block.liveIn, index))
        intervals[index].include(block.begin);
      if (has(block.liveOut, index))
        intervals[index].include(block.end - 1);
    }
  }

  const Program &program;
  const std::vector<Op> &code;
  size_t words;
  std::vector<Interval> intervals;
  std::vector<BasicBlock> blocks;
};

} // namespace

std::vector<Interval> computeIntervals(const Program &program, size_t count) {
  return Analysis(program, count).run();
}

} // namespace weft::emulator
