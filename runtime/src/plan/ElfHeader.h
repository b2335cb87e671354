//===- ElfHeader.h - Shape of a shared object -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Refuses bytes that the dynamic loader would map outside the file: it trusts
// the tables of a shared object.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_ELFHEADER_H
#define WEFT_RUNTIME_SRC_PLAN_ELFHEADER_H

#include "weft/runtime/Status.h"

#include <cstdint>
#include <span>

namespace weft::runtime {

/// Whether `object` is a 64-bit little-endian shared object whose segments lie
/// inside it.
Status checkElfHeader(std::span<const uint8_t> object);

/// Whether `object` is a cubin: a 64-bit ELF file for GPUs, whose sections lie
/// inside it. The driver reads it as far as these say.
Status checkCubinHeader(std::span<const uint8_t> object);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_ELFHEADER_H
