# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The speed of the same GPT-2 in PyTorch: torch.compile, fused AdamW, its best attention.

Queries, keys and values come of one product, as in GPT-2's own code and in what is fast in
PyTorch: its weight is the three of the other systems side by side. What the others compute in
bfloat16 is cast by hand, so that the types are the same.
"""

import contextlib
import math

import numpy as np
import problem
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

# The first that takes the problem.
ATTENTION = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION,
             SDPBackend.MATH]


class Linear(nn.Module):
    """A weight [in, out] and a bias, in the type of what they meet."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.from_numpy(np.ascontiguousarray(weight.T)))
        self.bias = nn.Parameter(torch.from_numpy(bias.copy()))

    def forward(self, x):
        return F.linear(x, self.weight.to(x.dtype), self.bias.to(x.dtype))


class LayerNorm(nn.Module):
    """Computed in float32, returned in the type of x."""

    def __init__(self, params):
        super().__init__()
        self.scale = nn.Parameter(torch.from_numpy(params["scale"].copy()))
        self.bias = nn.Parameter(torch.from_numpy(params["bias"].copy()))

    def forward(self, x):
        return F.layer_norm(x.float(), self.scale.shape, self.scale, self.bias, 1e-5).to(x.dtype)


class Block(nn.Module):
    def __init__(self, params, heads):
        super().__init__()
        self.heads = heads
        attn, mlp = params["attn"], params["mlp"]
        self.norm1, self.norm2 = LayerNorm(params["ln1"]), LayerNorm(params["ln2"])
        self.qkv = Linear(np.concatenate([attn[f"w{part}"] for part in "qkv"], axis=1),
                          np.concatenate([attn[f"b{part}"] for part in "qkv"]))
        self.out = Linear(attn["wo"], attn["bo"])
        self.up, self.down = Linear(mlp["w1"], mlp["b1"]), Linear(mlp["w2"], mlp["b2"])

    def forward(self, x):
        batch, time, width = x.shape
        query, key, value = (part.view(batch, time, self.heads, -1).transpose(1, 2)
                             for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, params, config):
        super().__init__()
        self.dtype = getattr(torch, config.dtype)
        self.tokens = nn.Parameter(torch.from_numpy(params["wte"].copy()))
        self.positions = nn.Parameter(torch.from_numpy(params["wpe"].copy()))
        self.blocks = nn.ModuleList(Block(block, config.heads) for block in params["blocks"])
        self.norm = LayerNorm(params["ln_f"])

    def forward(self, tokens, targets):
        x = (F.embedding(tokens, self.tokens) + self.positions[: tokens.shape[1]]).to(self.dtype)
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.to(x.dtype)).float()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten().long())


def rate_at(step, peak=1e-3, warmup=10, total=1000):
    """weft_models.warmup_cosine."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = min((step - warmup) / (total - warmup), 1.0)
    return peak * (0.1 + 0.45 * (1.0 + math.cos(math.pi * progress)))


class Trainer:
    def __init__(self, arguments, state, size):
        self.device = {"gpu": "cuda", "cpu": "cpu"}[arguments.on]
        torch.set_float32_matmul_precision("high" if arguments.dtype == "bfloat16" else "highest")
        self.model = GPT2(state["params"], arguments.config).to(self.device)
        self.loss = torch.compile(self.model, dynamic=False)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), betas=(0.9, 0.95), eps=1e-8,
                                           weight_decay=0.1, fused=True)
        self.attention = (lambda: sdpa_kernel(ATTENTION, set_priority=True)
                          ) if arguments.on == "gpu" else contextlib.nullcontext
        self.steps = 0

    def on_device(self, array):
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().cuda(non_blocking=True) if self.device == "cuda" else tensor

    def step(self, tokens, targets):
        with self.attention():
            loss = self.loss(self.on_device(tokens), self.on_device(targets))
            loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.param_groups[0]["lr"] = rate_at(self.steps)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.steps += 1
        loss = loss.item()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return loss

    def parameters(self):
        return [parameter.detach().cpu().numpy() for parameter in self.model.parameters()]


def is_too_large(error):
    if not isinstance(error, torch.OutOfMemoryError):
        return False
    torch.cuda.empty_cache()
    return True


if __name__ == "__main__":
    problem.measure(__doc__, Trainer, is_too_large)
