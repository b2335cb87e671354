//===- StepOverhead.cpp - A plan's step against its bare work -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a step costs beyond the work that nobody can avoid. The work: the matrix
// GEMMs of the step called directly, one after the other, and one streaming
// pass over the bytes that the update reads and writes. Plan and work take
// turns in one process, on one thread; the median of the ratios is printed.
//
//   StepOverhead wide_mlp.plan [pairs]
//
// The plan is that of generate_mlp.py, compiled for one device.
//
//===----------------------------------------------------------------------===//

#include "cpu/Gemm.h"
#include "weft/runtime/Session.h"

#include "dnnl.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace weft::runtime;

namespace {

using Floats = std::vector<float>;

Floats randomFloats(int64_t count, float halfWidth) {
  static std::mt19937 generator(1);
  std::uniform_real_distribution<float> draw(-halfWidth, halfWidth);
  Floats result(count);
  for (float &value : result)
    value = draw(generator);
  return result;
}

double secondsOf(const std::function<void()> &work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

/// The unavoidable work of a step: GEMMs and the streaming update.
class BareWork {
public:
  BareWork(int layers, int64_t batch, int64_t width)
      : batch(batch), width(width) {
    for (int i = 0; i < layers; ++i) {
      weights.push_back(randomFloats(width * width, 0.02f));
      gradients.emplace_back(width * width);
      momenta.emplace_back(width * width);
    }
    for (int i = 0; i <= layers; ++i) {
      activations.push_back(randomFloats(batch * width, 1));
      slopes.push_back(randomFloats(batch * width, 1e-6f));
    }
  }

  void run() {
    const int layers = static_cast<int>(weights.size());
    for (int i = 0; i < layers; ++i)
      multiply('N', 'N', batch, width, width, activations[i], weights[i],
               activations[i + 1]);
    for (int i = layers; i-- > 0;) {
      multiply('T', 'N', width, width, batch, activations[i], slopes[i + 1],
               gradients[i]);
      if (i > 0)
        multiply('N', 'T', batch, width, width, slopes[i + 1], weights[i],
                 slopes[i]);
    }
    for (int i = 0; i < layers; ++i)
      update(weights[i].data(), momenta[i].data(), gradients[i].data(),
             width * width);
  }

private:
  static void multiply(char transposeA, char transposeB, int64_t m, int64_t n,
                       int64_t k, const Floats &a, const Floats &b, Floats &c) {
    if (dnnl_sgemm(transposeA, transposeB, m, n, k, 1, a.data(),
                   transposeA == 'N' ? k : m, b.data(),
                   transposeB == 'N' ? n : k, 0, c.data(), n) != dnnl_success) {
      std::fprintf(stderr, "error: dnnl_sgemm failed\n");
      std::exit(1);
    }
  }

  static void update(float *__restrict weight, float *__restrict momentum,
                     const float *__restrict gradient, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      momentum[i] = 0.9f * momentum[i] + gradient[i];
      weight[i] -= 0.1f * momentum[i];
    }
  }

  int64_t batch, width;
  std::vector<Floats> weights, gradients, momenta, activations, slopes;
};

int fail(const Status &status) {
  std::fprintf(stderr, "error: %s\n", status.toString().c_str());
  return 1;
}

/// Fills inputs and states; reads layers, batch and width off the plan.
Status prepare(Session &session, int &layers, int64_t &batch, int64_t &width) {
  const EntrySpec *entry = session.plan().entry("train_step");
  if (!entry)
    return notFound("the plan has no entry train_step");
  layers = 0;
  for (const ValueSpec &input : entry->inputs) {
    Array value(input.dtype, input.globalShape);
    const bool isMomentum = input.name.rfind("momentum", 0) == 0;
    const bool isData = input.name == "x" || input.name == "y";
    if (!isMomentum) {
      const Floats numbers = randomFloats(value.size(), isData ? 1 : 0.02f);
      std::copy(numbers.begin(), numbers.end(), value.as<float>().begin());
    }
    if (isData) {
      batch = value.shape[0];
      width = value.shape[1];
      WEFT_RETURN_IF_ERROR(session.setInput("train_step", input.name, value));
    } else {
      layers += !isMomentum && value.shape.size() == 2;
      WEFT_RETURN_IF_ERROR(session.setState(input.name, value));
    }
  }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: StepOverhead wide_mlp.plan [pairs]\n");
    return 2;
  }
  const OneDnnThreads threads(1);
  const int pairs = argc > 2 ? std::max(1, std::atoi(argv[2])) : 15;
  Result<Plan> plan = Plan::load(argv[1]);
  if (!plan.ok())
    return fail(plan.status());
  Result<std::unique_ptr<Session>> session = Session::create(std::move(*plan));
  if (!session.ok())
    return fail(session.status());
  int layers = 0;
  int64_t batch = 0, width = 0;
  if (Status status = prepare(**session, layers, batch, width); !status.ok())
    return fail(status);
  BareWork bare(layers, batch, width);

  Status stepStatus;
  std::vector<double> stepTimes, bareTimes, ratios;
  for (int i = -2; i < pairs; ++i) {
    const double step =
        secondsOf([&] { stepStatus = (*session)->run("train_step"); });
    if (!stepStatus.ok())
      return fail(stepStatus);
    const double work = secondsOf([&] { bare.run(); });
    if (i < 0)
      continue; // warm-up
    stepTimes.push_back(step);
    bareTimes.push_back(work);
    ratios.push_back(step / work);
  }
  std::printf("%d layers of %ld, batch %ld, one thread, %d pairs\n", layers,
              static_cast<long>(width), static_cast<long>(batch), pairs);
  std::printf("plan step   %8.2f ms\nbare work   %8.2f ms\n"
              "ratio       %8.3f\n",
              median(stepTimes) * 1e3, median(bareTimes) * 1e3, median(ratios));
  return 0;
}
