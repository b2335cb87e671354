# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways to train one model on several devices, as tables of specs.

    way = PARALLELISMS["fsdp+tp"]
    layout = way.layout(params)
    weft.jit(model.train_step(optimizer, way.wrap), layout=layout, donate_argnums=0,
             in_shardings=way.in_shardings(layout, state))

Only the tables differ: `wrap` decides what the backward pass computes again, which is no
matter of where values are. Tests of numbers, of collectives and of bytes are made from them.
"""

import dataclasses
import re
from typing import Any

import weft
from weft import P

Axes = str | tuple[str, ...] | None


def joined(*axes: Axes) -> Axes:
    """Axes one inside the other, as one entry of a spec."""
    names = tuple(name for axis in axes if axis for name in ((axis,) if isinstance(axis, str) else axis))
    return None if not names else names[0] if len(names) == 1 else names


# Of each parameter the kinds of its dimensions: "tp" is split by tensor parallelism, "vocab" by
# vocabulary parallelism, and "shard" is one that is free to be split where parameters rest in
# shards. A dimension with two kinds is split by both.
KINDS = [
    ("wte", ("vocab", "shard")),
    ("wpe", (None, "shard")),
    ("head", ("shard", "vocab")),
    (".*/(w[qkv1]|gate|up)", ("shard", "tp")),
    (".*/(b[qkv1])", ("tp shard",)),
    (".*/(wo|w2|down)", ("tp", "shard")),
    # Norms and biases of whole rows.
    (".*/(scale|bias|bo|b2|norm[123])|norm_[ef]", ("shard",)),
    ("relative", (None, None)),
]


def table(params: Any, **axes: Axes) -> weft.Rules:
    """The rules that give each kind of a dimension its axes, for the parameters of a model."""
    paths = ["/".join(str(key.value) for key in path)
             for path, _ in weft.tree.flatten_with_keys(params)[0]]
    rules = [(pattern, P(*(joined(*(axes.get(kind) for kind in (kinds or "").split()))
                           for kinds in dims))) for pattern, dims in KINDS]
    return weft.rules([rule for rule in rules if any(re.fullmatch(rule[0], path) for path in paths)])


@dataclasses.dataclass(frozen=True)
class Parallelism:
    """Which mesh axes split what.

    batch      rows of the batch
    tp         columns and rows of weights (Megatron)
    sequence   activations between blocks along the sequence, beside tp
    vocab      the vocabulary of embedding, logits and loss
    rest       parameters where they rest (ZeRO-3, FSDP)
    optimizer  the state of the optimizer (ZeRO-1), by default as `rest`
    gradients  gradients (ZeRO-2), by default as the optimizer
    gather     when parameters that rest in shards are gathered: for each "use", or once a "step"
    """

    mesh: dict[str, int]
    batch: Axes = None
    tp: Axes = None
    sequence: Axes = None
    vocab: Axes = None
    rest: Axes = None
    optimizer: Axes = None
    gradients: Axes = None
    gather: str = "use"
    checkpoint: bool = False

    def layout(self, params: Any, constrained: bool = True) -> weft.Layout:
        """With specs of activations or, unless `constrained`, of parameters alone."""
        split = {"tp": self.tp, "vocab": self.vocab}
        optimizer = self.optimizer or self.rest
        return weft.Layout(
            weft.Mesh(tuple(self.mesh.values()), tuple(self.mesh)),
            rest=table(params, shard=self.rest, **split),
            compute=table(params, **split) if self.rest else None, gather=self.gather,
            optimizer=table(params, shard=optimizer, **split),
            gradients=table(params, shard=self.gradients or optimizer, **split),
            activations={"residual": P(self.batch, self.sequence, None),
                         "heads": P(self.batch, None, self.tp, None),
                         "attended": P(self.batch, None, self.tp, None),
                         "hidden": P(self.batch, None, self.tp),
                         "logits": P(self.batch, None, self.vocab)} if constrained else {})

    def in_shardings(self, layout: weft.Layout, state: Any) -> Any:
        params = state["params"]
        return ({"params": layout.parameter_specs(params),
                 "optimizer": layout.optimizer_specs(state["optimizer"], params)}, P(self.batch))

    def wrap(self, block: Any) -> Any:
        return weft.checkpoint(block) if self.checkpoint else block


PARALLELISMS = {
    "dp": Parallelism({"data": 8}, batch="data"),
    "tp": Parallelism({"model": 4}, tp="model"),
    "tp+vocab": Parallelism({"model": 4}, tp="model", vocab="model"),
    "vocab": Parallelism({"model": 8}, vocab="model"),
    "tp+sp": Parallelism({"model": 4}, tp="model", sequence="model"),
    "tp+sp+vocab": Parallelism({"model": 4}, tp="model", sequence="model", vocab="model"),
    "zero1": Parallelism({"data": 4}, batch="data", optimizer="data"),
    "zero2": Parallelism({"data": 4}, batch="data", optimizer="data", gradients="data"),
    "fsdp": Parallelism({"data": 4}, batch="data", rest="data"),
    "fsdp+checkpoint": Parallelism({"data": 4}, batch="data", rest="data", checkpoint=True),
    # Shards within a group of devices, copies of them across groups.
    "hybrid": Parallelism({"replica": 2, "data": 4}, batch=("replica", "data"), rest="data"),
    "fsdp over two axes": Parallelism({"a": 2, "b": 2}, batch=("a", "b"), rest=("a", "b")),
    "dp+tp": Parallelism({"data": 2, "model": 4}, batch="data", tp="model"),
    "dp+tp+sp": Parallelism({"data": 2, "model": 4}, batch="data", tp="model", sequence="model"),
    "zero1+tp": Parallelism({"data": 2, "model": 2}, batch="data", tp="model", optimizer="data"),
    "fsdp+tp": Parallelism({"data": 2, "model": 4}, batch="data", rest="data", tp="model"),
    "dp+fsdp+tp": Parallelism({"replica": 2, "data": 2, "model": 2}, batch=("replica", "data"),
                              rest="data", tp="model"),
    "dp+fsdp+tp+sp+vocab+checkpoint": Parallelism(
        {"replica": 2, "data": 2, "model": 2}, batch=("replica", "data"), rest="data", tp="model",
        sequence="model", vocab="model", checkpoint=True),
}


def lower_step(model, optimizer, way=None):
    """A training step of the model for shapes alone: on one device, or in one of the ways above."""
    params = model.params()
    state = {"params": params, "optimizer": weft.eval_shape(optimizer.init, params)}
    options, wrap = {}, lambda block: block
    if way:
        layout, wrap = PARALLELISMS[way].layout(params), PARALLELISMS[way].wrap
        options = {"layout": layout, "in_shardings": PARALLELISMS[way].in_shardings(layout, state)}
    step = weft.jit(model.train_step(optimizer, wrap), donate_argnums=0, **options)
    return step.lower(state, weft.tree.map(lambda steps: steps[0], model.batches(1)))
