# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""weft.models: sizes of published models, the same numbers under every parallelism, and messages."""

import functools
import warnings

import numpy as np
import pytest

import weft

TINY = {
    "gpt": dict(layers=2, hidden=32, heads=4, vocabulary=64, sequence=16, dtype="float32", global_batch=8),
    "llama": dict(layers=2, hidden=32, heads=4, kv_heads=2, ffn=48, vocabulary=64, sequence=16, dtype="float32",
                  global_batch=8),
}
PARALLELISMS = {
    "data": dict(data=2),
    "tensor": dict(tensor=2),
    "more tensor ranks than heads of keys": dict(tensor=4),
    "sequence": dict(tensor=2, sequence_parallel=True),
    "context": dict(context=2),
    "zero1": dict(data=2, tensor=2, sharded="zero1"),
    "zero1, next step": dict(data=2, tensor=2, sharded="zero1", gather="next-step", recomputation="full"),
    "zero1, next step, pipeline": dict(data=2, pipeline=2, sharded="zero1", gather="next-step"),
    "fsdp": dict(data=2, context=2, sharded="fsdp", recomputation="full"),
    "pipeline": dict(pipeline=2, data=2),
    "schedule": dict(pipeline=2, tensor=2, sharded="fsdp", schedule="zb-h1", recomputation="full"),
    "selective": dict(recomputation="selective", micro_batch=2),
    "alternate": dict(recomputation="alternate", tensor=2),
    "whole": dict(recomputation="whole", tensor=2, micro_batch=2),
    "unfused": dict(attention="unfused", tensor=2, sequence_parallel=True),
    "unfused, selective": dict(attention="unfused", pipeline=2, recomputation="selective"),
    "unfused, full": dict(attention="unfused", recomputation="full", data=2),
}


def losses(step, count=3):
    random = np.random.default_rng(0)
    params = weft.tree.map(lambda leaf: random.normal(0.0, 0.1, leaf.shape).astype(np.float32),
                           step.model.parameters(step.sizes))
    state = {"params": params, "optimizer": weft.jit(step.optimizer().init)(params)}
    tokens = random.integers(0, step.sizes.vocabulary, (8, step.sizes.sequence)).astype(np.int32)
    run, seen = step.jit(), []
    for _ in range(count):
        state, loss = run(state, {"tokens": tokens, "targets": np.roll(tokens, -1, 1)})
        seen.append(float(loss))
    return seen


@functools.cache
def losses_of_one_device(name):
    return losses(getattr(weft.models, name)(**TINY[name]))


@pytest.mark.parametrize("parallelism", PARALLELISMS)
@pytest.mark.parametrize("name", TINY)
def test_parallelism_changes_no_loss(name, parallelism):
    step = getattr(weft.models, name)(**TINY[name] | PARALLELISMS[parallelism])
    assert losses(step) == pytest.approx(losses_of_one_device(name), rel=1e-6)


@pytest.mark.parametrize("schedule", [None, "zb-v"])
def test_chunks_change_no_loss(schedule):
    sizes = TINY["gpt"] | dict(layers=4)
    step = weft.models.gpt(**sizes, pipeline=2, chunks=2, schedule=schedule)
    assert losses(step) == pytest.approx(losses(weft.models.gpt(**sizes)), rel=1e-6)


def test_a_gpt_may_have_fewer_heads_of_keys():
    sizes = TINY["gpt"] | dict(kv_heads=2)
    assert losses(weft.models.gpt(**sizes, tensor=4)) == pytest.approx(losses(weft.models.gpt(**sizes)), rel=1e-6)


def kept(**settings):
    """Bytes of activations at the peak."""
    step = weft.models.gpt(layers=4, hidden=256, heads=8, vocabulary=64, sequence=512, **settings)
    return step.lower().compile(target="none").memory().highest["activations"]


