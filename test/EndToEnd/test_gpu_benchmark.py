# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/gpu/run.sh: what it says without a GPU, and its steps and table on an emulated one,
which a script in nvidia-smi's place says is an H200."""

import os
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, binaries
from test_emulated_gpu import emulator, pytestmark as needs_emulator

SCRIPT = ROOT / "benchmarks/gpu/run.sh"
without_gpu = pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine has a GPU")
# What nvidia-smi says of a device.
SMI = """#!/bin/sh
case "$*" in
  *compute_cap*) echo "NVIDIA H200, 580.65.06, 9.0" ;;
  *) echo "NVIDIA H200" ;;
esac
"""


def run(folder, *arguments, **environment):
    """The script where of nvidia-smi and the like there is what `folder` has."""
    path = f"{folder}:{os.path.dirname(shutil.which('bash'))}"
    libraries = f"{emulator()}:{binaries().parent / 'emulator' / 'nccl'}"
    return subprocess.run(
        ["bash", SCRIPT, *map(str, arguments)], capture_output=True, text=True, timeout=280,
        env={**os.environ, "PATH": path, "WEFT_CUDA_TUNE": "off", "WEFT_CUDA_LIBRARIES": libraries,
             **environment})


@without_gpu
def test_without_a_driver_one_line_says_why(tmp_path):
    result = run(tmp_path)
    assert result.returncode == 1
    assert (result.stdout, result.stderr) == (
        "", "benchmarks/gpu: no GPU: there is no nvidia-smi, so nothing was built, checked or timed\n")


def pretend(folder, text, name="nvidia-smi"):
    program = folder / name
    program.write_text(text)
    program.chmod(0o755)


def rows(result):
    """The table: step -> (outcome, text); and the lines below it."""
    first, *lines = result.stdout.split("\n\n")[-1].splitlines()
    assert first == "NVIDIA H200, sm_90, driver 580.65.06, plans for cuda:sm_90", result.stdout + result.stderr
    found, below = {}, []
    for line in lines:
        if row := re.fullmatch(r"(\S+) +(passed|skipped|FAILED) +\d+ s  (.*)", line):
            found[row[1]] = (row[2], row[3])
        else:
            below.append(line)
    return found, below


def test_without_a_device_one_line_says_why(tmp_path):
    pretend(tmp_path, "#!/bin/sh\nexit 9\n")
    result = run(tmp_path)
    assert result.returncode == 1
    assert result.stderr == (
        "benchmarks/gpu: no GPU: nvidia-smi finds none, so nothing was built, checked or timed\n")


def test_unknown_steps_are_refused(tmp_path):
    pretend(tmp_path, SMI)
    result = run(tmp_path, "--only", "built")
    assert result.returncode == 2
    assert "unknown step built; there are build, runtime-tests, sanitizer" in result.stderr
    assert "of groups build, checks, losses, nccl, speed-tiny, speed-124M, speed-1558M" in result.stderr


def test_pythons_that_are_not_named_are_refused(tmp_path):
    pretend(tmp_path, SMI)
    result = run(tmp_path, "--python", "numpy=python3")
    assert result.returncode == 2
    assert 'must be jax=PROGRAM or torch=PROGRAM, got "numpy=python3"' in result.stderr


BUILT = ("--build", binaries().parent)


@without_gpu
@needs_emulator
def test_steps_and_their_table(tmp_path):
    pretend(tmp_path, SMI)
    result = run(tmp_path, *BUILT, "--loss-steps", 3, "--steps", 3, "--only",
                 "sanitizer,collectives-2-ranks,nccl-collectives-2-ranks,speed-tiny")
    found, below = rows(result)
    assert found["sanitizer"] == ("skipped", "there is no compute-sanitizer")
    for step in ("collectives-2-ranks", "nccl-collectives-2-ranks"):
        assert re.fullmatch(r"largest difference \S+ over 3 steps, allowed 1e-04", found[step][1]), result.stdout
        assert found[step][0] == "passed"
    assert found["speed-tiny-weft"][0] == "passed"
    assert re.fullmatch(r"[\d,]+ tokens/s, batch 4, \d+\.\d ms, 0\.0% of the peak, [\d,]+ us of the host",
                        found["speed-tiny-weft"][1])
    # Those of this machine compute on no GPU.
    for system in ("torch", "jax"):
        outcome, text = found[f"speed-tiny-{system}"]
        assert outcome == "skipped" and f"--python {system}=PROGRAM names another" in text
    # The largest share is named first: which that is says nothing where times are a processor's.
    assert len(below) == 1 and below[0].startswith("GPT-2 tiny: ")
    assert all(f"{kind} " in below[0] for kind in ("attention", "GEMMs", "kernels", "gaps"))
    assert result.returncode == 0


