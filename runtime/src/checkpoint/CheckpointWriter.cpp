//===- CheckpointWriter.cpp - Writes checkpoints --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every process writes its parts, forces them to disk, leaves the tensors and
// the digests of its parts in a file, and tells process 0 through the store.
// Process 0 compares the tensors, adds up the digests, writes what describes
// the checkpoint and renames the folder. What the others are told, and how one
// learns that another has failed, is a word in the store; no process waits in a
// collective for one that has failed.
//
//===----------------------------------------------------------------------===//

#include "checkpoint/CheckpointFiles.h"
#include "checkpoint/Digest.h"
#include "comm/Call.h"
#include "comm/StartThread.h"
#include "io/File.h"
#include "launch/Number.h"
#include "launch/Store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <sstream>
#include <sys/stat.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

namespace weft::runtime {

namespace fs = std::filesystem;

class CheckpointWriter::Impl {
public:
  Impl(std::string directory, CheckpointOptions options)
      : directory(std::move(directory)), options(std::move(options)) {}

  Status open();
  Status wait();
  Status start(CheckpointContents next);
  void reserve(size_t bytes);
  CheckpointMemory takeMemory() { return std::move(contents.memory); }
  void keep(int count) { options.keep = count; }

  const Launch &launch() const {
    static const Launch alone;
    return options.bootstrap ? options.bootstrap->launch() : alone;
  }

private:
  Status removeUnfinished() const;
  Status checkOrder();
  Status write();
  Status writeParts();
  Status writeFile(size_t file);
  std::span<const CheckpointPart> partsOf(size_t tensor) const;
  Status writeTensor(SharedOutputFile &file, size_t tensor);
  Status writeDigests() const;
  Status addDigestsOf(int process);
  Status awaitParts(Status status);
  Status describe() const;
  Status commit();
  Status removeOld() const;

  std::string digestsPath(int process) const {
    return fmt::format("{}/digests-{}", unfinished, process);
  }
  /// Of the last checkpoint, in the store.
  std::string key(std::string_view who) const {
    return fmt::format("checkpoint-{}-{}/{}", token, number, who);
  }
  Status tell(std::string_view who, const Status &status) const;
  /// What was told: the step, or a failure; or that nobody tells any more.
  Result<int64_t> await(std::string_view who, int process,
                        std::chrono::nanoseconds timeout) const;
  Status checkStep(int process, int64_t step) const;

  const std::string directory;
  CheckpointOptions options;
  /// Tells this writer from others of the job and of other jobs.
  std::string token;
  int64_t number = 0;
  /// What was in the folder before, in process 0.
  std::vector<CheckpointFolder> earlier;

  // Of the checkpoint that is written.
  CheckpointContents contents;
  CheckpointLayout layout;
  std::string unfinished;
  std::vector<uint64_t> digests;

  std::thread thread;
  /// Of the thread, once it has ended.
  Status outcome;
};

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

static Status makeFolder(const std::string &path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST)
    return {};
  return systemError(path, "create the folder");
}

static Status removeFolder(const std::string &path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? unavailable(fmt::format("{}: cannot remove the folder: {}",
                                         path, error.message()))
               : Status();
}

/// Removes a checkpoint: from its first moment on it is none any more.
static Status removeCheckpoint(const std::string &path) {
  const std::string removed = path + std::string(unfinishedSuffix);
  if (::rename(path.c_str(), removed.c_str()) != 0)
    return systemError(path, "rename the folder");
  return removeFolder(removed);
}

Status CheckpointWriter::Impl::removeUnfinished() const {
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("step-") && name.ends_with(unfinishedSuffix))
      WEFT_RETURN_IF_ERROR(removeFolder(entry->path().string()));
  }
  return error ? unavailable(fmt::format("{}: cannot read the folder: {}",
                                         directory, error.message()))
               : Status();
}

