//===- MicrobatchLoops.h - Loops that add up over micro-batches -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A `lax.scan` that accumulates gradients, as training loops write it:
//
//   def body(sums, part):                        # part: (tokens, targets)
//       loss, grads = value_and_grad(params, part)
//       return tree.map(jnp.add, sums, grads), loss
//   sums, losses = lax.scan(body, zeros, batch)  # batch: n parts, stacked
//
// Two iterations of the loop, read as ops of the graph, show what it is: values
// that an iteration hands on as they are, counters, sums that begin with zero
// and to which each iteration adds something that does not depend on them,
// stacks of a small part for each iteration, and slices of arrays at the number
// of the iteration. That the others are like these two follows from the
// counters (LoopCounters.h), or else all are compared with the first. The first
// iteration then becomes what is computed for each micro-batch.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_MICROBATCHLOOPS_H
#define WEFT_LIB_IMPORT_MICROBATCHLOOPS_H

#include "Conversion.h"
#include "LoopCounters.h"

namespace weft::stablehlo {

/// One execution of the body of a loop: what it was given, its ops but
/// constants, and what it gave.
struct LoopIteration {
  Values given;
  llvm::SmallVector<mlir::Operation *> ops;
  Values results;
};

/// Whether the first two iterations may be those of a loop over micro-batches.
bool mayBeMicrobatches(const LoopIteration &first, const LoopIteration &second);

/// Makes a loop over micro-batches of the iterations of a loop: of the first
/// two, if its `counters` say that all are alike, or of all of them. Returns
/// the values behind the loop; nothing, and changes nothing, if it is no such
/// loop. On success, the ops of all iterations but the first are gone.
std::optional<Values> formMicrobatches(Conversion &c,
                                       llvm::ArrayRef<LoopIteration> iterations,
                                       const LoopCounters *counters);

/// The same of the only iteration of a loop. It says less: what is taken of
/// stacks with one element is a slice of them, and what it makes a stack with
/// one element, one of its own.
std::optional<Values> formSingleMicrobatch(Conversion &c,
                                           const LoopIteration &only);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_MICROBATCHLOOPS_H