@without_gpu
@needs_emulator
def test_what_fails_names_its_log(tmp_path):
    pretend(tmp_path, SMI)
    result = run(tmp_path, *BUILT, "--loss-steps", 1, "--only", "collectives-2-ranks",
                 WEFT_CUDA_LIBRARIES="/no/such/folder")
    outcome, text = rows(result)[0]["collectives-2-ranks"]
    assert (outcome, result.returncode) == ("FAILED", 1)
    assert "(status 1, build/gpu/collectives-2-ranks.log)" in text
    assert "cannot open libcudart.so.13" in (ROOT / "build/gpu/collectives-2-ranks.log").read_text()


@without_gpu
@needs_emulator
def test_plans_compiled_ahead(tmp_path):
    """Compiled where there is no nvidia-smi, and run without the compiler."""
    steps = "collectives-2-ranks,speed-tiny-weft"
    folder, empty = tmp_path / "prepared", tmp_path / "empty"
    empty.mkdir()
    result = run(empty, *BUILT, "--loss-steps", 2, "--only", steps, "--prepare", folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert sorted(path.name for path in folder.iterdir()) == sorted(steps.split(","))
    pretend(tmp_path, SMI)
    # A build with nothing but shard-run.
    (tmp_path / "build/bin").mkdir(parents=True)
    (tmp_path / "build/bin/shard-run").symlink_to(binaries() / "shard-run")
    result = run(tmp_path, "--build", tmp_path / "build", "--steps", 2, "--prepared", folder,
                 "--only", f"{steps},collectives-4-ranks,runtime-tests")
    found, _ = rows(result)
    assert [found[step][0] for step in steps.split(",")] == ["passed", "passed"], result.stdout
    assert found["collectives-4-ranks"] == (
        "skipped", f"{folder} has no collectives-4-ranks; run.py --prepare makes it")
    assert found["runtime-tests"] == ("skipped", f"there is no {tmp_path}/build/bin/weft_device_test")


@without_gpu
def test_what_is_built(tmp_path):
    pretend(tmp_path, SMI)
    for tool in ("cmake", "ninja", "nvcc"):
        pretend(tmp_path, '#!/bin/sh\necho "$0 $*"\n', tool)
    for arguments, source, targets in [([], ROOT, ""), (["--prepared", tmp_path], ROOT / "runtime",
                                                       " --target shard-run weft_device_test")]:
        result = run(tmp_path, "--build", tmp_path / "out", "--only", "build", *arguments)
        assert rows(result)[0]["build"] == ("passed", f"{source.name} with WEFT_CUDA=ON")
        log = (ROOT / "build/gpu/build.log").read_text()
        assert f"cmake -S {source} -B {tmp_path}/out -G Ninja" in log
        assert f"cmake --build {tmp_path}/out{targets}\n" in log


@without_gpu
@needs_emulator
def test_the_sanitizer_checks_tests_and_a_model(tmp_path):
    """In its place a program that does as if it had found nothing, or something."""
    pretend(tmp_path, SMI)
    pretend(tmp_path, '#!/bin/sh\necho "checked $*"\n', "compute-sanitizer")
    result = run(tmp_path, *BUILT, "--loss-steps", 1, "--only", "sanitizer")
    assert rows(result)[0]["sanitizer"] == ("passed", "memcheck and racecheck found nothing")
    checks = re.findall(r"^checked --tool (\w+) --error-exitcode 9 \S+/(\S+) ",
                        (ROOT / "build/gpu/sanitizer.log").read_text(), re.MULTILINE)
    assert checks == [(tool, program) for tool in ("memcheck", "racecheck")
                      for program in ("weft_device_test", "shard-run")]
    pretend(tmp_path, '#!/bin/sh\necho "1 error"\nexit 9\n', "compute-sanitizer")
    result = run(tmp_path, *BUILT, "--prepared", ROOT / "build/gpu/prepared", "--only", "sanitizer")
    assert rows(result)[0]["sanitizer"] == ("FAILED", "1 error (status 9, build/gpu/sanitizer.log)")
