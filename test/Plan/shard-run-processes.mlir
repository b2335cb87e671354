// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Processes do not wait for each other when they cannot run the plan.

// RUN: shard-compile %s -o %t.plan
// RUN: not shard-run %t.plan --rendezvous tcp://127.0.0.1:47113 --rank 0 --world 2 --start-deadline 1 2>&1 | FileCheck %s
// CHECK: the plan is for "cpu", whose processes communicate over MPI, but {{.*}} started 2 without it; start them with mpirun, srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 (MPICH)

func.func @f() -> tensor<4xf32> {
  %c = arith.constant dense<1.0> : tensor<4xf32>
  return %c : tensor<4xf32>
}
