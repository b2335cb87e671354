//===- SoftwareReader.h - Reads software profiles ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table [software] of a cluster file, which is also a file of its own, and
// what both kinds of files share.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_COST_SOFTWAREREADER_H
#define WEFT_LIB_COST_SOFTWAREREADER_H

#include "TableReader.h"

#include "weft/Cost/ClusterFile.h"

namespace weft::cost {

SoftwareProfile readSoftware(TableReader file);

/// Puts the keys of the profile that [software] names under those of it.
void addProfile(TomlTable &root, Problems &problems);

std::optional<std::string_view>
findShipped(const std::vector<ShippedFile> &files, std::string_view name);
/// "a, b".
std::string namesOf(const std::vector<ShippedFile> &files);
/// None, and why.
std::optional<std::string> readText(const std::string &path,
                                    std::string &problem);
/// `file:line:column: what is wrong`, in the order of the file.
std::vector<std::string> printSorted(Problems &problems);

} // namespace weft::cost

#endif // WEFT_LIB_COST_SOFTWAREREADER_H
