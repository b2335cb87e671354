# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of run.py, in groups. Each returns what the table says of it, or raises Skip or an
error."""

import pathlib
import shutil
import subprocess
import sys

import cases
import problem
from runner import ROOT, Skip

SYSTEMS = ("weft", "torch", "jax")
# What fails where a system is not there, or computes on no GPU.
FINDS_GPU = {
    "jax": "import jax; jax.config.update('jax_platforms', 'cuda'); jax.devices()",
    "torch": "import torch; assert torch.cuda.is_available()",
}


def python_of(runner, system):
    python = runner.pythons.get(system, sys.executable)
    if subprocess.run([python, "-c", f"import {system}"], capture_output=True).returncode:
        raise Skip(f"{system} is not installed for {python}; --python {system}=PROGRAM names another")
    if subprocess.run([python, "-c", FINDS_GPU[system]], capture_output=True,
                      env=runner.environment).returncode:
        raise Skip(f"{system} of {python} finds no GPU; --python {system}=PROGRAM names another")
    return python


def build(runner):
    """All, or, for plans that were compiled ahead, the runtime and its tests."""
    for tool in ("cmake", "ninja", "nvcc"):
        if not shutil.which(tool) and not (tool == "nvcc" and pathlib.Path("/usr/local/cuda/bin/nvcc").exists()):
            raise RuntimeError(f"there is no {tool}; scripts/setup.sh says what is needed")
    source, targets = ROOT, []
    if runner.is_prepared:
        source, targets = ROOT / "runtime", ["--target", "shard-run", "weft_device_test"]
    runner.run("build", "cmake", "-S", source, "-B", runner.build, "-G", "Ninja",
               "-DCMAKE_BUILD_TYPE=Release", "-DWEFT_CUDA=ON", "-DBUILD_TESTING=ON")
    runner.run("build", "cmake", "--build", runner.build, *targets)
    return f"{source.name} with WEFT_CUDA=ON"


def runtime_tests(runner):
    """Steps, collectives on 1, 2 and 4 ranks, traces and errors, against the host."""
    runner.run("runtime-tests", runner.binary("weft_device_test"), WEFT_TEST_GPU="1")
    return "collectives and steps on 1, 2 and 4 ranks have the bits of the host"


def sanitizer(runner):
    """The tests of the runtime, and the kernels of a transformer's step."""
    found = shutil.which("compute-sanitizer")
    if not found:
        raise Skip("there is no compute-sanitizer")
    folder = runner.prepare("sanitizer", "gpt-bf16")
    record = cases.read_record(folder)
    for tool in ("memcheck", "racecheck"):
        check = [found, "--tool", tool, "--error-exitcode", "9"]
        runner.run("sanitizer", *check, runner.binary("weft_device_test"),
                   "--gtest_filter=*/4*:DeviceSession.*", WEFT_TEST_GPU="1")
        runner.run("sanitizer", "env", "--chdir", folder, *check, runner.binary("shard-run"),
                   record["plan"], *record["arguments"], "--steps", 1, WEFT_CUDA_TUNE="off")
    return "memcheck and racecheck found nothing"


def losses(step_name, case, *flags):
    def step(runner):
        folder = runner.prepare(step_name, case)
        found = runner.measure(step_name, "losses.py", folder, "--shard-run", runner.binary("shard-run"), *flags)
        text = f"largest difference {found['error']:.1e} over {found['steps']} steps, allowed {found['allowed']:.0e}"
        if not found["error"] <= found["allowed"]:
            raise RuntimeError(text)
        return text
    return step


def measure_speed(runner, step, system, size):
    if system == "weft":
        folder = runner.prepare(step, step)
        return runner.measure(step, "speed.py", folder, "--shard-run", runner.binary("shard-run"),
                              "--steps", runner.steps)
    return runner.measure(step, f"gpt2_{system}.py", "--size", size, "--steps", runner.steps,
                          *(["--batch", runner.batch] if runner.batch else []),
                          python=python_of(runner, system))


def speed(system, size):
    def step(runner):
        found = measure_speed(runner, f"speed-{size}-{system}", system, size)
        runner.speeds.setdefault(size, {})[system] = found
        text = (f"{found['tokens_per_second']:,.0f} tokens/s, batch {found['batch']}, "
                f"{1e3 * found['seconds']:.1f} ms")
        if found.get("mfu"):
            text += f", {found['mfu']:.1%} of the peak"
        if "enqueue_seconds" in found:
            text += f", {1e6 * found['enqueue_seconds']:.0f} us of the host"
        return text
    return step


GROUPS = {
    "build": {"build": build},
    "checks": {"runtime-tests": runtime_tests, "sanitizer": sanitizer},
    "losses": {name: losses(name, name) for name, case in cases.CASES.items() if isinstance(case, cases.Losses)},
    "nccl": {f"nccl-{name}": losses(f"nccl-{name}", name, "--nccl") for name, case in cases.CASES.items()
             if isinstance(case, cases.Losses) and case.ranks > 1},
    **{f"speed-{size}": {f"speed-{size}-{system}": speed(system, size) for system in SYSTEMS}
       for size in problem.SIZES},
}
STEPS = {name: step for group in GROUPS.values() for name, step in group.items()}
