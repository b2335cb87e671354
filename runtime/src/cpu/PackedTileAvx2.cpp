//===- PackedTileAvx2.cpp - A tile with AVX2 --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/WindowTileCode.h"

void weft::runtime::avx2::computeTile(const PackedTile &tile,
                                      std::byte *scratchpad) {
  PackedCode<8, 6>::compute(tile, scratchpad);
}

void weft::runtime::avx2::computeWindows(const WindowTile &tile,
                                         std::byte *scratchpad) {
  WindowCode<8, 6>::computeWindows(tile, scratchpad);
}
