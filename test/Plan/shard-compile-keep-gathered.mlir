// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: shard-compile %s --target=none --optimize-shardings=false -o %t.plan | FileCheck %s --check-prefix=AGAIN
// AGAIN:     all_gather data:(2)8 28.0 MiB 4 "w" held as
// AGAIN-NOT: once for all micro-batches

// Few rows hide next to nothing of the gather.
// RUN: shard-compile %s --target=none --optimize-shardings=false --keep-gathered -o %t.plan | FileCheck %s --check-prefix=KEPT
// KEPT: all_gather data:(2)8 28.0 MiB 1 "w" held as
// KEPT: step: {{1 all-gather|2 all-gathers}} once for all micro-batches, which holds {{.*}} MiB, 32[[#]].{{.*}} us instead of 1.{{.*}} ms

// A limit keeps what fits.
// RUN: shard-compile %s --target=none --optimize-shardings=false --memory-limit=1GiB -o %t.plan | FileCheck %s --check-prefix=KEPT

weft.mesh @mesh = <["data"=16]>
func.func @step(%x: tensor<1024x4x4096xbf16> {weft.name = "x", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}, {}]>},
    %w: tensor<4096x4096xbf16> {weft.name = "w", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<1024x4096xbf16> {weft.name = "y", weft.sharding = #weft.sharding<@mesh, [{"data"}, {}]>}) {
  %xi = weft.microbatch_slice %x dim = 1 of <"step", 4> : tensor<1024x4x4096xbf16> -> tensor<1024x4096xbf16>
  %wi = weft.microbatch_use %w of <"step", 4> : tensor<4096x4096xbf16>
  %y = weft.dot_general %xi, %wi contracting = [1] x [0]
      : (tensor<1024x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1024x4096xbf16>
  %s = weft.microbatch_sum %y of <"step", 4> : tensor<1024x4096xbf16>
  return %s : tensor<1024x4096xbf16>
}