Status CheckpointWriter::Impl::open() {
  Status status;
  if (launch().rank == 0) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error)
      status = failedPrecondition(fmt::format(
          "{}: cannot create the folder: {}", directory, error.message()));
    else if (::access(directory.c_str(), W_OK | X_OK) != 0)
      status = systemError(directory, "write to the folder");
    else
      status = removeUnfinished();
    if (auto found = listCheckpoints(directory); status.ok() && found.ok())
      earlier = *std::move(found);
    else if (status.ok())
      status = found.status();
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  token = fmt::format("{:x}", now);
  if (options.bootstrap) {
    if (!status.ok())
      options.bootstrap->fail(status.message());
    WEFT_ASSIGN_OR_RETURN(
        token, options.bootstrap->broadcast("the folder of checkpoints", token,
                                            options.deadline));
  }
  return status;
}

//===----------------------------------------------------------------------===//
// The parts of this process
//===----------------------------------------------------------------------===//

namespace {

/// Contiguous bytes and where they go.
struct Run {
  uint64_t offset;
  const std::byte *data;
  size_t bytes;
};

} // namespace

/// Neighbours in the file in one call, whatever parts they are of.
static Status writeRuns(SharedOutputFile &file, std::vector<Run> &runs) {
  // As many as the system takes in one call.
  constexpr size_t most = 1024;
  std::sort(runs.begin(), runs.end(),
            [](const Run &a, const Run &b) { return a.offset < b.offset; });
  std::vector<iovec> pieces;
  uint64_t begin = 0, end = 0;
  for (const Run &run : runs) {
    if (!pieces.empty() && (run.offset != end || pieces.size() == most)) {
      WEFT_RETURN_IF_ERROR(file.writeAt(begin, pieces));
      pieces.clear();
    }
    if (pieces.empty())
      begin = run.offset;
    pieces.push_back({const_cast<std::byte *>(run.data), run.bytes});
    end = run.offset + run.bytes;
  }
  return pieces.empty() ? Status() : file.writeAt(begin, pieces);
}

std::span<const CheckpointPart>
CheckpointWriter::Impl::partsOf(size_t tensor) const {
  const auto found = std::ranges::equal_range(contents.parts, tensor, {},
                                              &CheckpointPart::tensor);
  return {found.begin(), found.end()};
}

Status CheckpointWriter::Impl::writeTensor(SharedOutputFile &file,
                                           size_t number) {
  const TensorInfo &tensor = contents.tensors[number];
  const size_t bytes = byteSize(tensor.dtype);
  std::vector<Run> runs;
  for (const CheckpointPart &part : partsOf(number)) {
    const Box &box = part.box;
    const std::vector<int64_t> origin(box.extent.size());
    const std::byte *memory = contents.memory.data() + part.offset;
    const Placement inMemory{box.extent, origin};
    forEachRun({tensor.shape, box.start}, inMemory, box.extent,
               [&](int64_t inTensor, int64_t inPart, int64_t count) {
                 runs.push_back({layout.places[number].offset +
                                     static_cast<uint64_t>(inTensor) * bytes,
                                 memory + inPart * bytes, count * bytes});
               });
    digests[number] += digestOfBox(bytes, tensor.shape, box, memory, inMemory);
  }
  return writeRuns(file, runs);
}

Status CheckpointWriter::Impl::writeFile(size_t number) {
  const CheckpointLayout::File &described = layout.files[number];
  const auto isHere = [&](const CheckpointPart &part) {
    return layout.places[part.tensor].file == number;
  };
  if (launch().rank != 0 && std::ranges::none_of(contents.parts, isHere))
    return {};
  WEFT_ASSIGN_OR_RETURN(
      const std::unique_ptr<SharedOutputFile> file,
      SharedOutputFile::open(unfinished + "/" + described.name));
  if (launch().rank == 0) {
    const std::string &head = described.contents.head;
    iovec piece{const_cast<char *>(head.data()), head.size()};
    WEFT_RETURN_IF_ERROR(file->writeAt(0, {&piece, 1}));
  }
  for (size_t t = 0; t < contents.tensors.size(); ++t)
    if (layout.places[t].file == number)
      WEFT_RETURN_IF_ERROR(writeTensor(*file, t));
  return file->sync();
}

/// "f32[8, 4] w1".
static std::string describeTensor(const TensorInfo &tensor) {
  return fmt::format("{}[{}] {}", name(tensor.dtype),
                     fmt::join(tensor.shape, ", "), tensor.name);
}

