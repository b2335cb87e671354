//===- EmulatorKernels.cu - Kernels as nvcc compiles them --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void add_one(float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    x[i] += 1;
}

/// y = sum over the row of exp(x), by shuffles and shared memory.
extern "C" __global__ void sum_exp(const float *x, float *y, int columns) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    sum += expf(x[blockIdx.x * columns + i]);
  for (int step = 16; step; step /= 2)
    sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int step = 16; step; step /= 2)
      sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x == 0)
      y[blockIdx.x] = sum;
  }
}

/// A transpose by tiles in shared memory.
extern "C" __global__ void transpose(const float *x, float *y, int rows,
                                     int columns) {
  __shared__ float tile[16][17];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < rows && column < columns)
    tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  __syncthreads();
  row = blockIdx.y * 16 + threadIdx.x;
  column = blockIdx.x * 16 + threadIdx.y;
  if (row < rows && column < columns)
    y[column * rows + row] = tile[threadIdx.x][threadIdx.y];
}

/// Functions of the library, each in its own lane of the switch.
extern "C" __global__ void functions(const float *x, float *y, int n) {
  int i = threadIdx.x;
  if (i >= n)
    return;
  float v = x[i];
  switch (i % 10) {
  case 0: y[i] = sinf(v * 1000); break;
  case 1: y[i] = cosf(v); break;
  case 2: y[i] = tanhf(v); break;
  case 3: y[i] = logf(v); break;
  case 4: y[i] = powf(v, 1.7f); break;
  case 5: y[i] = erff(v); break;
  case 6: y[i] = (float)exp((double)v); break;
  case 7: y[i] = rsqrtf(v); break;
  case 8: y[i] = log1pf(v); break;
  case 9: y[i] = expm1f(v); break;
  }
}

/// Rounds to both formats of 16 bits and back, in vectors of four.
extern "C" __global__ void round_trip(const float4 *x, float4 *half_result,
                                      float4 *bfloat_result) {
  float4 v = x[threadIdx.x];
  half_result[threadIdx.x] = make_float4(
      __half2float(__float2half(v.x)), __half2float(__float2half(v.y)),
      __half2float(__float2half(v.z)), __half2float(__float2half(v.w)));
  bfloat_result[threadIdx.x] = make_float4(
      __bfloat162float(__float2bfloat16(v.x)),
      __bfloat162float(__float2bfloat16(v.y)),
      __bfloat162float(__float2bfloat16(v.z)),
      __bfloat162float(__float2bfloat16(v.w)));
}

/// The sum of all elements, by the block that comes last.
extern "C" __global__ void sum_all(const float *x, float *partial,
                                   unsigned *arrived, float *y, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    sum += x[i];
  for (int step = 16; step; step /= 2)
    sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x != 0)
    return;
  partial[blockIdx.x] = sum;
  __threadfence();
  if (atomicInc(arrived, gridDim.x - 1) != gridDim.x - 1)
    return;
  sum = 0;
  for (int block = 0; block < gridDim.x; ++block)
    sum += ((volatile float *)partial)[block];
  *y = sum;
}

__device__ __noinline__ float collatz(int value, int *steps) {
  int count[2] = {0, value};
  while (count[1] != 1) {
    count[1] = count[1] % 2 ? 3 * count[1] + 1 : count[1] / 2;
    ++count[0];
  }
  *steps = count[0];
  return count[0] * 0.5f;
}

/// Loops of different length in every lane, and a call with a pointer to a
/// local variable.
extern "C" __global__ void diverge(float *y) {
  int steps;
  float half = collatz(threadIdx.x + 1, &steps);
  y[threadIdx.x] = half + steps;
}
