# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MLP, GPT-2 and Llama of the tests on a mesh of 4 x 2, with constraints on activations."""

import functools

import hlo_collectives
import jax
import jax_models as models
import weft

MESH_SIZES, MESH_AXES = (4, 2), ("data", "model")


def make_step(model, style, layers, batch_size=16, scan=False):
    """(the jitted step, shapes of its arguments) of a small model."""
    mesh = jax.make_mesh(MESH_SIZES, MESH_AXES,
                         axis_types=(jax.sharding.AxisType.Auto,) * 2)
    layout = models.Layout(mesh, style)
    if model == "mlp":
        config = models.MLPConfig(inputs=128, width=256, classes=64)
        init, loss, batch = models.mlp_init, models.mlp_loss, models.mlp_batch
    elif model == "gpt2":
        config = models.GPT2Config(vocab=512, context=64, width=128, heads=4, layers=layers)
        init, loss, batch = models.gpt2_init, models.gpt2_loss, models.lm_batch
    else:
        config = models.LlamaConfig(vocab=512, context=64, width=128, hidden=256, heads=4,
                                    groups=2, layers=layers)
        init, loss, batch = models.llama_init, models.llama_loss, models.lm_batch
    if scan:
        init, loss = (functools.partial(part, scan=True) for part in (init, loss))
    optimizer = models.adamw()

    def loss_of(params, data):
        return loss(params, data, config=config, layout=layout)

    step = models.train_step(loss_of, optimizer)
    state = jax.eval_shape(
        lambda key: models.init_state(init(key, config), optimizer), jax.random.key(0))
    data = jax.eval_shape(lambda key: batch(key, config, batch_size), jax.random.key(0))
    return models.jit_step(step, layout, state, data), (state, data)


def xla_bytes(lowered):
    """(bytes as compiled, bytes with credit for reduce-scatters, by kind)."""
    collectives = hlo_collectives.read_collectives(lowered.compile().as_text())
    by_kind = {}
    for collective in collectives:
        by_kind[collective.kind] = (by_kind.get(collective.kind, 0)
                                    + collective.wire_bytes * collective.trips)
    total = sum(by_kind.values())
    return total, sum(c.credited_bytes * c.trips for c in collectives), by_kind


def weft_bytes(step, arguments):
    by_kind = {}
    for record in weft.from_jax(step, *arguments).compile(target=None).collectives():
        kind = record.kind.replace("_", "-")
        by_kind[kind] = by_kind.get(kind, 0) + record.bytes * record.count
    return sum(by_kind.values()), by_kind


def kib(value):
    return f"{value / 1024:,.1f}"


def kinds_text(by_kind):
    return ", ".join(f"{kind} {kib(size)}" for kind, size in sorted(by_kind.items()))


def compare_bytes(names, styles, layers, scan):
    print("KiB that a rank sends in one training step, mesh 4 x 2\n")
    print(f"{'model':6} {'style':8} {'XLA':>10} {'credited':>10} {'Weft':>10} {'ratio':>6}")
    worse = 0
    details = []
    for name in names:
        for style in styles:
            step, arguments = make_step(name, style, layers, scan=scan)
            raw, credited, xla_kinds = xla_bytes(step.lower(*arguments))
            ours, our_kinds = weft_bytes(step, arguments)
            worse += ours > credited
            print(f"{name:6} {style:8} {kib(raw):>10} {kib(credited):>10} {kib(ours):>10} "
                  f"{ours / credited if credited else 1:>6.2f}", flush=True)
            details.append(f"{name} {style}\n  XLA:  {kinds_text(xla_kinds)}"
                           f"\n  Weft: {kinds_text(our_kinds)}")
    print("\nBy kind, KiB")
    print("\n".join(details))
    print(f"\n{worse} of {len(details)} steps where Weft sends more than XLA's credited bytes")
    return worse
