//===- Inputs.cpp - Input files of shard-run --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace weft::tools {

using namespace weft::runtime;

std::string typeName(DType dtype, const std::vector<int64_t> &shape) {
  return fmt::format("{}[{}]", name(dtype), fmt::join(shape, "x"));
}

static std::string entryNames(const Plan &plan) {
  std::vector<std::string> names;
  for (const EntrySpec &entry : plan.entries())
    names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void Inputs::chooseEntries(const Arguments &arguments, const Plan &plan,
                           Problems &problems) {
  const auto find = [&](const std::string &name, const char *option) {
    const EntrySpec *entry = plan.entry(name);
    if (!entry)
      problems.push_back(
          fmt::format("{}: the plan has no entry \"{}\"; it has: {}", option,
                      name, entryNames(plan)));
    return entry;
  };
  if (!arguments.init.empty())
    init = find(arguments.init, "--init");
  if (!arguments.entry.empty()) {
    stepped = find(arguments.entry, "--entry");
    return;
  }
  stepped = plan.entry("train_step");
  size_t candidates = 0;
  if (!stepped)
    for (const EntrySpec &entry : plan.entries())
      if (entry.name != arguments.init && ++candidates)
        stepped = &entry;
  if (candidates > 1)
    stepped = nullptr;
  if (!stepped)
    problems.push_back(fmt::format(
        "choose an entry with --entry; the plan has: {}", entryNames(plan)));
}

const ValueSpec *Inputs::valueNamed(const std::string &name) const {
  for (const EntrySpec *entry : {stepped, init})
    if (entry)
      if (const ValueSpec *value = entry->input(name))
        return value;
  return nullptr;
}

static bool isSameType(const TensorFile &reader, const ValueSpec &value) {
  return reader.dtype() == value.dtype && reader.shape() == value.globalShape;
}

static bool isStackOf(const TensorFile &reader, const ValueSpec &value) {
  const auto &shape = reader.shape();
  return !value.isState && reader.dtype() == value.dtype &&
         shape.size() == value.globalShape.size() + 1 && shape[0] > 0 &&
         std::equal(shape.begin() + 1, shape.end(), value.globalShape.begin());
}

void Inputs::openFiles(const Arguments &arguments, const Plan &plan,
                       Problems &problems) {
  std::vector<std::string> seen;
  for (const NamedFile &file : arguments.inputs) {
    const ValueSpec *value = valueNamed(file.name);
    if (!value)
      value = plan.state(file.name);
    if (!value) {
      problems.push_back(fmt::format(
          "--input {}: neither a state nor an input of the entries that run",
          file.name));
      continue;
    }
    if (std::find(seen.begin(), seen.end(), file.name) != seen.end())
      problems.push_back(fmt::format("--input {}: given twice", file.name));
    seen.push_back(file.name);
    Result<TensorFile> reader = TensorFile::open(file);
    if (!reader.ok()) {
      problems.push_back(
          fmt::format("--input {}: {}", file.name, reader.status().message()));
      continue;
    }
    const bool isStack = isStackOf(*reader, *value);
    if (!isStack && !isSameType(*reader, *value)) {
      problems.push_back(
          fmt::format("--input {}: {} holds {}, the plan wants {}{}", file.name,
                      file.path, typeName(reader->dtype(), reader->shape()),
                      typeName(value->dtype, value->globalShape),
                      value->isState ? "" : " or a stack of them"));
      continue;
    }
    files.push_back({value, *std::move(reader), isStack});
  }
}

void Inputs::openLoaded(const std::string &path, const Plan &plan,
                        Problems &problems) {
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file.ok()) {
    problems.push_back(fmt::format("--load: {}", file.status().message()));
    return;
  }
  for (const ValueSpec &state : plan.states()) {
    const TensorInfo *tensor = file->find(state.name);
    if (!tensor)
      problems.push_back(
          fmt::format("--load: {} has no state \"{}\"", path, state.name));
    else if (tensor->dtype != state.dtype || tensor->shape != state.globalShape)
      problems.push_back(
          fmt::format("--load: {} has \"{}\" as {}, the plan wants {}", path,
                      state.name, typeName(tensor->dtype, tensor->shape),
                      typeName(state.dtype, state.globalShape)));
  }
  for (const TensorInfo &tensor : file->tensors())
    if (!plan.state(tensor.name))
      problems.push_back(
          fmt::format("--load: {} has \"{}\", which is no state of the plan",
                      path, tensor.name));
  loaded = *std::move(file);
}

