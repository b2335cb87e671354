/*===- kernels.c - Kernels of hand-written plans ----------------------------===
 *
 * Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===
 *
 * All buffers are f32[16] unless a comment says so.
 */

#include <stdint.h>

enum { n = 16 };

/* buffers: a, b, out. out = a + b */
void add(void *const *buffers, const int64_t *positions, int64_t part,
         int64_t parts) {
  const float *a = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  (void)positions;
  for (int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i)
    out[i] = a[i] + b[i];
}

/* buffers: x. x = 2 x, in place */
void twice(void *const *buffers, const int64_t *positions, int64_t part,
         int64_t parts) {
  float *x = buffers[0];
  (void)positions;
  for (int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i)
    x[i] *= 2;
}

/* buffers: out. out[i] = i + 100 positions[0] + 1000 positions[1] */
void fill(void *const *buffers, const int64_t *positions, int64_t part,
         int64_t parts) {
  float *out = buffers[0];
  for (int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i)
    out[i] = (float)(i + 100 * positions[0] + 1000 * positions[1]);
}

/* buffers: x, f32[] out. out = sum of x */
void total(void *const *buffers, const int64_t *positions, int64_t part,
         int64_t parts) {
  const float *x = buffers[0];
  float sum = 0;
  (void)positions;
  for (int i = 0; i < n; ++i)
    sum += x[i];
  *(float *)buffers[1] = sum;
  (void)part, (void)parts;
}

/* buffers: f32[262144] out. Writes for each part one element: that it is one of
   so many. */
void parts(void *const *buffers, const int64_t *positions, int64_t part,
           int64_t parts) {
  (void)positions;
  ((float *)buffers[0])[part] = (float)parts;
}

static void sleepForASecond(void) {
#if defined(__x86_64__)
  const int64_t second[2] = {1, 0};
  register const int64_t *request __asm__("rdi") = second;
  register void *rest __asm__("rsi") = 0;
  int64_t result = 35; /* nanosleep */
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "r"(request), "r"(rest)
                   : "rcx", "r11", "memory");
#else
  for (volatile int64_t i = 0; i < 1000000000; ++i) {
  }
#endif
}

/* buffers: x. Leaves x as it is; sleeps for a second. */
void sleepOnAll(void *const *buffers, const int64_t *positions, int64_t part,
         int64_t parts) {
  (void)buffers, (void)positions, (void)part, (void)parts;
  sleepForASecond();
}

/* The same where positions[0] is 1. */
void sleepOnOne(void *const *buffers, const int64_t *positions, int64_t part,
         int64_t parts) {
  (void)buffers, (void)part, (void)parts;
  if (positions[0] == 1)
    sleepForASecond();
}
