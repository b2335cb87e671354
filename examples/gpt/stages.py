# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --parallel pp means: which layers are a stage, and in which order the ranks work.

There are as many stages as ranks along the axis, times the stages that the schedule gives each.
"""

import dataclasses

import weft

AXIS = "pipe"


@dataclasses.dataclass(frozen=True)
class Stages:
    """Into how many stages the model is cut, and how a batch goes through them."""

    count: int = 1
    microbatches: int = 1
    pipeline: weft.Pipeline | None = None


def stages(ranks, schedule, chunks, microbatches):
    """The stages of a schedule, given by name or as a CSV file, on some ranks. Without a number
    of micro-batches there are those of the file, or two for each rank, which all schedules admit."""
    if schedule.endswith(".csv"):
        made = weft.pipeline.load_table(schedule)
    else:
        made = weft.pipeline.schedule(schedule, ranks, microbatches or 2 * ranks, chunks=chunks)
    # The compiler compares a table with the ranks and micro-batches that there are. Of `auto` only
    # the number of stages is known here, of stages that take equally long; the compiler measures them.
    return Stages(made.ranks * made.chunks, microbatches or made.microbatches,
                  weft.Pipeline(AXIS, schedule, chunks=made.chunks))


def cuts(layers, count):
    """The layers that end a stage, the last stage's left out. Stages have as many layers as others
    or one more. The first stage has the embedding besides, and the last one the head, so that one
    more goes to those between them first: 6 layers in 4 stages are 1, 2, 2 and 1."""
    least, more = divmod(layers, count)
    larger = [*range(1, count - 1), 0][:more]
    sizes = [least + (stage in larger) for stage in range(count - 1)]
    return [sum(sizes[:stage + 1]) - 1 for stage in range(count - 1)]
