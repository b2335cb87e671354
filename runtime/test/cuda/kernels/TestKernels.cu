//===- TestKernels.cu - Kernels of hand-written plans -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What test/kernels/kernels.c is for CPUs: buffers of f32[16], one block of 16
// threads. Sums are in the same order.
//
//===----------------------------------------------------------------------===//

#include <cstdint>

extern "C" __global__ void add(const float *a, const float *b, float *out) {
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }

// For up to five sets of buffers.
struct TwoAndOne {
  const float *a, *b;
  float *out;
};
struct Table {
  TwoAndOne sets[5];
};

extern "C" __global__ void addSets(const __grid_constant__ Table table,
                                   int64_t factor) {
  const TwoAndOne &set = table.sets[blockIdx.y];
  set.out[threadIdx.x] = set.a[threadIdx.x] + factor * set.b[threadIdx.x];
}

extern "C" __global__ void fill(float *out, int64_t first, int64_t second) {
  out[threadIdx.x] =
      static_cast<float>(threadIdx.x + 100 * first + 1000 * second);
}

extern "C" __global__ void total(const float *x, float *out) {
  if (threadIdx.x != 0)
    return;
  float sum = 0;
  for (int i = 0; i < 16; ++i)
    sum += x[i];
  *out = sum;
}

// Counts its launches in the first word of its workspace.
extern "C" __global__ void count(float *out, uint64_t *workspace) {
  if (threadIdx.x == 0)
    workspace[0] += 1;
  __syncthreads();
  out[threadIdx.x] = static_cast<float>(workspace[0]);
}
