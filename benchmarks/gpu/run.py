# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of benchmarks/gpu/run.sh, one after the other, and their table."""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/release"
OUT = ROOT / "build/gpu"


class Skip(Exception):
    """Why a step cannot run here."""


@dataclasses.dataclass
class Gpu:
    """What nvidia-smi says of the device."""

    number: int
    name: str
    driver: str
    processor: str

    @staticmethod
    def find(number):
        fields = "name,driver_version,compute_cap"
        line = subprocess.run(
            ["nvidia-smi", f"--id={number}", f"--query-gpu={fields}", "--format=csv,noheader"],
            capture_output=True, text=True, check=True).stdout.strip()
        name, driver, capability = (field.strip() for field in line.split(","))
        return Gpu(number, name, driver, "sm_" + capability.replace(".", ""))

    @property
    def target(self):
        """What plans are compiled for: the latest processor that is no later than this one."""
        known = [80, 90, 100]
        return f"cuda:sm_{max(each for each in known if each <= int(self.processor[3:]))}"


class Runner:
    """Runs commands; what they print goes to build/gpu/<step>.log."""

    def __init__(self, arguments):
        self.gpu = Gpu.find(arguments.device)
        self.steps = arguments.steps
        self.environment = {
            **os.environ,
            "CUDA_VISIBLE_DEVICES": str(arguments.device),
            "PYTHONPATH": os.pathsep.join([str(BUILD / "python"), str(ROOT / "python-bindings/test"),
                                           str(ROOT / "test/Import"), str(HERE)]),
        }
        OUT.mkdir(parents=True, exist_ok=True)

    def run(self, step, *command, **environment):
        log = OUT / f"{step}.log"
        with open(log, "a") as file:
            file.write(f"$ {' '.join(map(str, command))}\n")
            file.flush()
            code = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=file,
                                  stderr=subprocess.STDOUT,
                                  env={**self.environment, **environment}).returncode
        if code:
            tail = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            raise RuntimeError(f"{tail[-1][:150]} (status {code}, {log.relative_to(ROOT)})")

    def measure(self, step, script, *arguments):
        """The JSON in the last line of what a script prints."""
        self.run(step, sys.executable, HERE / script, *arguments)
        return json.loads((OUT / f"{step}.log").read_text().splitlines()[-1])


def require_module(name):
    if subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode:
        raise Skip(f"{name} is not installed for {sys.executable}")


# ===----------------------------------------------------------------------===
# The steps: each returns what the table says of it
# ===----------------------------------------------------------------------===


def build(runner):
    for tool in ("cmake", "ninja", "nvcc"):
        if not shutil.which(tool) and not (tool == "nvcc" and pathlib.Path("/usr/local/cuda/bin/nvcc").exists()):
            raise RuntimeError(f"there is no {tool}; scripts/setup.sh says what is needed")
    runner.run("build", "cmake", "--preset", "release", "-DWEFT_CUDA=ON", "-DBUILD_TESTING=ON")
    runner.run("build", "cmake", "--build", "--preset", "release")
    return "with WEFT_CUDA=ON"


def runtime_tests(runner):
    """Steps, collectives on 1, 2 and 4 ranks, traces and errors, against the host."""
    runner.run("runtime-tests", BUILD / "bin/weft_device_test", WEFT_TEST_GPU="1")
    return "collectives and steps on 1, 2 and 4 ranks have the bits of the host"


def sanitizer(runner):
    found = shutil.which("compute-sanitizer")
    if not found:
        raise Skip("there is no compute-sanitizer")
    for tool in ("memcheck", "racecheck"):
        runner.run("sanitizer", found, "--tool", tool, "--error-exitcode", "9",
                   BUILD / "bin/weft_device_test", "--gtest_filter=*/4*:DeviceSession.*",
                   WEFT_TEST_GPU="1")
    return "memcheck and racecheck found nothing"


