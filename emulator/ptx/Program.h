//===- Program.h - A kernel in the form that is executed --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One instruction is executed for all threads of a warp that stand at it.
// A register is an array of 32 lanes in the file of its warp, a predicate a
// mask, and every operand the offset of a register in bytes: immediates,
// special registers and addresses of variables are registers that are filled
// before the first instruction.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_PROGRAM_H
#define WEFT_EMULATOR_PTX_PROGRAM_H

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::emulator {

inline constexpr uint32_t warpSize = 32;
/// Bit i: lane i of a warp.
using Mask = uint32_t;

class Warp;
struct Op;
using Handler = void (*)(Warp &, const Op &, Mask);

struct Op {
  enum class Flow : uint8_t {
    /// `run`, then the next instruction.
    Next,
    /// To `target`.
    Branch,
    /// To an entry of table `immediate`, by the index in the first operand.
    BranchTable,
    Exit,
    /// Waits for the lanes in the last operand, then `run`.
    WarpSync,
    /// Waits for the threads of the block: the last operands are the number
    /// of the barrier and that of the threads (0: all).
    Barrier,
    /// Only tells a barrier that it was here.
    BarrierArrive,
  };
  static constexpr uint32_t noGuard = ~0u;

  Handler run = nullptr;
  Flow flow = Flow::Next;
  bool guardNegated = false;
  /// The first `definitions` of `count` operands are written.
  uint8_t definitions = 0, count = 0;
  /// What the handler reads as it likes.
  uint8_t flags = 0;
  uint32_t line = 0;
  uint32_t guard = noGuard;
  uint32_t target = 0;
  uint64_t immediate = 0;
  std::array<uint32_t, 9> operands{};
};

/// What a register holds before the first instruction.
struct Preload {
  enum class Kind : uint8_t {
    /// `value`.
    Value,
    /// Coordinate number `value` of the thread, block, ...
    ThreadIndex,
    BlockSize,
    BlockIndex,
    GridSize,
    Lane,
    WarpIndex,
    WarpCount,
    /// The mask of lanes below the own one, and so on.
    LanesBelow,
    LanesUpTo,
    LaneItself,
    LanesFrom,
    LanesAbove,
    /// Address of the launch's parameters plus `value`.
    Parameter,
    /// Bytes of dynamic, and of all, shared memory.
    DynamicShared,
    AllShared,
    /// The kernel's static shared memory plus `value`: what is dynamic starts
    /// there.
    DynamicSharedBegin,
  };
  Kind kind = Kind::Value;
  uint8_t size = 4;
  uint64_t value = 0;
  /// The offset of the register.
  uint32_t offset = 0;

  bool operator==(const Preload &) const = default;
};

struct Program {
  std::string name;
  std::vector<Op> code;
  std::vector<Preload> preloads;
  std::vector<std::vector<uint32_t>> branchTables;
  /// Bytes of registers of a warp, of shared memory of a block, of local
  /// memory of a thread, and of the parameters.
  uint32_t registerBytes = 0, sharedBytes = 0, localBytes = 0,
           parameterBytes = 0;
  /// Where each parameter begins, and its size.
  std::vector<std::pair<uint32_t, uint32_t>> parameters;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_PROGRAM_H
