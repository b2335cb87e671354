//===- PackedTileAvx512.cpp - A tile with AVX-512 ---------------*- C++ -*-===//
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/WindowTileCode.h"

void weft::runtime::avx512::computeTile(const PackedTile &tile,
                                        std::byte *scratchpad) {
  PackedCode<16, 12>::compute(tile, scratchpad);
}

void weft::runtime::avx512::computeWindows(const WindowTile &tile,
                                           std::byte *scratchpad) {
  WindowCode<16, 12>::computeWindows(tile, scratchpad);
}
