# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models compiled for GPUs: plans that no device is needed for."""

import functools
import re

import numpy as np
import pytest
from parallelisms import lower_step
from tiny_models import MODELS, adamw

import weft

PROCESSORS = ["sm_80", "sm_90", "sm_100"]


@functools.cache
def lowered(name, way=None):
    return lower_step(MODELS[name], adamw(), way)


@functools.cache
def compiled(name, way, target):
    return lowered(name, way).compile(target)


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("name", MODELS)
def test_models_are_compiled_for_a_processor(name, processor):
    program = compiled(name, None, f"cuda:{processor}")
    assert f"target cuda {processor}" in program.as_text()
    assert program.plan.has_machine_code
    # Every kernel has a grid that the runtime launches; attention is an instruction of its own.
    first, *lines = program.plan.as_text("kernels").splitlines()
    kernels = [line for line in lines if line.startswith("  kernel ")]
    assert first == f"kernels {len(kernels)}" and len(kernels) > 10
    assert all(re.search(r" grid [1-9]\d* x [1-9]\d* ", kernel) for kernel in kernels)
    layers = MODELS[name].config.layers
    text = program.as_text()
    assert len(re.findall(r" attention ", text)) == len(re.findall(r" attention_grad ", text)) == layers


@pytest.mark.parametrize("way", ["tp+sp+vocab", "fsdp+tp"])
@pytest.mark.parametrize("name", MODELS)
def test_a_gpu_changes_nothing_of_the_partition(name, way):
    """Ranks send, and states are, what they are on CPUs."""
    host, device = (compiled(name, way, target) for target in ("cpu", "cuda:sm_90"))
    assert device.plan.ranks == host.plan.ranks

    def sent(program):
        # Products with epilogues are in another order, and what waits for them.
        return sorted((each.kind, each.axes, each.bytes, each.cause) for each in program.collectives()
                      for _ in range(each.count))

    assert sent(device) == sent(host)
    assert device.input_shardings == host.input_shardings
    assert device.memory().states == host.memory().states
    assert device.cost().gemms == host.cost().gemms


def test_plans_differ_by_the_target_alone():
    """Nothing of the machine that compiles is in a plan for a GPU."""
    first, other = (compiled("gpt2", None, f"cuda:{name}").plan.contents for name in ("sm_90", "sm_80"))
    assert lowered("gpt2").compile("cuda:sm_90").plan.contents == first != other


def test_a_saved_plan_is_the_same(tmp_path):
    program = compiled("gpt2", None, "cuda:sm_90")
    program.save(tmp_path / "gpt2.plan")
    loaded = weft.load(tmp_path / "gpt2.plan")
    assert loaded.as_text() == program.as_text()
    assert loaded.entry == program.entry


@pytest.mark.parametrize(
    "target, text",
    [
        ("cuda", 'unknown CUDA processor ""; expected cuda:sm_80 (A100), cuda:sm_90 (H100, H200) or cuda:sm_100'),
        ("cuda:", 'unknown CUDA processor ""'),
        ("cuda:sm_70", 'unknown CUDA processor "sm_70"'),
        ("cuda:90", 'unknown CUDA processor "90"'),
        ("cuda:sm_90a", 'unknown CUDA processor "sm_90a"'),
        ("CUDA:sm_90", "expected cpu, cpu:<processor>, cuda:<processor> or none, got \"CUDA:sm_90\""),
        ("gpu:sm_90", "expected cpu, cpu:<processor>, cuda:<processor> or none, got \"gpu:sm_90\""),
    ],
)
def test_targets_that_are_not_known(target, text):
    with pytest.raises(ValueError, match=re.escape("target: " + text)):
        lowered("gpt2").compile(target)


def test_without_a_driver_a_call_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("WEFT_CUDA_LIBRARIES", "/no/such/folder")
    double = weft.jit(lambda x: 2 * x).lower(np.ones(4, np.float32)).compile("cuda:sm_90")
    with pytest.raises(weft.ExecutionError) as raised:
        double(np.ones(4, np.float32))
    assert raised.value.code in ("unavailable", "unimplemented", "failed_precondition")
    assert re.search("libcudart.so.13|this runtime was built without CUDA", str(raised.value))
