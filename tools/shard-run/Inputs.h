//===- Inputs.h - Input files of shard-run ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_INPUTS_H
#define WEFT_TOOLS_SHARD_RUN_INPUTS_H

#include "Arguments.h"
#include "TensorFile.h"
#include "weft/runtime/Safetensors.h"
#include "weft/runtime/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::tools {

/// An opened --input file.
struct InputFileOf {
  const runtime::ValueSpec *value = nullptr;
  TensorFile reader;
  /// Whether the file has one slice a step.
  bool isStack = false;
};

/// The files and entries of a run, checked against the plan.
class Inputs {
public:
  /// Opens and checks everything; adds to `problems`.
  static Inputs open(const Arguments &arguments, const runtime::Plan &plan,
                     Problems &problems);

  /// The entry that is stepped.
  const runtime::EntrySpec &entry() const { return *stepped; }

  /// Sets what does not change from step to step: runs --init, then sets states
  /// from --load and --input.
  runtime::Status setStates(runtime::Session &session) const;

  /// Sets the inputs of step `step`, from 0.
  runtime::Status setInputs(runtime::Session &session, int64_t step) const;

private:
  void chooseEntries(const Arguments &arguments, const runtime::Plan &plan,
                     Problems &problems);
  void openFiles(const Arguments &arguments, const runtime::Plan &plan,
                 Problems &problems);
  void openCheckpoint(const std::string &path, const runtime::Plan &plan,
                      Problems &problems);
  void findMissing(const Arguments &arguments, const runtime::Plan &plan,
                   Problems &problems) const;
  void findUnsaved(const Arguments &arguments, const runtime::Plan &plan,
                   Problems &problems) const;
  void checkOutputNames(const Arguments &arguments, Problems &problems) const;
  const runtime::ValueSpec *valueNamed(const std::string &name) const;
  runtime::Status setFrom(runtime::Session &session,
                          const runtime::EntrySpec &entry, int64_t step,
                          bool states) const;

  const runtime::EntrySpec *stepped = nullptr;
  const runtime::EntrySpec *init = nullptr;
  std::vector<InputFileOf> files;
  std::optional<runtime::SafetensorsFile> checkpoint;
};

/// `f32[4x8]`.
std::string typeName(runtime::DType dtype, const std::vector<int64_t> &shape);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_INPUTS_H
