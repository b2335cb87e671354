//===- Session.h - Runs a plan in this process ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The embedding interface. A session holds the ranks of a plan with their
// memory; it is created once and stepped many times. While it runs the ranks
// are threads of this process, which sessions that run one after the other
// share; an only rank that computes with one thread is the caller's.
//
//   WEFT_ASSIGN_OR_RETURN(Plan plan, Plan::load("mlp.plan"));
//   WEFT_ASSIGN_OR_RETURN(auto session, Session::create(plan));
//   WEFT_RETURN_IF_ERROR(session->run("init"));
//   for (int step = 0; step < 100; ++step) {
//     WEFT_RETURN_IF_ERROR(session->setInput("train_step", "x", batch(step)));
//     WEFT_RETURN_IF_ERROR(session->run("train_step"));
//   }
//   WEFT_ASSIGN_OR_RETURN(Array loss, session->getOutput("loss"));
//
// Tensors are whole tensors: the session cuts inputs into the parts of the
// ranks and puts outputs together. Callers that have the parts give and take
// those with setInputShards and getShard.
//
// Three phases: *prepare* (CPU features, memory, world), *initialize* (every
// rank in its thread: arena, constants, GEMMs, communicators), both in
// `create`, and *execute*, in `run`, which allocates and looks up nothing.
//
// A failure of a rank stops all ranks and is final: every later run returns it.
// A session is used by one thread at a time. In a forked child it can be used
// on like a copy of it, unless it is on a device or was in a run.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SESSION_H
#define WEFT_RUNTIME_SESSION_H

#include "weft/runtime/Array.h"
#include "weft/runtime/Checkpoint.h"
#include "weft/runtime/Plan.h"
#include "weft/runtime/SessionOptions.h"
#include "weft/runtime/Status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

/// The deadline of so many seconds, from 0.001 to 1e9, or infinity.
Result<std::chrono::nanoseconds> deadlineOf(double seconds);

/// How long the host was busy with a run.
struct RunTimes {
  /// From the call of `run` to the end of the last rank.
  std::chrono::nanoseconds total{0};
  /// CUDA: of that, until the device had been given all work, in the rank that
  /// took longest; 0 on CPUs. The host is free from then on.
  std::chrono::nanoseconds enqueue{0};
};

/// A tensor that is somewhere else, in a file say.
struct TensorSource {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// Reads its bytes from that offset on, in the order of its elements.
  std::function<Status(uint64_t offset, std::span<std::byte> memory)> read;
};

/// What a rank did in the last run, and the memory that it has.
struct RankUsage {
  int64_t rank = 0;
  /// Its stage in a pipeline; 0 without one.
  uint32_t role = 0;
  /// In its thread; on a device as `RunTimes::total`.
  std::chrono::nanoseconds total{0};
  /// Of that, in collectives and messages that it waited for: communication
  /// that nothing hides, and ranks that come late. Unknown on a device.
  std::optional<std::chrono::nanoseconds> waited;
  /// Memory of the machine that its process has.
  uint64_t residentBytes = 0;
};

/// Floating-point operations of matmuls and attention in a call of an entry on
/// all ranks together, without those that are computed a second time.
double modelFlops(const Plan &plan, const EntrySpec &entry);

/// Whether the processes that were launched can run the plan together. To be
/// asked before they wait for each other; `Session::create` asks it as well.
Status checkLaunch(const Plan &plan, const Launch &launch);

class Session {
public:
  static Result<std::unique_ptr<Session>> create(Plan plan,
                                                 SessionOptions options = {});
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const Plan &plan() const;

  /// Sets an input of an entry for this and all later runs, until it is set
  /// again. States are set by `setState`.
  Status setInput(std::string_view entry, std::string_view name,
                  const ArrayView &value);

  /// The same from a source, of which only what the ranks of this process hold
  /// is read if that lies together.
  Status setInputFrom(std::string_view entry, std::string_view name,
                      const TensorSource &value);

  /// The same by number, as `plan().entries()` counts: for many small values.
  /// It may be a state.
  Status setInput(uint32_t entry, uint32_t input, const ArrayView &value);

  /// The same from the parts that the ranks hold, one for each rank. Those of
  /// ranks whose role does not have the input are not read.
  Status setInputShards(std::string_view entry, std::string_view name,
                        std::span<const ArrayView> parts);

  /// Sets or reads a state. One that nothing has set cannot be read.
  Status setState(std::string_view name, const ArrayView &value);
  Status setStateFrom(std::string_view name, const TensorSource &value);
  Result<Array> getState(std::string_view name) const;

  /// Gets the memory that `save` copies states to, beside what runs next:
  /// otherwise the first save does it, and takes longer.
  Status prepareSave(CheckpointWriter &writer);
  /// Saves all states: copies what this process writes of them and returns,
  /// while the writer goes on; waits for the checkpoint before, and returns the
  /// failure of that. All processes call it alike.
  Status save(CheckpointWriter &writer, int64_t step, Metadata metadata = {});
  /// Reads all states from the checkpoint in that folder, of any mesh; each
  /// process reads what its ranks hold. All processes call it alike and get the
  /// same failure, which names files and tensors; the states are then undefined
  /// until they are set.
  Status restore(const std::string &path);

  /// Inputs, and states among them, that `entry` reads and nobody has set. A
  /// state counts as set when an entry that updates it has run.
  std::vector<std::string> unsetInputs(std::string_view entry) const;

  /// Bytes of the memory that each rank has allocated.
  std::vector<uint64_t> arenaBytes() const;

  /// Runs an entry once on all ranks.
  Status run(std::string_view entry);

  /// Of the last run.
  RunTimes lastRunTimes() const;
  /// Of the last run, of the ranks of all processes in their order. All
  /// processes call it alike.
  Result<std::vector<RankUsage>> rankUsage() const;

  /// An output of the entry that ran last. Ranks that hold copies give that of
  /// the first; partial sums are added. In a pipeline the first role that has
  /// the value gives it.
  Result<Array> getOutput(std::string_view name) const;

  /// Writes an output of the entry that ran last, by number, to memory of its
  /// size.
  Status readOutput(uint32_t output, std::byte *to) const;

  /// The part of one rank of an output of the last run, or of a state. Where
  /// the role of the rank does not have it, that of the rank that differs from
  /// it in its role only.
  Result<Array> getShard(std::string_view name, int64_t rank) const;

  /// Writes the recorded runs of all ranks as JSON for Perfetto. All processes
  /// call it alike, and the first one writes.
  Status writeTrace(const std::string &path) const;

  /// Private to the runtime.
  class Impl;

private:
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SESSION_H
