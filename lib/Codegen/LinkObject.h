//===- LinkObject.h - Objects to shared objects -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Relocatable objects to a shared object, by lld.

#ifndef WEFT_LIB_CODEGEN_LINKOBJECT_H
#define WEFT_LIB_CODEGEN_LINKOBJECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace weft {

/// The one symbol of a relocatable object for other objects.
inline constexpr llvm::StringLiteral kObjectSymbol = "kernel";

/// A relocatable object, and what its symbol is in the shared one.
struct NamedObject {
  llvm::StringRef object;
  llvm::StringRef symbol;
};

/// The bytes of the shared object. Fails if an object refers to a symbol that
/// it does not define.
llvm::Expected<std::string>
linkSharedObject(llvm::ArrayRef<NamedObject> objects);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_LINKOBJECT_H