/// A line a tensor: the digest and what it is.
Status CheckpointWriter::Impl::writeDigests() const {
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                        OutputFile::create(digestsPath(launch().rank)));
  for (size_t t = 0; t < digests.size(); ++t)
    WEFT_RETURN_IF_ERROR(
        file->append(fmt::format("{} {}\n", digestText(digests[t]),
                                 describeTensor(contents.tensors[t]))));
  return file->commit();
}

Status CheckpointWriter::Impl::writeParts() {
  WEFT_RETURN_IF_ERROR(makeFolder(unfinished));
  for (size_t file = 0; file < layout.files.size(); ++file)
    WEFT_RETURN_IF_ERROR(writeFile(file));
  return launch().rank == 0 ? Status() : writeDigests();
}

//===----------------------------------------------------------------------===//
// All processes
//===----------------------------------------------------------------------===//

Status CheckpointWriter::Impl::tell(std::string_view who,
                                    const Status &status) const {
  return options.bootstrap->store().set(
      key(who), fmt::format("{} {}", static_cast<int>(status.code()),
                            status.ok() ? fmt::format("{}", contents.step)
                                        : std::string(status.message())));
}

/// What `tell` wrote.
static Result<int64_t> heard(const std::string &text) {
  const auto code = static_cast<StatusCode>(text[0] - '0');
  const std::string said = text.substr(2);
  if (code != StatusCode::Ok)
    return Status(code, said);
  return parseNumber(said, 0).value_or(-1);
}

Result<int64_t>
CheckpointWriter::Impl::await(std::string_view who, int process,
                              std::chrono::nanoseconds timeout) const {
  Bootstrap &bootstrap = *options.bootstrap;
  WaitBudget budget(timeout);
  for (Backoff backoff;; backoff.sleep(budget)) {
    WEFT_ASSIGN_OR_RETURN(const bool isGone, bootstrap.isGone(process));
    WEFT_ASSIGN_OR_RETURN(const auto text, bootstrap.store().find(key(who)));
    if (text)
      return heard(*text);
    if (isGone)
      return unavailable(fmt::format(
          "process {} ended before it had written its part of checkpoint {}",
          process, folderName(contents.step)));
    WEFT_RETURN_IF_ERROR(bootstrap.failure());
    if (budget.isSpent())
      return deadlineExceeded(fmt::format(
          "process {} had not written its part of checkpoint {} within {}",
          process, folderName(contents.step), describeDuration(timeout)));
  }
}

Status CheckpointWriter::Impl::checkStep(int process, int64_t step) const {
  if (step == contents.step)
    return {};
  return failedPrecondition(fmt::format(
      "process {} saves step {}, and process {} step {}; all save the same",
      process, step, launch().rank, contents.step));
}

Status CheckpointWriter::Impl::addDigestsOf(int process) {
  const std::string path = digestsPath(process);
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file,
                        InputFile::open(path));
  std::string text(file->size(), '\0');
  WEFT_RETURN_IF_ERROR(
      file->readAt(0, std::as_writable_bytes(std::span(text))));
  std::istringstream lines(text);
  std::vector<std::string> others;
  for (std::string line; std::getline(lines, line);)
    others.push_back(line);
  if (others.size() != digests.size())
    return failedPrecondition(fmt::format(
        "process {} saves {} tensors, and process {} saves {}; all save the "
        "same",
        process, others.size(), launch().rank, digests.size()));
  for (size_t t = 0; t < digests.size(); ++t) {
    const std::string_view line = others[t], digest = line.substr(0, 16);
    const std::string mine = describeTensor(contents.tensors[t]);
    const std::string_view other =
        line.substr(std::min<size_t>(17, line.size()));
    if (other != mine)
      return failedPrecondition(fmt::format(
          "process {} saves {}, and process {} {}; all save the same", process,
          other, launch().rank, mine));
    digests[t] += parseDigest(digest).value_or(0);
  }
  return ::unlink(path.c_str()) == 0 ? Status()
                                     : systemError(path, "remove the file");
}

