//===- RegisterTable.h - Registers and their places in a warp's file -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_PTX_REGISTERTABLE_H
#define WEFT_EMULATOR_PTX_REGISTERTABLE_H

#include "Emitter.h"

#include <map>
#include <tuple>

namespace weft::emulator {

class RegisterTable {
public:
  /// Registers of `size` bytes a lane; a predicate has 0.
  Value add(uint32_t size) {
    sizes.push_back(static_cast<uint8_t>(size));
    return {static_cast<uint32_t>(sizes.size() - 1)};
  }
  /// The register that is filled with this before the program starts.
  Value preloaded(const Preload &preload);
  uint32_t size(Value value) const { return sizes[value.index]; }

  /// Gives every register of `program`, whose operands are indices of this
  /// table, an offset. Registers that are not live together share offsets.
  void allocate(Program &program) const;

private:
  std::vector<uint8_t> sizes;
  std::vector<std::pair<Preload, uint32_t>> preloads;
  std::map<std::tuple<Preload::Kind, uint8_t, uint64_t>, uint32_t> known;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_PTX_REGISTERTABLE_H
