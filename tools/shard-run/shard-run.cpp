//===- shard-run.cpp - Runs plans -------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   shard-run mlp.plan --init init --steps 100 --input x=x.npy --metrics m.csv
//   shard-run mlp.plan --dump=train_step
//
//===----------------------------------------------------------------------===//

#include "Run.h"

int main(int argc, char **argv) {
  weft::tools::Arguments arguments;
  if (auto code = weft::tools::parseArguments(argc, argv, arguments))
    return weft::tools::finish(*code);
  return weft::tools::finish(weft::tools::run(arguments));
}