/// Process 0: until all have written or failed; the first failure. Whoever is
/// waited for may still write into the folder.
Status CheckpointWriter::Impl::awaitParts(Status status) {
  for (int process = 1; process < launch().world; ++process) {
    const auto step =
        await(fmt::format("{}", process), process, options.deadline);
    if (status.ok())
      status = step.ok() ? checkStep(process, *step) : step.status();
    if (status.ok())
      status = addDigestsOf(process);
  }
  return status;
}

static Status writeText(const std::string &path, std::string_view text) {
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                        OutputFile::create(path));
  WEFT_RETURN_IF_ERROR(file->append(text));
  return file->commit();
}

Status CheckpointWriter::Impl::describe() const {
  const std::string index = formatIndex(contents.tensors, layout);
  Manifest manifest{.step = contents.step,
                    .metadata = contents.metadata,
                    .files = {},
                    .tensors = {},
                    .indexHash = hashOf(index)};
  for (const CheckpointLayout::File &file : layout.files)
    manifest.files[file.name] = {file.contents.bytes,
                                 hashOf(file.contents.head)};
  for (size_t t = 0; t < digests.size(); ++t)
    manifest.tensors[contents.tensors[t].name] = {
        layout.files[layout.places[t].file].name, digests[t]};
  WEFT_ASSIGN_OR_RETURN(const std::string text, formatManifest(manifest));
  WEFT_RETURN_IF_ERROR(writeText(unfinished + "/" + indexName, index));
  return writeText(unfinished + "/" + manifestName, text);
}

/// The folder gets its name. One that has it already, of a run that was resumed
/// from before, changes places with it.
Status CheckpointWriter::Impl::commit() {
  WEFT_RETURN_IF_ERROR(describe());
  const std::string path = directory + "/" + folderName(contents.step);
  WEFT_RETURN_IF_ERROR(syncFolder(unfinished));
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && ::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD,
                            path.c_str(), RENAME_EXCHANGE) == 0) {
    WEFT_RETURN_IF_ERROR(syncFolder(directory));
    return removeFolder(unfinished);
  }
  // File systems of networks may not exchange folders.
  if (exists && errno == EINVAL)
    WEFT_RETURN_IF_ERROR(removeCheckpoint(path));
  if (::rename(unfinished.c_str(), path.c_str()) != 0)
    return systemError(path, "rename the finished folder");
  return syncFolder(directory);
}

Status CheckpointWriter::Impl::removeOld() const {
  if (options.keep == 0)
    return {};
  WEFT_ASSIGN_OR_RETURN(std::vector<CheckpointFolder> all,
                        listCheckpoints(directory));
  std::erase_if(all,
                [&](const auto &each) { return each.step == contents.step; });
  const auto others = static_cast<size_t>(options.keep - 1);
  for (size_t i = 0; i + others < all.size(); ++i)
    WEFT_RETURN_IF_ERROR(
        removeCheckpoint(all[i].path)
            .withContext("it is on disk, but an older one stays"));
  return {};
}

/// Whether a checkpoint can be restored.
static bool isWhole(const std::string &path) {
  const Result<Checkpoint> checkpoint = Checkpoint::open(path);
  if (!checkpoint.ok())
    return false;
  for (size_t t = 0; t < checkpoint->tensors().size(); ++t)
    if (!checkpoint->read(t).ok())
      return false;
  return true;
}

/// Of another run a later checkpoint stays the last one, from which a program
/// that resumes would go on; unless it is damaged, and was passed over.
Status CheckpointWriter::Impl::checkOrder() {
  for (const CheckpointFolder &each : earlier)
    if (each.step > contents.step && isWhole(each.path))
      return failedPrecondition(fmt::format(
          "{} is later and was there before; remove it, or name another folder",
          each.path));
  std::erase_if(earlier, [&](const CheckpointFolder &each) {
    return each.step > contents.step; // known to be damaged
  });
  return {};
}

