//===- EmbeddedPtx.h - The runtime's own device code ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The PTX of each file in kernels/, put there by weft_embed_ptx in CMake. The
// texts end with a zero, as cudaLibraryLoadData wants.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_EMBEDDEDPTX_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_EMBEDDEDPTX_H

#include <string_view>

namespace weft::runtime::embedded {

extern const std::string_view Blocks;

} // namespace weft::runtime::embedded

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_EMBEDDEDPTX_H