def losses(model, dtype, mesh):
    def step(runner):
        name = f"losses-{model}-{dtype}-{mesh.replace('=', '').replace(',', '-')}"
        found = runner.measure(name, "losses.py", "--model", model, "--dtype", dtype, "--mesh", mesh,
                               "--target", runner.gpu.target, "--steps", 50)
        text = f"largest difference {found['error']:.1e} over {found['steps']} steps, allowed {found['allowed']:.0e}"
        if not found["error"] <= found["allowed"]:
            raise RuntimeError(text)
        return text
    return step


def speed(system, size):
    def step(runner):
        if system != "weft":
            require_module({"jax": "jax", "torch": "torch"}[system])
        found = runner.measure(f"speed-{size}-{system}", f"gpt2_{system}.py", "--size", size,
                               "--steps", runner.steps,
                               *(["--target", runner.gpu.target] if system == "weft" else []))
        speeds.setdefault(size, {})[system] = found["tokens_per_second"]
        text = (f"{found['tokens_per_second']:,.0f} tokens/s, batch {found['batch']}, "
                f"{1e3 * found['seconds']:.1f} ms")
        if found.get("mfu"):
            text += f", {found['mfu']:.1%} of the peak"
        return text
    return step


speeds = {}

STEPS = {
    "build": build,
    "runtime-tests": runtime_tests,
    "sanitizer": sanitizer,
    "mlp-f32": losses("mlp", "float32", "data=1"),
    "mlp-f32-2-ranks": losses("mlp", "float32", "data=2"),
    "mlp-f32-4-ranks": losses("mlp", "float32", "data=2,model=2"),
    "gpt-f32": losses("gpt", "float32", "data=1"),
    "gpt-f32-2-ranks": losses("gpt", "float32", "data=2"),
    "gpt-f32-4-ranks": losses("gpt", "float32", "data=4"),
    "gpt-bf16": losses("gpt", "bfloat16", "data=1"),
    "gpt-bf16-2-ranks": losses("gpt", "bfloat16", "data=2"),
    **{f"speed-{size}-{system}": speed(system, size)
       for size in ("124M", "1558M") for system in ("weft", "torch", "jax")},
}


def table(rows):
    width = max(len(name) for name, *_ in rows)
    for name, outcome, seconds, text in rows:
        print(f"{name:{width}}  {outcome:7}  {seconds:6.0f} s  {text}")
    for size, found in speeds.items():
        others = {system: rate for system, rate in found.items() if system != "weft"}
        if "weft" in found and others:
            best = max(others, key=others.get)
            print(f"GPT-2 {size}: {found['weft'] / others[best]:.3f} of {best}, the better of {', '.join(others)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", type=int, default=0, help="which GPU, as nvidia-smi counts")
    parser.add_argument("--only", help=f"some of the steps: {', '.join(STEPS)}")
    parser.add_argument("--steps", type=int, default=20, help="timed steps of each system")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else list(STEPS)
    if unknown := [name for name in wanted if name not in STEPS]:
        parser.error(f"there is no step {', '.join(unknown)}; there are {', '.join(STEPS)}")
    runner, rows, broken = Runner(arguments), [], False
    for name in wanted:
        (OUT / f"{name}.log").unlink(missing_ok=True)
        started = time.monotonic()
        try:
            if broken:
                raise Skip("the build failed")
            outcome, text = "passed", STEPS[name](runner)
        except Skip as reason:
            outcome, text = "skipped", str(reason)
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            outcome, text = "FAILED", str(error)
            broken |= name == "build"
        rows.append((name, outcome, time.monotonic() - started, text))
        print(f"{name}: {outcome}: {text}", flush=True)
    print(f"\n{runner.gpu.name}, {runner.gpu.processor}, driver {runner.gpu.driver}, plans for {runner.gpu.target}")
    table(rows)
    return 1 if any(outcome == "FAILED" for _, outcome, *_ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