Status CheckpointWriter::Impl::write() {
  Status mine = checkOrder();
  if (mine.ok())
    mine = writeParts();
  const int process = launch().rank;
  if (process != 0) {
    WEFT_RETURN_IF_ERROR(
        tell(fmt::format("{}", process),
             mine.withContext(fmt::format("process {}", process))));
    return await("all", 0, 2 * options.deadline).status();
  }
  Status status = awaitParts(mine);
  if (status.ok())
    status = commit();
  if (status.ok())
    status = removeOld();
  else
    (void)removeFolder(unfinished);
  if (launch().world > 1)
    WEFT_RETURN_IF_ERROR(tell("all", status));
  return status;
}

Status CheckpointWriter::Impl::wait() {
  if (thread.joinable())
    thread.join();
  return std::exchange(outcome, Status());
}

Status CheckpointWriter::Impl::start(CheckpointContents next) {
  contents = std::move(next);
  std::ranges::sort(contents.parts, {}, &CheckpointPart::tensor);
  WEFT_ASSIGN_OR_RETURN(
      layout, CheckpointLayout::of(contents.tensors, options.fileBytes));
  ++number;
  unfinished = fmt::format("{}/{}.{}{}", directory, folderName(contents.step),
                           token, unfinishedSuffix);
  digests.assign(contents.tensors.size(), 0);
  return startThread(thread, "that writes a checkpoint", [this] {
    try {
      outcome = write();
    } catch (const std::bad_alloc &) {
      outcome = resourceExhausted("no memory to write it");
    }
    outcome = outcome.withContext(
        fmt::format("checkpoint of step {}", contents.step));
  });
}

void CheckpointWriter::Impl::reserve(size_t bytes) {
  const auto make = [this, bytes] {
    constexpr size_t page = 4096;
    try {
      contents.memory.resize(bytes);
      for (size_t at = 0; at < bytes; at += page)
        contents.memory[at] = {};
    } catch (const std::bad_alloc &) {
      contents.memory = {}; // the save says so
    }
  };
  if (!startThread(thread, "that makes memory", make).ok())
    make();
}

//===----------------------------------------------------------------------===//
// CheckpointWriter
//===----------------------------------------------------------------------===//

CheckpointWriter::CheckpointWriter(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}

CheckpointWriter::~CheckpointWriter() { (void)impl->wait(); }

Result<std::unique_ptr<CheckpointWriter>>
CheckpointWriter::open(const std::string &directory,
                       CheckpointOptions options) {
  if (options.keep < 0)
    return invalidArgument(fmt::format(
        "{} checkpoints to keep, need at least 1, or 0 for all", options.keep));
  auto impl = std::make_unique<Impl>(directory, std::move(options));
  WEFT_RETURN_IF_ERROR(impl->open());
  return std::unique_ptr<CheckpointWriter>(
      new CheckpointWriter(std::move(impl)));
}

Status CheckpointWriter::wait() { return impl->wait(); }
void CheckpointWriter::reserve(size_t bytes) { impl->reserve(bytes); }
void CheckpointWriter::keep(int count) { impl->keep(count); }
CheckpointMemory CheckpointWriter::takeMemory() { return impl->takeMemory(); }
Status CheckpointWriter::start(CheckpointContents contents) {
  return impl->start(std::move(contents));
}
int CheckpointWriter::process() const { return impl->launch().rank; }
int CheckpointWriter::processes() const { return impl->launch().world; }

std::optional<Box> shareOf(const Box &box, size_t elementBytes, Holder holder,
                           size_t number) {
  // Less than this is not worth a write of its own.
  constexpr int64_t leastBytes = 64 * 1024;
  const int64_t bytes = box.elements() * static_cast<int64_t>(elementBytes);
  const auto wide = std::ranges::find_if(
      box.extent, [&](int64_t extent) { return extent >= holder.count; });
  if (holder.count == 1 || bytes < leastBytes * holder.count ||
      wide == box.extent.end())
    return number % holder.count == static_cast<size_t>(holder.index)
               ? std::optional(box)
               : std::nullopt;
  const size_t dim = wide - box.extent.begin();
  const int64_t begin = *wide * holder.index / holder.count;
  const int64_t end = *wide * (holder.index + 1) / holder.count;
  Box share = box;
  share.start[dim] += begin;
  share.extent[dim] = end - begin;
  return share;
}

} // namespace weft::runtime
