//===- Plan.h - A plan that was read and verified ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only way to the contents of a plan file. A Plan exists only when its
// bytes passed four gates: the container (identifier, version), the hash of the
// payload, the FlatBuffers verifier, and the semantic verifier of
// src/plan/PlanVerifier.h (indices, sizes, strides, groups, lifetimes, races).
// Whoever holds a Plan need not check it again.
//
//   WEFT_ASSIGN_OR_RETURN(Plan plan, Plan::load("model.plan"));
//   for (const EntrySpec &entry : plan.entries())
//     fmt::print("{}: {} inputs\n", entry.name, entry.inputs.size());
//   fmt::print("{}", plan.dump());
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_PLAN_H
#define WEFT_RUNTIME_PLAN_H

#include "weft/runtime/DType.h"
#include "weft/runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::plan {
struct Plan; // the generated FlatBuffers table
} // namespace weft::plan

namespace weft::runtime {

/// A named value that crosses the border of a plan.
struct ValueSpec {
  std::string name;
  DType dtype = DType::F32;
  /// Shape of the whole tensor, and of the part of one rank.
  std::vector<int64_t> globalShape;
  std::vector<int64_t> localShape;
  /// Whether it lives from call to call, shared by all entries.
  bool isState = false;
};

/// A function that the plan offers.
struct EntrySpec {
  std::string name;
  std::vector<ValueSpec> inputs;
  std::vector<ValueSpec> outputs;
  /// Its number in `Plan::contents().entries()`, which has the segments of
  /// pipelines as well.
  uint32_t number = 0;

  /// The input or output of that name, or null.
  const ValueSpec *input(std::string_view name) const;
  const ValueSpec *output(std::string_view name) const;
};

/// A verified plan. Copies share the bytes.
class Plan {
public:
  /// Reads and verifies a file. Messages start with the path.
  static Result<Plan> load(const std::string &path);

  /// Verifies the bytes of a plan file; they are copied.
  static Result<Plan> parse(std::span<const std::byte> bytes);

  /// XXH3 of the payload: the identity of the plan.
  uint64_t hash() const;

  /// Number of devices of the mesh.
  int64_t ranks() const;

  /// Those that can be run: without the segments of pipelines, and without
  /// states that only these use.
  const std::vector<EntrySpec> &entries() const;
  const std::vector<ValueSpec> &states() const;

  /// The entry or state of that name, or null.
  const EntrySpec *entry(std::string_view name) const;
  const ValueSpec *state(std::string_view name) const;

  /// The plan as text, one fact a line; equal plans give equal text.
  std::string dump() const;

  /// One section of it: "header", "groups", "states", "kernels" or the name of
  /// an entry.
  Result<std::string> dump(std::string_view section) const;

  /// The generated accessors of weft/runtime/plan_generated.h.
  const plan::Plan &contents() const;

private:
  struct Image;
  explicit Plan(std::shared_ptr<const Image> image) : image(std::move(image)) {}
  std::shared_ptr<const Image> image;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_H
