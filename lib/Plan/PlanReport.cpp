//===- PlanReport.cpp - What a plan sends and stores ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Plan/PlanReport.h"

#include "weft/runtime/plan_generated.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"

#include <tuple>

namespace weft {

namespace {

/// Collectives of one entry that look alike.
struct Row {
  plan::CollectiveKind kind;
  std::string axes;
  std::string cause;
  uint64_t wireBytes;
  int64_t count;

  bool isLike(const Row &other) const {
    return std::tie(kind, axes, cause, wireBytes) ==
           std::tie(other.kind, other.axes, other.cause, other.wireBytes);
  }
};

} // namespace

/// `data, model:(2)4`
static std::string print(const plan::Plan &plan, const plan::AxisList &axes) {
  std::string text;
  for (const plan::AxisRef *ref : *axes.axes()) {
    const plan::MeshAxis &axis = *plan.mesh()->Get(ref->axis());
    text += (text.empty() ? "" : ", ") + axis.name()->str();
    if (ref->size() != axis.size())
      text += ":(" + std::to_string(ref->pre_size()) + ")" +
              std::to_string(ref->size());
  }
  return text;
}

static llvm::StringRef nameOf(plan::CollectiveKind kind) {
  switch (kind) {
  case plan::CollectiveKind::AllReduce:
    return "all_reduce";
  case plan::CollectiveKind::AllGather:
    return "all_gather";
  case plan::CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case plan::CollectiveKind::AllToAll:
    return "all_to_all";
  case plan::CollectiveKind::Permute:
    return "permute";
  }
  return "?";
}

/// The collectives of an entry in the order of their first start.
static std::vector<Row> collectRows(const plan::Plan &plan,
                                    const plan::Entry &entry) {
  std::vector<Row> rows;
  for (const plan::Instruction *instruction : *entry.instructions()) {
    const auto *start = instruction->operation_as_CollectiveStart();
    if (!start)
      continue;
    const plan::AxisList &group = *plan.groups()->Get(start->group());
    Row row = {start->kind(), print(plan, group),
               instruction->cause() ? instruction->cause()->str() : "",
               start->wire_bytes(), 1};
    auto same =
        llvm::find_if(rows, [&](const Row &old) { return old.isLike(row); });
    if (same != rows.end())
      ++same->count;
    else
      rows.push_back(std::move(row));
  }
  return rows;
}

/// `1.50 MiB`, with three significant digits or all of a small number.
static std::string printBytes(uint64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (unit == 0)
    os << bytes;
  else
    os << llvm::format(value < 10    ? "%.2f"
                       : value < 100 ? "%.1f"
                                     : "%.0f",
                       value);
  os << ' ' << units[unit];
  return text;
}

static void printCollectives(llvm::raw_ostream &os, const plan::Plan &plan,
                             const plan::Entry &entry) {
  std::vector<Row> rows = collectRows(plan, entry);
  if (rows.empty())
    return;
  unsigned kindWidth = 10, axesWidth = 4;
  for (const Row &row : rows) {
    kindWidth = std::max<unsigned>(kindWidth, nameOf(row.kind).size());
    axesWidth = std::max<unsigned>(axesWidth, row.axes.size());
  }
  os << "  " << llvm::left_justify("collective", kindWidth) << "  "
     << llvm::left_justify("axes", axesWidth) << "  bytes sent  count  cause\n";
  uint64_t total = 0;
  for (const Row &row : rows) {
    total += row.wireBytes * row.count;
    os << "  " << llvm::left_justify(nameOf(row.kind), kindWidth) << "  "
       << llvm::left_justify(row.axes, axesWidth) << "  "
       << llvm::format("%10llu  %5lld", (unsigned long long)row.wireBytes,
                       (long long)row.count)
       << "  " << (row.cause.empty() ? "-" : row.cause) << '\n';
  }
  os << "  " << total << " bytes sent by a rank in one call\n";
}

/// Counts the instructions of each sort.
static std::string summarize(const plan::Entry &entry) {
  int64_t kernels = 0, gemms = 0, collectives = 0, copies = 0;
  for (const plan::Instruction *instruction : *entry.instructions()) {
    kernels += instruction->operation_type() == plan::Operation::Launch;
    gemms += instruction->operation_type() == plan::Operation::Gemm;
    copies += instruction->operation_type() == plan::Operation::Copy;
    collectives +=
        instruction->operation_type() == plan::Operation::CollectiveStart;
  }
  std::string text;
  auto add = [&](int64_t count, const char *one, const char *many) {
    if (count)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
              (count == 1 ? one : many);
  };
  add(gemms, "GEMM", "GEMMs");
  add(kernels, "kernel launch", "kernel launches");
  add(collectives, "collective", "collectives");
  add(copies, "copy", "copies");
  return text.empty() ? "no instructions" : text;
}

/// States and constants have their own places; the rest of the arena is shared
/// by what the instructions make.
static void printMemory(llvm::raw_ostream &os, const plan::Plan &plan) {
  uint64_t states = 0, fixed = 0;
  for (const plan::State *state : *plan.states()) {
    states += state->bytes();
    fixed = std::max(fixed, state->offset() + state->bytes());
  }
  uint64_t constants = plan.constant_data() ? plan.constant_data()->size() : 0;
  fixed = (fixed + 63) / 64 * 64 + constants;
  os << "memory of a rank\n"
     << "  states       " << printBytes(states) << "\n";
  if (constants)
    os << "  constants    " << printBytes(constants) << "\n";
  for (const plan::Entry *entry : *plan.entries()) {
    uint64_t used = entry->arena_bytes() - fixed;
    uint64_t bound = entry->liveness_bytes() - fixed;
    os << "  activations  " << printBytes(used) << " in "
       << entry->name()->str();
    if (bound)
      os << llvm::format(", %.3f times the liveness bound",
                         double(used) / double(bound));
    os << "\n";
  }
  os << "  arena        " << printBytes(plan.arena_bytes()) << "\n";
}

void printPlanReport(llvm::raw_ostream &os, llvm::StringRef bytes) {
  const plan::Container &container =
      *plan::GetContainer(reinterpret_cast<const uint8_t *>(bytes.data()));
  const plan::Plan &plan =
      *flatbuffers::GetRoot<plan::Plan>(container.payload()->data());
  for (const plan::Entry *entry : *plan.entries()) {
    os << "entry " << entry->name()->str() << ": " << summarize(*entry) << "\n";
    printCollectives(os, plan, *entry);
  }
  printMemory(os, plan);
}

} // namespace weft
