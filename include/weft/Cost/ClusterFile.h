//===- ClusterFile.h - Reads a description of a cluster ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster file is TOML; docs/Cost.md describes it key by key, and clusters/
// has those that come with the tools. `base = "h100-sxm"` takes over another
// one's keys. Everything wrong in a file is reported at once:
//
//   mine.toml:12:1: "launch_seconds" in [device] must be from 0 to 1, got 5.0
//   mine.toml:15:1: unknown key "nics" in [network]; known keys are ...
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_CLUSTERFILE_H
#define WEFT_COST_CLUSTERFILE_H

#include "weft/Cost/Cluster.h"

namespace weft::cost {

/// A cluster, or why there is none.
struct ParsedCluster {
  std::optional<Cluster> cluster;
  /// `file:line:column: what is wrong`, in the order of the file.
  std::vector<std::string> problems;
};

/// `fileName` is for messages.
ParsedCluster parseCluster(std::string_view text, const std::string &fileName);

/// A file that comes with the tools.
struct ShippedFile {
  std::string_view name, text;
};
/// Sorted by name.
const std::vector<ShippedFile> &shippedClusters();
std::optional<std::string_view> findShippedCluster(std::string_view name);

/// The shipped cluster that is taken where none is named, whatever a plan is
/// made for: what is tried on a CPU is then what runs on GPUs.
inline constexpr std::string_view defaultCluster = "dgx-h100";

/// The shipped cluster of a name, or else what the file of that path describes.
ParsedCluster loadCluster(const std::string &nameOrPath);

/// A software profile, or why there is none.
struct ParsedSoftware {
  std::optional<SoftwareProfile> software;
  std::vector<std::string> problems;
};

/// The files of software/, sorted by name: what the table [software] of a
/// cluster file may have, with `profile = NAME` for all that it leaves out.
const std::vector<ShippedFile> &shippedSoftware();
/// The shipped profile of a name, or else what the file of that path describes.
ParsedSoftware loadSoftware(const std::string &nameOrPath);

} // namespace weft::cost

#endif // WEFT_COST_CLUSTERFILE_H