/// The first names, and how many more there are.
static std::string statesNamed(const std::vector<std::string> &names) {
  constexpr size_t mostNames = 8;
  const size_t shown = std::min(names.size(), mostNames);
  std::string text =
      fmt::format("{} \"{}\"", names.size() == 1 ? "state" : "states",
                  fmt::join(names.begin(), names.begin() + shown, "\", \""));
  if (names.size() > shown)
    text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

/// How the states `unset` can be set. What --load gives comes too late for the
/// entry of --init.
static std::string remedy(const Arguments &arguments, const Plan &plan,
                          const std::vector<std::string> &unset, bool isInit) {
  std::vector<std::string> ways;
  for (const EntrySpec &other : plan.entries()) {
    const auto sets = [&](const std::string &name) {
      return other.output(name) && !other.input(name);
    };
    if (other.name != arguments.init &&
        std::all_of(unset.begin(), unset.end(), sets))
      ways.push_back("--init " + other.name);
  }
  if (!isInit)
    ways.push_back("--load");
  std::string text = fmt::format("{}", fmt::join(ways, ", "));
  return text + (ways.empty() ? "--input" : " or --input");
}

/// What the entries read and nothing sets, in the order in which they run.
void Inputs::findMissing(const Arguments &arguments, const Plan &plan,
                         Problems &problems) const {
  std::set<std::string> isSet;
  for (const NamedFile &file : arguments.inputs)
    isSet.insert(file.name);
  for (const bool isInit : {true, false}) {
    const EntrySpec *entry = isInit ? init : stepped;
    if (!entry || (!isInit && arguments.steps == 0))
      continue;
    if (!isInit && init)
      for (const ValueSpec &value : init->outputs)
        isSet.insert(value.name);
    if (!isInit && (!arguments.load.empty() || isResumed))
      for (const ValueSpec &state : plan.states())
        isSet.insert(state.name);
    std::vector<std::string> unset;
    for (const ValueSpec &value : entry->inputs) {
      // Named once when both entries want it.
      if (!isSet.insert(value.name).second)
        continue;
      if (value.isState)
        unset.push_back(value.name);
      else
        problems.push_back(fmt::format(
            "input \"{}\" ({}) of entry \"{}\" is missing: give it with "
            "--input {}=FILE.npy",
            value.name, typeName(value.dtype, value.globalShape), entry->name,
            value.name));
    }
    if (!unset.empty())
      problems.push_back(fmt::format(
          "{} of entry \"{}\" {} never set{}: use {}", statesNamed(unset),
          entry->name, unset.size() == 1 ? "is" : "are",
          isInit ? " before --init" : "",
          remedy(arguments, plan, unset, isInit)));
  }
}

/// States that --save or --checkpoint would write and nothing sets. Those that
/// an entry reads are named by `findMissing`.
void Inputs::findUnsaved(const Arguments &arguments, const Plan &plan,
                         Problems &problems) const {
  if ((arguments.save.empty() && arguments.checkpoints.empty()) ||
      !arguments.load.empty() || isResumed)
    return;
  std::set<std::string> isSet;
  for (const NamedFile &file : arguments.inputs)
    isSet.insert(file.name);
  for (const EntrySpec *entry : {init, arguments.steps > 0 ? stepped : nullptr})
    if (entry)
      for (const auto *values : {&entry->inputs, &entry->outputs})
        for (const ValueSpec &value : *values)
          isSet.insert(value.name);
  std::vector<std::string> unset;
  for (const ValueSpec &state : plan.states())
    if (!isSet.count(state.name))
      unset.push_back(state.name);
  if (!unset.empty())
    problems.push_back(
        fmt::format("{}: {} {} never set: use {}",
                    arguments.save.empty() ? "--checkpoint" : "--save",
                    statesNamed(unset), unset.size() == 1 ? "is" : "are",
                    remedy(arguments, plan, unset, /*isInit=*/false)));
}

void Inputs::checkOutputNames(const Arguments &arguments,
                              Problems &problems) const {
  for (const NamedFile &file : arguments.outputs) {
    const ValueSpec *output = stepped->output(file.name);
    if (!output)
      problems.push_back(fmt::format("--output {}: entry \"{}\" has no such "
                                     "output",
                                     file.name, stepped->name));
    else if (const std::string reason = whyNotWritten(file, output->dtype);
             !reason.empty())
      problems.push_back(fmt::format("--output {}: {}", file.name, reason));
    if (arguments.steps == 0)
      problems.push_back(fmt::format(
          "--output {}: --steps 0 leaves no output; run at least one step",
          file.name));
  }
}

Inputs Inputs::open(const Arguments &arguments, const Plan &plan,
                    bool isResumed, Problems &problems) {
  Inputs inputs;
  inputs.isResumed = isResumed;
  inputs.chooseEntries(arguments, plan, problems);
  if (!problems.empty())
    return inputs;
  inputs.openFiles(arguments, plan, problems);
  if (isResumed)
    inputs.init = nullptr;
  else if (!arguments.load.empty())
    inputs.openLoaded(arguments.load, plan, problems);
  inputs.findMissing(arguments, plan, problems);
  inputs.findUnsaved(arguments, plan, problems);
  inputs.checkOutputNames(arguments, problems);
  return inputs;
}

TensorSource InputFileOf::at(int64_t step) const {
  return isStack ? reader.slice(step % reader.shape()[0]) : reader.source();
}

/// Sets the states or the other inputs of `entry` from their files.
Status Inputs::setFrom(Session &session, const EntrySpec &entry, int64_t step,
                       bool states, bool isFirst) const {
  for (const InputFileOf &file : files) {
    const ValueSpec &value = *file.value;
    if (value.isState != states || (!states && !entry.input(value.name)))
      continue;
    // What is the same in every step was set in the first one.
    if (!states && !file.isStack && !isFirst)
      continue;
    const TensorSource source = file.at(step);
    WEFT_RETURN_IF_ERROR(
        states ? session.setStateFrom(value.name, source)
               : session.setInputFrom(entry.name, value.name, source));
  }
  return {};
}

Status Inputs::setStates(Session &session) const {
  if (isResumed)
    return {};
  if (init) {
    WEFT_RETURN_IF_ERROR(setFrom(session, *init, 0, /*states=*/true));
    WEFT_RETURN_IF_ERROR(setFrom(session, *init, 0, /*states=*/false));
    WEFT_RETURN_IF_ERROR(session.run(init->name));
  }
  if (loaded)
    for (const ValueSpec &state : session.plan().states()) {
      WEFT_ASSIGN_OR_RETURN(const Array array, loaded->read(state.name));
      WEFT_RETURN_IF_ERROR(session.setState(state.name, array));
    }
  return setFrom(session, *stepped, 0, /*states=*/true);
}

Result<std::map<std::string, Array>> Inputs::readInputs() const {
  std::map<std::string, Array> arrays;
  for (const InputFileOf &file : files) {
    if (file.value->isState || !stepped->input(file.value->name))
      continue;
    const TensorSource source = file.at(0);
    Array &array = arrays[file.value->name] = {source.dtype, source.shape};
    WEFT_RETURN_IF_ERROR(source.read(0, array.data));
  }
  return arrays;
}

Status Inputs::setInputs(Session &session, int64_t step, bool isFirst) const {
  return setFrom(session, *stepped, step, /*states=*/false, isFirst);
}

} // namespace weft::tools
