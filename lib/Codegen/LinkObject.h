//===- LinkObject.h - Objects to shared objects -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Relocatable object to shared object, by lld.

#ifndef WEFT_LIB_CODEGEN_LINKOBJECT_H
#define WEFT_LIB_CODEGEN_LINKOBJECT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace weft {

/// The bytes of the shared object. Fails if `object` refers to a symbol that it
/// does not define.
llvm::Expected<std::string> linkSharedObject(llvm::StringRef object);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_LINKOBJECT_H
