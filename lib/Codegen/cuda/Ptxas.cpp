//===- Ptxas.cpp - PTX to machine code ------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptxas.h"

#include "../ExternalTool.h"
#include "../ObjectFolder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace weft;

static Expected<std::optional<std::string>> usePath(StringRef path,
                                                    StringRef origin) {
  if (path == "none")
    return std::nullopt;
  if (sys::fs::can_execute(path))
    return path.str();
  return createStringError(origin + ": \"" + path +
                           "\" is not an executable program; expected "
                           "the path of ptxas, or none");
}

Expected<std::optional<std::string>> weft::findPtxas(StringRef wanted) {
  if (!wanted.empty())
    return usePath(wanted, "--ptxas");
  if (auto path = sys::Process::GetEnv("WEFT_PTXAS"))
    return usePath(*path, "WEFT_PTXAS");
  if (auto path = sys::findProgramByName("ptxas"))
    return *path;
  if (sys::fs::can_execute(WEFT_TOOLKIT_PTXAS))
    return WEFT_TOOLKIT_PTXAS;
  return std::nullopt;
}

/// The number before `unit` in a line of the log; 0 if there is none.
static int64_t numberBefore(StringRef line, StringRef unit) {
  size_t end = line.find(unit);
  if (end == StringRef::npos)
    return 0;
  StringRef before = line.take_front(end).rtrim();
  int64_t number = 0;
  size_t start = before.find_last_not_of("0123456789");
  before.drop_front(start == StringRef::npos ? 0 : start + 1)
      .getAsInteger(10, number);
  return number;
}

/// Reads what `ptxas -v` says:
///
///   ptxas info    : Compiling entry function 'kernel_0' for 'sm_90'
///   ptxas info    : Function properties for kernel_0
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info    : Used 26 registers, used 1 barriers, 64 bytes smem
static StringMap<KernelUsage> readLog(StringRef log) {
  StringMap<KernelUsage> usage;
  KernelUsage *current = nullptr;
  for (StringRef line : split(log, '\n')) {
    size_t name = line.find("Compiling entry function '");
    if (name != StringRef::npos)
      current = &usage[line.split('\'').second.split('\'').first];
    if (!current)
      continue;
    current->spillBytes += numberBefore(line, "bytes spill stores");
    current->registers += numberBefore(line, "registers");
  }
  return usage;
}

static constexpr StringLiteral ptxasFlags[] = {"-v", "-O3"};

/// Of a cubin and its log: which program made it of what. Another version of
/// the program has another size or time of change.
static std::string keyOf(StringRef program, StringRef ptx,
                         StringRef processor) {
  sys::fs::file_status status;
  if (sys::fs::status(program, status))
    return "";
  std::string text;
  raw_string_ostream(text)
      << program << ' ' << status.getSize() << ' '
      << status.getLastModificationTime().time_since_epoch().count() << ' '
      << ptxasFlags[0] << ' ' << ptxasFlags[1] << ' ' << processor << '\n'
      << ptx;
  return toHex(SHA256::hash(arrayRefFromStringRef(text)));
}

/// The log, its length before it, and the cubin.
static std::string pack(StringRef log, StringRef cubin) {
  return (Twine(log.size()) + "\n" + log + cubin).str();
}

static Assembled unpack(StringRef packed) {
  auto [length, rest] = packed.split('\n');
  size_t logBytes = 0;
  length.getAsInteger(10, logBytes);
  return {rest.drop_front(logBytes).str(), readLog(rest.take_front(logBytes))};
}

Expected<Assembled> weft::runPtxas(mlir::Location location, StringRef program,
                                   StringRef ptx, StringRef processor) {
  const std::optional<ObjectFolder> folder = ObjectFolder::ofEnvironment();
  const std::string key = folder ? keyOf(program, ptx, processor) : "";
  if (!key.empty())
    if (auto packed = folder->find(key))
      return unpack(*packed);
  auto input = TemporaryFile::create("ptx"),
       output = TemporaryFile::create("cubin");
  for (auto *file : {&input, &output})
    if (!*file)
      return file->takeError();
  if (Error error = input->write(ptx))
    return error;
  std::string arch = ("-arch=" + processor).str();
  auto log = runTool({program, ptxasFlags[0], ptxasFlags[1], arch, "-o",
                      output->path(), input->path()});
  if (!log)
    return createStringError(
        program + " refuses the kernels: " + toString(log.takeError()));
  Assembled assembled{output->read(), readLog(*log)};
  if (!key.empty())
    folder->addOrWarn(key, pack(*log, assembled.cubin), location);
  return assembled;
}
