//===- Kernels.cpp - Times generated kernels ------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "CompilePlan.h"

#include "weft/runtime/Session.h"

#include <fmt/format.h>

#include <random>

using namespace weft::runtime;

namespace weft::tools {

KernelRun::KernelRun(std::unique_ptr<Session> session, int ranks)
    : session(std::move(session)), ranks(ranks) {}
KernelRun::~KernelRun() = default;

static std::string replaceAll(std::string text, std::string_view from,
                              const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Values that live from run to run: nothing is copied in or out. Those of one
/// size are the same for all entries.
static std::string printEntry(const KernelCode &kernel) {
  const std::string type = fmt::format("tensor<{}xf32>", kernel.elements);
  const auto named = [&](const char *name) {
    return fmt::format("{{weft.name = \"{}{}\", weft.sharding = "
                       "#weft.sharding<@mesh, [{{\"data\"}}]>}}",
                       name, kernel.elements);
  };
  return fmt::format("func.func @{0}(%x: {1} {2}, %y: {1} {3}, %z: {1} {4})\n"
                     "    -> ({1} {2}, {1} {3}, {1} {4}) {{\n  {5}\n"
                     "  return %x, %y, %r : {1}, {1}, {1}\n}}\n",
                     kernel.name, type, named("x"), named("y"), named("z"),
                     replaceAll(kernel.body, "T", type));
}

static Result<Plan> compileKernels(const std::vector<KernelCode> &kernels,
                                   int ranks) {
  std::string text = fmt::format("weft.mesh @mesh = <[\"data\"={}]>\n", ranks);
  for (const KernelCode &kernel : kernels)
    text += printEntry(kernel);
  return compilePlan(text, "cpu");
}

/// Positive numbers: roots and logarithms of others take another time.
static Array randomVector(int64_t elements) {
  std::minstd_rand generator(7);
  Array array(DType::F32, {elements});
  for (float &value : array.as<float>())
    value = static_cast<float>(generator()) * 0x1p-30F + 0.1F;
  return array;
}

KernelCode launchesOf(int count) {
  // What a barrier keeps apart is not fused.
  std::string body;
  for (int i = 0; i < count; ++i)
    body += fmt::format("%a{0} = arith.addf {1}, %y : T\n"
                        "%b{0} = weft.barrier %a{0} after %y : T after T\n",
                        i, i == 0 ? "%x" : fmt::format("%b{}", i - 1));
  body += fmt::format("%r = arith.addf %b{}, %y : T", count - 1);
  return {fmt::format("launches{}", count), 16, body};
}

Result<std::unique_ptr<KernelRun>>
KernelRun::create(const std::vector<KernelCode> &kernels, int ranks) {
  WEFT_ASSIGN_OR_RETURN(Plan plan, compileKernels(kernels, ranks));
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                        Session::create(std::move(plan)));
  for (const KernelCode &kernel : kernels) {
    const Array values = randomVector(kernel.elements);
    for (const char *name : {"x", "y", "z"})
      WEFT_RETURN_IF_ERROR(session->setState(
          fmt::format("{}{}", name, kernel.elements), values));
  }
  return std::unique_ptr<KernelRun>(new KernelRun(std::move(session), ranks));
}

Result<Timing> KernelRun::time(const std::string &name, double seconds) {
  return measure(seconds, [&] { return session->run(name); }, ranks);
}

} // namespace weft::tools
