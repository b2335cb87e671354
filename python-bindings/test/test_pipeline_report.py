# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a plan of a pipeline says of its stages, messages, schedule and memory."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P

MICROBATCHES = 4


def step(w, x):
    def loss(w, x):
        h = x
        for i in range(len(w)):
            h = wnp.tanh(h @ w[i])
            if i + 1 < len(w):
                h = weft.stage_boundary(h)
        return (h * h).mean()

    value, gradients = weft.value_and_grad(loss)(w, x)
    return [p - 0.1 * g for p, g in zip(w, gradients)], value


def compiled(stages, schedule="1f1b", ranks=2):
    mesh = weft.AbstractMesh((ranks, 2), ("pipe", "data"))
    pipeline = weft.Pipeline("pipe", schedule=schedule, microbatches=MICROBATCHES)
    w = [weft.ShapeDtypeStruct((32, 32), np.float32)] * stages
    x = weft.ShapeDtypeStruct((32, 32), np.float32)
    f = weft.jit(step, mesh=mesh, in_shardings=(P(), P("data")), donate_argnums=0, pipeline=pipeline)
    return f.lower(w, x).compile()


@pytest.mark.parametrize("stages, schedule", [(2, "1f1b"), (2, "zb-h1"), (4, "interleaved-1f1b"), (4, "zb-v")])
def test_the_memory_of_each_role_is_what_the_runtime_allocates(stages, schedule):
    plan = compiled(stages, schedule)
    memory = plan.memory()
    assert len(memory.roles) == 2
    # The axis of the pipeline is the major one.
    allocated = plan.session().arena_bytes
    assert [role.arena for role in memory.roles for _ in range(2)] == allocated
    assert memory.arena == max(allocated)
    for role in memory.roles:
        assert role.free >= 0
        assert role.at_peak["parameters"] == stages // 2 * 32 * 32 * 4
        assert role.peak_segment.startswith("step.")
    largest = max(memory.roles, key=lambda role: role.arena)
    assert (memory.at_peak, memory.peak) == (largest.at_peak, largest.peak)
    assert "largest of 2 ranks" in repr(memory)


def test_stages_and_messages():
    plan = compiled(2)
    first, last = plan.stages()
    gemm = 2 * 4 * 32 * 32
    assert (first.stage, first.rank, first.parameters) == (0, 0, 4096)
    assert first.forward_flops == gemm + 4 * 32  # and a tanh
    assert last.backward_flops > 2 * gemm > first.backward_flops > gemm
    assert first.input_gradient_flops == first.weight_gradient_flops == 0
    assert first.once_flops > 0 and first.once_seconds > 0
    forward, backward = plan.messages()
    assert forward == weft.records.Message("activations of stage 0 for stage 1", 4 * 32 * 4, MICROBATCHES, 0)
    assert backward.label == "gradients of stage 1 for stage 0"
    assert first.sent_bytes == forward.total_bytes and last.sent_bytes == backward.total_bytes
    sent = sum(m.total_bytes for m in plan.messages()) + sum(c.total_bytes for c in plan.collectives())
    assert plan.cost().wire_bytes == sent
    assert first.collective_bytes + last.collective_bytes == sum(c.total_bytes for c in plan.collectives())


def test_halves_of_the_backward_pass():
    last = compiled(2, "zb-h1").stages()[-1]
    assert last.input_gradient_flops > 0
    assert last.backward_flops == last.input_gradient_flops + last.weight_gradient_flops


@pytest.mark.parametrize("schedule, ranks, stages",
                         [("gpipe", 2, 2), ("1f1b", 2, 2), ("1f1b", 4, 4), ("zb-h1", 4, 4), ("zb-h2", 2, 2),
                          ("interleaved-1f1b", 2, 4), ("looped-bfs", 2, 4), ("interleaved-zb", 2, 4),
                          ("zb-v", 2, 4), ("v-half", 2, 4), ("v-min", 4, 8), ("dualpipev", 2, 4)])
def test_the_schedule_is_found_in_the_rows(schedule, ranks, stages):
    found = compiled(stages, schedule, ranks).schedule()
    assert (found.name, found.ranks, found.microbatches) == (schedule, ranks, MICROBATCHES)
    assert found.makespan >= found.lower_bound > 0
    assert found.draw().count("rank") == ranks
    if schedule != "dualpipev":  # whose pairs run one after the other
        published = weft.pipeline.schedule(schedule, ranks, MICROBATCHES, chunks=stages // ranks)
        assert found.peaks == published.peaks


def test_a_table_of_ones_own():
    table = weft.pipeline.table("0F0,0F1,0B0,0B1,0F2,0F3,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n")
    assert compiled(2, table).schedule().name == "table"


def test_a_loaded_plan_says_the_same(tmp_path):
    plan = compiled(2)
    plan.save(tmp_path / "step.plan")
    loaded = weft.load(tmp_path / "step.plan")
    assert [entry.name for entry in loaded.plan.entries] == ["step"]
    assert loaded.report() == plan.report()
    assert loaded.stages() == plan.stages()
    assert "1f1b, 2 ranks, 4 micro-batches, 1 stage per rank, along \"pipe\"" in plan.report()


def test_without_a_pipeline():
    plan = weft.jit(lambda x: x + 1).lower(np.ones(4, np.float32)).compile()
    assert plan.stages() == plan.messages() == []
    assert plan.schedule() is None
    assert plan.memory().roles == ()
    assert "ranks" not in repr(plan.memory())
