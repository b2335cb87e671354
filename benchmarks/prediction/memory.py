# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of a rank under another framework, term by term.

The memory of a plan is what Weft allocates. A framework keeps other copies of the parameters, other activations, and
buffers of its own. They are counted here from the sizes of the model and from what is known of each framework's
source; nothing is fitted to measured memory. Activations of a block are those of Korthikanti et al. (arXiv:2205.05198,
section 4), for grouped queries, gated perceptrons and models without dropout as well.

    weights, gradients, optimizer state    copies of the rank's parameters
    activations      what blocks keep of all micro-batches in flight
    working set      of the block that is differentiated: what it recomputes, and gradients
    ends             embedding and loss: masks, norm, logits, and the gradient of the table before it is added up
    gathered         parameters that FSDP has gathered, and gradients that it has not reduced yet
    buffers          of buckets, and of the update
    reserves         of the device: context, NCCL and cuBLAS, as the cluster file says
"""

from __future__ import annotations

import dataclasses

from weft.models import TrainingStep
from weft.models.training import stage_ends

STATES = ("weights", "gradients", "optimizer state")


@dataclasses.dataclass(frozen=True)
class Framework:
    """What a framework keeps.

    weights, gradients, optimizer  bytes a parameter. ZeRO-1 shards the optimizer's, FSDP all of them
    update         bytes a parameter of a shard that the update allocates. Freed activations cannot give them: PyTorch's
                   allocator keeps freed blocks as they are, and these are larger
    buckets        bytes, whatever the model
    dropout        there are masks, a byte an element
    fused_gate     SiLU and the product behind it are one op, which keeps 2 values and not 3
    loss           bytes an element of the logits at the loss's peak
    last_output    "alternate" recomputation keeps the output of a block's last matmul, which nothing reads
    embedding_norm there is a norm behind the embedding, which keeps its operand
    keeps_sent     a stage keeps what it has sent until the backward pass, in parts on tensor ranks
    """

    weights: float = 2
    gradients: float = 4
    optimizer: float = 12
    update: float = 0
    buckets: float = 0
    dropout: bool = False
    fused_gate: bool = True
    loss: float = 8
    last_output: bool = False
    embedding_norm: bool = False
    keeps_sent: bool = False


# Megatron-LM: 16-bit weights, gradients added up in float32, weights and two moments in float32. The loss has logits
# in 16 bits and in float32, which softmax overwrites, and a 16-bit gradient.
NEMO = Framework()
MEGATRON = Framework(dropout=True)
# Gradients of 16 bits. Beside its shard of the optimizer's state ZeRO-1 flattens that of the gradients (2 bytes) and
# casts it (4). Two buckets of 5e8 elements, for reductions and for gathers. PipelineEngine splits the outputs of a stage
# over tensor ranks and frees them behind the backward pass; Megatron-LM frees them once they are sent. Its models of
# BigScience have --embed-layernorm.
DEEPSPEED = Framework(gradients=2, update=6, buckets=2e9, dropout=True, embedding_norm=True, keeps_sent=True)
# FSDP shards float32 weights, gradients and moments. The eager loss has log-probabilities and two gradients in float32.
FSDP = Framework(weights=4, optimizer=8, fused_gate=False, loss=12)
# By the beginning of a profile's name, the longest that fits first.
FRAMEWORKS = {"megatron": MEGATRON, "nemo": NEMO, "deepspeed": DEEPSPEED, "foundry": FSDP,
              "torchtitan-2024.12-eager": dataclasses.replace(FSDP, last_output=True), "torchtitan": FSDP}


def framework_of(software: str | None) -> Framework | None:
    """Of a profile; None for Weft and for profiles that are not shipped."""
    return next((each for name, each in FRAMEWORKS.items() if (software or "").startswith(name)), None)


class _Counts:
    """Elements and bytes of a step on a rank."""

    def __init__(self, step: TrainingStep, framework: Framework):
        self.sizes, self.ranks, self.framework = step.sizes, step.parallelism, framework
        self.gated = self.untied = step.name == "llama"
        self.stages = _layers_of_stages(self.sizes.layers, self.ranks.stages)
        self.tokens = self.sizes.sequence // self.ranks.context * self.ranks.micro_batch
        # Keys and values of fewer heads than ranks are on each.
        self.keys = self.sizes.kv_heads * self.sizes.head_size
        self.keys /= self.ranks.tensor if self.sizes.kv_heads % self.ranks.tensor == 0 else 1
        self.width = self.sizes.hidden / self.ranks.tensor
        self.inner = self.sizes.ffn / self.ranks.tensor

    @property
    def block(self) -> float:
        """Parameters of a block."""
        h, matrices = self.sizes.hidden, 3 if self.gated else 2
        vectors = 2 * h if self.gated else 6 * h + self.width + 2 * self.keys + self.inner
        return h * (2 * self.width + 2 * self.keys + matrices * self.inner) + vectors

    @property
    def table(self) -> float:
        """Parameters of an embedding."""
        return self.sizes.vocabulary * self.width

    def parameters(self, rank: int) -> float:
        first, last = rank == 0, rank == self.ranks.pipeline - 1
        tables = (first + last) if self.untied or self.ranks.pipeline > 1 else 1
        positions = first * self.sizes.sequence * self.sizes.hidden if not self.gated else 0
        return self.layers(rank) * self.block + tables * self.table + positions

    def layers(self, rank: int) -> int:
        return sum(self.stages[rank :: self.ranks.pipeline])

    def blocks_in_flight(self, rank: int) -> float:
        """Of all micro-batches whose backward pass is to come, at most."""
        p, chunks, count = self.ranks.pipeline, self.ranks.chunks, self.ranks.microbatches
        if self.ranks.schedule == "gpipe":
            return count * self.layers(rank)
        if chunks == 1:
            return min(count, p - rank) * self.layers(rank)
        # Interleaved 1F1B: passes before the first backward pass, and the one in front of it.
        passes = 2 * (p - rank - 1) + (chunks - 1) * p + 1
        return min(count, passes / chunks) * self.layers(rank)

    @property
    def scores(self) -> float:
        """Of attention without tiles: softmax, and with dropout its mask and output. Otherwise a statistic a row."""
        s = self.sizes.sequence
        heads = self.sizes.heads / self.ranks.tensor * self.tokens
        return heads * s * (5 if self.framework.dropout else 2) if self.sizes.attention == "unfused" else 4 * heads

    @property
    def residual(self) -> float:
        """Bytes of the residual stream, in 16 bits."""
        return 2 * self.tokens * (self.width if self.ranks.sequence_parallel else self.sizes.hidden)

    @property
    def kept_whole(self) -> float:
        """Bytes that a block keeps which recomputes nothing: inputs of norms and of the matmuls behind them, queries,
        keys, values, scores, what is attended, and the perceptron."""
        masks = self.residual if self.framework.dropout else 0
        inner = (3 if self.framework.fused_gate else 4) if self.gated else 2
        heads = 2 * self.width + 2 * self.keys
        return 4 * self.residual + masks + self.scores + 2 * self.tokens * (heads + inner * self.inner)

    @property
    def kept(self) -> float:
        """Bytes that a block keeps."""
        recomputed = self.ranks.recomputation
        if recomputed == "none":
            return self.kept_whole
        if recomputed == "selective":
            return self.kept_whole - self.scores
        if recomputed == "alternate":
            # Its input, queries, values, what is attended, and half of what goes into the perceptron.
            outputs = 2 * self.tokens * (2 * self.width + self.keys + self.inner)
            return outputs + self.residual * (2 if self.framework.last_output else 1)
        return self.residual

    @property
    def working_set(self) -> float:
        """Of the backward pass of a block: what it recomputes, the gradient of its output, and those before and behind
        the activation function or the scores."""
        gradients = 4 * self.tokens * self.inner
        if self.sizes.attention == "unfused":
            gradients = max(gradients, 4 * self.sizes.heads / self.ranks.tensor * self.tokens * self.sizes.sequence)
        return self.kept_whole - self.kept + 2 * self.tokens * self.sizes.hidden + gradients


def _layers_of_stages(layers: int, stages: int) -> list[int]:
    ends = [-1, *sorted(stage_ends(layers, stages)), layers - 1]
    return [end - start for start, end in zip(ends, ends[1:])]


def terms_of(step: TrainingStep, framework: Framework, rank: int) -> dict[str, float]:
    """Bytes of each term on a rank of the pipeline."""
    counts, ranks = _Counts(step, framework), step.parallelism
    replicas = ranks.data * ranks.context
    shards = 1 if ranks.sharded == "none" else replicas
    sharded = replicas if ranks.sharded == "fsdp" else 1
    own = counts.parameters(rank)
    first, last = rank == 0, rank == ranks.pipeline - 1
    in_flight = counts.blocks_in_flight(rank)
    microbatches = in_flight / max(1, counts.layers(rank))
    # Of each micro-batch in flight: masks and norm behind the embedding, and what is sent to the next stage.
    embedding = first * microbatches * counts.residual * (framework.dropout / 2 + framework.embedding_norm)
    sent = framework.keeps_sent * (not last) * microbatches * counts.residual / ranks.tensor
    table_gradient = 2 * counts.table if (first or last) and sharded == 1 else 0
    loss = last * framework.loss * counts.tokens * step.sizes.vocabulary / ranks.tensor
    return {
        "weights": framework.weights * own / sharded,
        "gradients": framework.gradients * own / sharded,
        "optimizer state": framework.optimizer * own / shards,
        "activations": counts.kept * in_flight + sent,
        # The loss is over before a block is differentiated.
        "working set": max(0.0, counts.working_set - loss),
        "ends": embedding + table_gradient + loss,
        "gathered": _gathered(counts, rank) if ranks.sharded == "fsdp" else 0.0,
        "buffers": framework.buckets + framework.update * own / shards,
    }


def _gathered(counts: _Counts, rank: int) -> float:
    """FSDP2 gathers 16-bit parameters of two blocks, and of the ends for the whole step, and reduces gradients in
    float32. Gathers and reductions have streams, and so pools of memory of their own. With a pipeline
    parameters stay gathered for all micro-batches, whose gradients are added up in float32."""
    ends = counts.parameters(rank) - counts.layers(rank) * counts.block
    if counts.ranks.pipeline > 1:
        return (2 + 4) * counts.parameters(rank) + (2 + 4) * max(ends, counts.block)
    running = 2 * ends + 2 * 2 * counts.block + 2 * counts.block
    return running + 2 * max(ends, 2 * counts.block) + 4 * max(ends, 2 * counts.block)


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes by what they are counted as.

    states      weights, gradients and optimizer of a rank in the middle of the pipeline, which has blocks alone
    activations of the blocks of the rank that has the most
    allocated   of the rank that has the most in all, without what the device reserves
    device      the same with it, as the device shows it
    terms       of that rank
    """

    states: float
    activations: float
    allocated: float
    device: float
    terms: dict[str, float]


def memory_of(step: TrainingStep, framework: Framework, reserves: float) -> Memory:
    """Of a step on devices that reserve so many bytes."""
    ranks = [terms_of(step, framework, rank) for rank in range(step.parallelism.pipeline)]
    most = max(ranks, key=lambda terms: sum(terms.values()))
    middle = ranks[len(ranks) // 2 if len(ranks) > 2 else 0]
    allocated = sum(most.values())
    return Memory(sum(middle[term] for term in STATES), max(terms["activations"] for terms in ranks),
                  allocated, allocated + reserves, most | {"reserves": reserves})
