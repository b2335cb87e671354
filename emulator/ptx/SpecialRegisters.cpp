//===- SpecialRegisters.cpp - %tid.x and its like -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecialRegisters.h"

#include <utility>

namespace weft::emulator {

std::optional<Preload> specialRegister(std::string_view name) {
  using Kind = Preload::Kind;
  static constexpr std::pair<std::string_view, Kind> scalars[] = {
      {"%laneid", Kind::Lane},
      {"%warpid", Kind::WarpIndex},
      {"%nwarpid", Kind::WarpCount},
      {"%lanemask_lt", Kind::LanesBelow},
      {"%lanemask_le", Kind::LanesUpTo},
      {"%lanemask_eq", Kind::LaneItself},
      {"%lanemask_ge", Kind::LanesFrom},
      {"%lanemask_gt", Kind::LanesAbove},
      {"%dynamic_smem_size", Kind::DynamicShared},
      {"%total_smem_size", Kind::AllShared},
  };
  static constexpr std::pair<std::string_view, Kind> vectors[] = {
      {"%tid.", Kind::ThreadIndex},
      {"%ntid.", Kind::BlockSize},
      {"%ctaid.", Kind::BlockIndex},
      {"%nctaid.", Kind::GridSize},
  };
  Preload result;
  for (const auto &[text, kind] : scalars)
    if (name == text) {
      result.kind = kind;
      return result;
    }
  for (const auto &[text, kind] : vectors)
    if (name.size() == text.size() + 1 && name.starts_with(text) &&
        name.back() >= 'x' && name.back() <= 'z') {
      result.kind = kind;
      result.value = name.back() - 'x';
      return result;
    }
  return std::nullopt;
}

} // namespace weft::emulator