def test_what_recomputation_keeps():
    whole, scores = (kept(attention=attention) for attention in ("fused", "unfused"))
    assert kept(recomputation="full") < kept(recomputation="alternate") < whole
    # Of four layers, 8 heads and 512 x 512 scores in bfloat16.
    assert scores > whole + 3 * 8 * 512 * 512 * 2
    assert kept(attention="unfused", recomputation="selective") < whole + 2 * 8 * 512 * 512 * 2


def test_whole_recomputation_has_the_last_product_again():
    def work(recomputation):
        step = weft.models.gpt(**TINY["gpt"], tensor=2, recomputation=recomputation, micro_batch=8)
        plan = step.lower().compile(target="none", combine_collectives=False)
        return plan.cost().gemms, sum(c.count for c in plan.collectives() if c.kind == "all_reduce")

    (gemms, sums), (all_gemms, all_sums) = work("full"), work("whole")
    assert (all_gemms - gemms, all_sums - sums) == (2, 2)  # one of each layer, and the sum over tensor ranks behind it


def test_losses_fall():
    first, *_, last = losses_of_one_device("gpt")
    assert last < first < 1.1 * np.log(64)


def test_sizes_of_published_models():
    """GPT-2 small and GPT-3 as their checkpoints count, Llama 2 7B and Llama 3 8B as their model cards."""
    gpt = functools.partial(weft.models.gpt, vocabulary=50257)
    assert gpt(layers=12, hidden=768, heads=12, sequence=1024).parameters == 124_439_808
    assert 174.5e9 < gpt(layers=96, hidden=12288, heads=96, sequence=2048).parameters < 175e9
    llama = functools.partial(weft.models.llama, layers=32, hidden=4096, heads=32, sequence=4096)
    assert llama(ffn=11008, vocabulary=32000).parameters == 6_738_415_616
    assert llama(kv_heads=8, ffn=14336, vocabulary=128256).parameters == 8_030_261_248


def test_states_are_where_the_parallelism_says():
    specs = {}
    for sharded in ("none", "zero1", "fsdp"):
        step = weft.models.gpt(**TINY["gpt"] | dict(data=2, tensor=2, sharded=sharded))
        layout, state = step.parallelism.layout(step.sizes, step.model), step.state()
        up = layout.parameter_specs(state["params"])["blocks"][0]["mlp"]["w1"]
        moment = layout.optimizer_specs(state["optimizer"], state["params"])
        moments = [spec for spec, leaf in zip(weft.tree.leaves(moment), weft.tree.leaves(state["optimizer"]))
                   if leaf.shape == (32, 128)]
        specs[sharded] = [up, moments[0]]
    whole, parts = weft.P(None, "tensor"), weft.P("data", "tensor")
    assert specs == {"none": [whole, whole], "zero1": [whole, parts], "fsdp": [parts, parts]}


def gathered(**settings):
    """The bytes that a rank sends of parameters, and those of its states."""
    sizes = dict(layers=2, hidden=128, heads=2, vocabulary=256, sequence=64)
    program = weft.models.gpt(**sizes, data=4, **settings).lower().compile(None, cluster="dgx-h100")
    return sum(c.count * c.bytes for c in program.collectives() if c.kind == "all_gather"), program.memory().states


@pytest.mark.parametrize("settings", [{}, {"recomputation": "full"}, {"global_batch": 16},
                                      {"recomputation": "full", "global_batch": 16}])
def test_zero1_gathers_narrow_parameters_once_in_the_next_step(settings):
    whole, states = gathered(sharded="zero1", **settings)
    narrow, fewer_states = gathered(sharded="zero1", gather="next-step", **settings)
    # Products take bfloat16; float32 is the table that tokens are looked up in, and what is small.
    assert 0.5 * whole < narrow < 0.75 * whole
    assert fewer_states < 0.52 * states
    if settings:
        assert narrow < 0.7 * gathered(sharded="fsdp", **settings)[0]


@pytest.mark.parametrize("settings", [{"recomputation": "full"}, {"recomputation": "full", "global_batch": 8},
                                      {"gather": "next-step"}, {"gather": "next-step", "global_batch": 8}])
