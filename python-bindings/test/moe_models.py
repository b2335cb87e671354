# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small language models with experts, like Mixtral and the Switch Transformer, and the ways to
train them on several devices.

    state = MODELS["mixtral"].state(adamw())
    WAYS["dp+ep"].layout(params)
"""

import dataclasses
from typing import Any

import numpy as np
import weft_models
from parallelisms import Axes, joined
from tiny_models import Config, Model, normal

import weft
import weft.numpy as wnp
from weft import P, nn
from weft import checkpoint_name as named

BALANCE, Z = 1e-2, 1e-3


@dataclasses.dataclass(frozen=True)
class MoeConfig(Config):
    experts: int = 8
    top_k: int = 2
    capacity: float | None = 1.25
    is_gated: bool = True
    has_shared: bool = False
    group_size: int | None = None


def params_of(random, config):
    d, f, e = config.width, config.hidden, config.experts

    def perceptron(*front):
        names = {"up": (d, f), "down": (f, d)} | ({"gate": (d, f)} if config.is_gated else {})
        return {name: normal(random, *front, *shape) for name, shape in names.items()}

    def block():
        return {"norm1": normal(random, d, mean=1.0),
                "attn": {name: normal(random, d, d) for name in ("wq", "wk", "wv", "wo")},
                "norm2": normal(random, d, mean=1.0), "router": normal(random, d, e, scale=0.5),
                "experts": perceptron(e)} | ({"shared": perceptron()} if config.has_shared else {})

    return {"wte": normal(random, config.vocab, d), "blocks": [block() for _ in range(config.layers)],
            "norm_f": normal(random, d, mean=1.0), "head": normal(random, d, config.vocab)}


def attention(params, x, config):
    rows, time, width = x.shape
    q, k, v = (named((x @ params[w]).reshape(rows, time, config.heads, width // config.heads), "heads")
               for w in ("wq", "wk", "wv"))
    y = named(nn.dot_product_attention(q, k, v, is_causal=True), "attended")
    return y.reshape(rows, time, width) @ params["wo"]


def block(params, x, config):
    x = named(x + attention(params["attn"], nn.rms_norm(x, params["norm1"]), config), "residual")
    y, metrics = nn.moe(
        nn.rms_norm(x, params["norm2"]), params["router"], params["experts"], shared=params.get("shared"),
        top_k=config.top_k, capacity=config.capacity, group_size=config.group_size,
        activation=nn.silu if config.is_gated else nn.relu)
    return named(x + y, "residual"), BALANCE * metrics.balance_loss + Z * metrics.z_loss


def loss_of(params, batch, config, wrap=lambda block: block):
    def whole(params, x, extra):
        x, more = block(params, x, config)
        return x, extra + more

    x, extra = named(params["wte"][batch["tokens"]], "residual"), wnp.float32(0)
    for each in params["blocks"]:
        x, extra = wrap(whole)(each, x, extra)
    logits = nn.rms_norm(x, params["norm_f"]) @ params["head"]
    return weft_models.lm_loss(logits, batch["targets"]) + extra / config.layers


MIXTRAL = MoeConfig()
MODELS = {
    "mixtral": Model(loss_of, params_of, MIXTRAL),
    "switch": Model(loss_of, params_of, dataclasses.replace(MIXTRAL, top_k=1, is_gated=False)),
    "shared": Model(loss_of, params_of, dataclasses.replace(MIXTRAL, has_shared=True)),
    "dropless": Model(loss_of, params_of, dataclasses.replace(MIXTRAL, capacity=None)),
    # As many slots as a group has tokens: nothing is dropped either.
    "bounded": Model(loss_of, params_of, dataclasses.replace(MIXTRAL, capacity=MIXTRAL.experts / MIXTRAL.top_k)),
    # Each row is two groups, so that it may be split over two devices.
    "grouped": Model(loss_of, params_of, dataclasses.replace(MIXTRAL, group_size=8)),
}


@dataclasses.dataclass(frozen=True)
class Way:
    """Which mesh axes split what.

    batch     rows of the batch, and so groups of tokens
    expert    experts; one of the axes of groups
    tp        columns and rows of weights, of experts as well
    sequence  activations between blocks along time; groups of a row, in models that have several
    """

    mesh: dict[str, int]
    batch: tuple[str, ...] = ()
    expert: str | None = None
    tp: str | None = None
    sequence: Axes = None

    def layout(self, params: Any, config: MoeConfig) -> weft.Layout:
        is_grouped = config.group_size is not None
        left = tuple(axis for axis in self.batch if axis != self.expert)
        inner = self.sequence if self.sequence != self.expert else None
        before = (self.batch, self.sequence) if is_grouped else (self.batch,)
        after = (left, inner if inner != self.tp else None) if is_grouped else (left,)
        tables = [("wte|.*/router|norm_f|.*/norm[12]|head", P()),
                  (".*/attn/w[qkv]", P(None, self.tp)), (".*/attn/wo", P(self.tp)),
                  (".*/experts/(up|gate)", P(self.expert, None, self.tp)),
                  (".*/experts/down", P(self.expert, self.tp))]
        if any("shared" in path for path, _ in weft.tree.flatten_with_paths(params)[0]):
            tables += [(".*/shared/(up|gate)", P(None, self.tp)), (".*/shared/down", P(self.tp))]
        rest = weft.rules(tables)
        if config.capacity is None:
            of_experts = {"expert hidden": P(joined(*self.batch), None, self.tp)}
        else:
            of_experts = {"dispatched": P(None, *map(_joined, before)), "experts": P(self.expert, *map(_joined, after)),
                          "expert hidden": P(self.expert, *map(_joined, after), None, self.tp)}
        return weft.Layout(
            weft.Mesh(tuple(self.mesh.values()), tuple(self.mesh)), rest=rest, compute=rest,
            activations={"residual": P(joined(*self.batch), joined(self.sequence)),
                         "heads": P(joined(*self.batch), None, self.tp), **of_experts})

    def in_shardings(self, layout: weft.Layout, state: Any) -> Any:
        params = state["params"]
        return ({"params": layout.parameter_specs(params),
                 "optimizer": layout.optimizer_specs(state["optimizer"], params)}, P(joined(*self.batch)))


def _joined(axes: Axes) -> Axes:
    return joined(*axes) if isinstance(axes, tuple) else axes


E = ("expert",)
DE = ("data", "expert")
WAYS = {
    "ep2": Way({"expert": 2}, E, "expert"),
    "ep4": Way({"expert": 4}, E, "expert"),
    "ep8": Way({"expert": 8}, E, "expert"),
    "dp": Way({"data": 4}, ("data",)),
    "tp": Way({"model": 2}, tp="model"),
    "dp+tp": Way({"data": 2, "model": 2}, ("data",), tp="model"),
    "ep over data": Way({"data": 4}, ("data",), "data"),
    "dp+ep2": Way({"data": 2, "expert": 2}, DE, "expert"),
    "dp+ep4": Way({"data": 2, "expert": 4}, DE, "expert"),
    "ep2+tp": Way({"expert": 2, "model": 2}, E, "expert", "model"),
    "ep4+tp": Way({"expert": 4, "model": 2}, E, "expert", "model"),
    "dp+ep2+tp": Way({"data": 2, "expert": 2, "model": 2}, DE, "expert", "model"),
}
# For models whose rows are two groups.
SEQUENCE_WAYS = {
    "ep2+tp+sp": Way({"expert": 2, "model": 2}, E, "expert", "model", "model"),
    "ep over context": Way({"data": 2, "context": 2}, ("data",), "context", None, "context"),
}
