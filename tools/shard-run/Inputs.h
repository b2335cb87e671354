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

#include <map>
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

  /// The value in step `step`, from 0.
  runtime::TensorSource at(int64_t step) const;
};

/// The files and entries of a run, checked against the plan.
class Inputs {
public:
  /// Opens and checks everything; adds to `problems`. A run that is resumed
  /// has all its states from a checkpoint.
  static Inputs open(const Arguments &arguments, const runtime::Plan &plan,
                     bool isResumed, Problems &problems);

  /// The entry that is stepped.
  const runtime::EntrySpec &entry() const { return *stepped; }

  /// Sets what does not change from step to step: runs --init, then sets states
  /// from --load and --input.
  runtime::Status setStates(runtime::Session &session) const;

  /// Sets the inputs of step `step`, from 0; in the first step of this run all,
  /// then those that change.
  runtime::Status setInputs(runtime::Session &session, int64_t step,
                            bool isFirst) const;

  /// The inputs of the first step that are no states, by name.
  runtime::Result<std::map<std::string, runtime::Array>> readInputs() const;

private:
  void chooseEntries(const Arguments &arguments, const runtime::Plan &plan,
                     Problems &problems);
  void openFiles(const Arguments &arguments, const runtime::Plan &plan,
                 Problems &problems);
  void openLoaded(const std::string &path, const runtime::Plan &plan,
                  Problems &problems);
  void findMissing(const Arguments &arguments, const runtime::Plan &plan,
                   Problems &problems) const;
  void findUnsaved(const Arguments &arguments, const runtime::Plan &plan,
                   Problems &problems) const;
  void checkOutputNames(const Arguments &arguments, Problems &problems) const;
  const runtime::ValueSpec *valueNamed(const std::string &name) const;
  runtime::Status setFrom(runtime::Session &session,
                          const runtime::EntrySpec &entry, int64_t step,
                          bool states, bool isFirst = true) const;

  const runtime::EntrySpec *stepped = nullptr;
  const runtime::EntrySpec *init = nullptr;
  std::vector<InputFileOf> files;
  std::optional<runtime::SafetensorsFile> loaded;
  bool isResumed = false;
};

/// `f32[4x8]`.
std::string typeName(runtime::DType dtype, const std::vector<int64_t> &shape);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_INPUTS_H
