//===- PrintPlanReport.cpp - The report of a plan as tables ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryReport.h"
#include "NumberedText.h"
#include "PipelineReport.h"

#include "weft/Cost/Bytes.h"
#include "weft/Report/TextTable.h"

#include <algorithm>

namespace weft {

namespace {
/// A row of the table: collectives of one size, whose causes differ in the
/// numbers of layers.
struct AlikeCollectives {
  const CollectiveRecord *first;
  int64_t count;
  NumberedText cause;
};
} // namespace

static std::string printCollectives(const EntryReport &entry) {
  if (entry.collectives.empty())
    return {};
  TextTable table;
  table.addColumn("collective", TextTable::Align::Left);
  table.addColumn("axes", TextTable::Align::Left);
  table.addColumn("bytes sent");
  table.addColumn("count");
  table.addColumn("cause", TextTable::Align::Left);
  std::vector<AlikeCollectives> rows;
  uint64_t bytes = 0;
  for (const CollectiveRecord &record : entry.collectives) {
    NumberedText cause(record.cause.empty() ? "-"
                                            : joinAlikeLines(record.cause));
    auto alike = std::find_if(rows.begin(), rows.end(), [&](auto &row) {
      const CollectiveRecord &first = *row.first;
      return first.kind == record.kind && first.axes == record.axes &&
             first.reduction == record.reduction &&
             first.bytes == record.bytes && row.cause.add(cause);
    });
    if (alike == rows.end())
      rows.push_back({&record, record.count, std::move(cause)});
    else
      alike->count += record.count;
    bytes += record.count * record.bytes;
  }
  for (const AlikeCollectives &row : rows)
    table.addRow({row.first->kind, join(row.first->axes),
                  printBytes(row.first->bytes), std::to_string(row.count),
                  row.cause.print()});
  return table.print() + "  " + exactBytes(bytes) +
         (entry.pipeline ? " sent by the stages per call\n"
                         : " sent by a rank per call\n");
}

/// Counts the instructions of each kind.
static std::string summarize(const EntryReport &entry) {
  int64_t collectives = 0;
  for (const CollectiveRecord &record : entry.collectives)
    collectives += record.count;
  std::string text;
  auto add = [&](int64_t count, const char *one, const char *many) {
    if (count)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
              (count == 1 ? one : many);
  };
  add(entry.gemms, "GEMM", "GEMMs");
  add(entry.convolutions, "convolution", "convolutions");
  add(entry.attentions, "attention", "attentions");
  add(entry.launches, "kernel launch", "kernel launches");
  add(collectives, "collective", "collectives");
  add(entry.copies, "copy", "copies");
  return text.empty() ? "no instructions" : text;
}

/// `wte: dim 0 of size 50257 over 4 shards of 12565, padded by 3 (0.006 %),
/// 9.00 KiB in all`
static std::string printPadding(const PaddingRecord &record) {
  int64_t padding = record.localSize * record.shards - record.size;
  return "  " + record.name + ": dim " + std::to_string(record.dim) +
         " of size " + std::to_string(record.size) + " over " +
         std::to_string(record.shards) + " shards of " +
         std::to_string(record.localSize) + ", padded by " +
         std::to_string(padding) +
         format(" (%.2g %%), ", 100.0 * padding / record.size) +
         printBytes(record.bytes) + " in all\n";
}

static std::string printPadding(const std::vector<PaddingRecord> &padding) {
  std::string text = padding.empty() ? "" : "padded dimensions\n";
  for (const PaddingRecord &record : padding)
    text += printPadding(record);
  return text;
}

/// `21 kernels for sm_90: a cubin of 52.1 KiB, at most 40 registers and
/// 2.0 KiB of shared memory, no spills`
static std::string printGpuKernels(const GpuKernelsReport &report) {
  std::string text = std::to_string(report.kernels) +
                     (report.kernels == 1 ? " kernel" : " kernels") + " for " +
                     report.processor + ": ";
  if (report.cubinBytes == 0)
    return text + "PTX only, as there was no ptxas; the driver compiles it "
                  "when the plan is loaded\n";
  text += "a cubin of " + printBytes(report.cubinBytes) + ", at most " +
          std::to_string(report.registers) + " registers and " +
          printBytes(report.sharedBytes) + " of shared memory, ";
  return text +
         (report.spilling == 0
              ? "no spills"
              : "registers spilled in " + std::to_string(report.spilling)) +
         "\n";
}

std::string printPlanReport(const PlanReport &report) {
  std::string text;
  if (report.gpuKernels && report.gpuKernels->kernels > 0)
    text += printGpuKernels(*report.gpuKernels);
  for (const EntryReport &entry : report.entries)
    text += "entry " + entry.name + ": " + summarize(entry) + "\n" +
            (entry.pipeline ? printPipeline(entry) : "") +
            printCollectives(entry);
  text += printPadding(report.padding);
  for (const EntryReport &entry : report.entries)
    text += printMemory(entry);
  return text + report.choices;
}

} // namespace weft
