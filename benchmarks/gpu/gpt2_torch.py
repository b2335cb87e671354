# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The speed of the same GPT-2 in PyTorch: torch.compile, fused AdamW, its best attention."""

import sys

import problem
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, time, width = x.shape
        query, key, value = (
            part.view(batch, time, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tokens = nn.Embedding(config.vocab, config.width)
        self.places = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.float().view(-1, logits.size(-1)), targets.view(-1))


def make_step(config):
    torch.manual_seed(0)
    model = GPT2(config).cuda()
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, (0.9, 0.95), weight_decay=0.1, fused=True)

    def step(tokens, targets):
        tokens, targets = (torch.from_numpy(part).long().cuda(non_blocking=True) for part in (tokens, targets))
        with torch.autocast("cuda", torch.bfloat16):
            loss = compiled(tokens, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        return loss

    return step


def main():
    arguments = problem.parse(__doc__)
    if not torch.cuda.is_available():
        sys.exit("this PyTorch has no CUDA")
    torch.set_float32_matmul_precision("high")
    for size in arguments.batches:
        try:
            step = make_step(arguments.config)
            step(*problem.batch(arguments.config, size, 0))
            break
        except torch.cuda.OutOfMemoryError as error:
            print(f"batch {size}: {str(error).splitlines()[0]}", flush=True)
            step = None
            torch.cuda.empty_cache()
    else:
        sys.exit("no batch fits the device")
    seconds, loss = problem.time_steps(step, arguments, size)
    problem.report(arguments, size, seconds, loss)


if __name__ == "__main__":
    main()