def test_gathers_that_zero1_is_made_of_are_no_surprise(settings):
    step = weft.models.gpt(layers=1, hidden=4096, heads=32, vocabulary=50304, sequence=256, data=4, sharded="zero1", **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step.lower().compile(None, cluster="dgx-h100")
    assert [str(each.message) for each in caught if "all-gathered" in str(each.message)] == []


def test_a_step_says_what_it_is():
    step = weft.models.gpt(**TINY["gpt"] | dict(pipeline=2, data=2))
    assert str(step) == "gpt of 28,032 parameters, pipeline 2, data 2, 8 sequences of 16 in 4 micro-batches"


def test_causes_name_the_lines_of_the_model():
    step = weft.models.gpt(**TINY["gpt"] | dict(tensor=2))
    causes = [c.cause for c in step.lower().compile(target="none").collectives()]
    assert any("dot_general (gpt.py:" in cause for cause in causes)


@pytest.mark.parametrize("name, change, problems", [
    ("gpt", {"width": 3}, ["unknown setting width; settings are attention, chunks, context, data, dtype"]),
    ("gpt", {"layers": 0, "data": 2}, ["layers must be at least 1, got 0"]),
    ("gpt", {"heads": 5}, ["heads must divide hidden, but 32 is no multiple of 5"]),
    ("gpt", {"attention": "flash"}, ["attention must be one of fused, unfused, got 'flash'"]),
    ("gpt", {"kv_heads": 3}, ["kv_heads must divide heads, but 4 is no multiple of 3"]),
    ("llama", {"kv_heads": 3}, ["kv_heads must divide heads, but 4 is no multiple of 3"]),
    ("gpt", {"tensor": 3, "context": 5},
     ["tensor must divide heads, but 4 is no multiple of 3", "tensor must divide ffn, but 128 is no multiple of 3",
      "context must divide sequence, but 16 is no multiple of 5"]),
    ("gpt", {"data": 0, "micro_batch": 1.5}, ["data must be at least 1, got 0", "micro_batch must be at least 1, got 1.5"]),
    ("gpt", {"data": 3}, ["global_batch must be a multiple of data x micro_batch = 3, got 8"]),
    ("gpt", {"sequence_parallel": "no"}, ["sequence_parallel must be True or False, got 'no'"]),
    ("gpt", {"sharded": "zero2"}, ["sharded must be one of none, zero1, fsdp, got 'zero2'"]),
    ("gpt", {"gather": "late"}, ["gather must be one of after-update, next-step, got 'late'"]),
    ("gpt", {"gather": "next-step", "sharded": "fsdp"}, ["gather=\"next-step\" is for sharded=\"zero1\", got 'fsdp'"]),
    ("gpt", {"recomputation": "all"}, ["recomputation must be one of none, selective, alternate, full, whole, got 'all'"]),
    ("gpt", {"chunks": 2}, ["chunks are stages of the ranks of a pipeline, but pipeline is 1 and chunks 2"]),
    ("gpt", {"schedule": "zb-v"}, ["schedule 'zb-v' needs a pipeline of 2 ranks or more"]),
    ("llama", {"theta": -1}, ["theta must be a positive number, got -1"]),
    ("llama", {"theta": float("nan")}, ["theta must be a positive number, got nan"]),
    ("llama", {"theta": "x"}, ["theta must be a positive number, got 'x'"]),
    ("gpt", {"reduce_dtype": "x"},
     ["weft.models.gpt: reduce_dtype must be float32, or None for the type of the gradients, got 'x'"]),
    ("gpt", {"pipeline": 4, "chunks": 2}, ["2 layers cannot be cut into pipeline x chunks = 8 stages"]),
])
def test_what_is_impossible_is_said_at_once(name, change, problems):
    with pytest.raises(ValueError) as error:
        getattr(weft.models, name)(**TINY[name] | change)
    for problem in problems:
        assert problem in str(error.value)


def test_what_is_missing_is_said_at_once():
    with pytest.raises(ValueError, match="weft.models.llama: heads is not given; vocabulary is not given"):
        weft.models.llama(layers=1, hidden=4, sequence=4)
