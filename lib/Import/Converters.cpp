//===- Converters.cpp - The converter of every op -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace weft::stablehlo;

static llvm::StringMap<Converter> makeTable() {
  llvm::StringMap<Converter> table;
  for (auto converters :
       {elementwiseConverters, conversionConverters, bitConverters,
        dimensionConverters, reductionConverters, indexingConverters,
        orderConverters, specialConverters, controlFlowConverters,
        loopConverters, shardingConverters, windowConverters})
    for (Converter &converter : converters())
      table.try_emplace(converter.op, std::move(converter));
  return table;
}

const Converter *weft::stablehlo::findConverter(llvm::StringRef op) {
  static const llvm::StringMap<Converter> table = makeTable();
  auto entry = table.find(op);
  return entry == table.end() ? nullptr : &entry->second;
}

std::string weft::stablehlo::explainMissing(llvm::StringRef op) {
  return llvm::StringSwitch<std::string>(op)
      .Case("stablehlo.rng", "random bits of the device; use jax.random with "
                             "its keys")
      .Case("sdy.manual_computation",
            "programs for each device (shard_map); weft.from_jax imports the "
            "function that has them")
      .Case("stablehlo.partition_id",
            "it asks for the device; a graph is the program of all devices")
      .Default("not supported");
}
