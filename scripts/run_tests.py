# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every test runner on build/dev and sums up their results.

    build/venv/bin/python scripts/run_tests.py [--sanitize | --sanitize-only]
        [--property-cases N] [--property-seed N]

Runners report in JUnit XML; a plain check counts as one test. A runner that
fails without naming a failed test, or that runs none, counts as one failure.
"""

import argparse
import ctypes.util
import os
import pathlib
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "dev"
RESULTS = ROOT / "build" / "test-results"
# Of each process of unit tests.
UNIT_RESULTS = BUILD / "unit" / "results"
PYTHON = sys.executable
JAX = ROOT / "build" / "venv-jax"
JAX_PYTHON = str(JAX / "bin" / "python")
# Tests of shard-run as threads and as processes, by what they are of.
RUNS = {"shard-run": [f"test/EndToEnd/test_{name}.py" for name in (
            "checkpoint", "determinism", "faults", "mpi", "resume")],
        "gpt-processes": ["test/Examples/test_gpt_processes.py"]}
# What an earlier test, or run, has compiled.
CACHES = {"WEFT_KERNEL_CACHE": str(ROOT / "build" / "cache" / "kernels"),
          "JAX_COMPILATION_CACHE_DIR": str(ROOT / "build" / "cache" / "jax"),
          "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
          "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "cache" / "python"),
          "PYTHONDONTWRITEBYTECODE": ""}
# At the end of a suite, some of its processes have nothing left to do; those of another work meanwhile.
SUITES_AT_A_TIME = 2
# Of a suite: with those of the other one a few more than cores, as some tests wait for other processes.
PROCESSES = os.cpu_count() // SUITES_AT_A_TIME + 1
# Files of tests that take 10 seconds and more, which begin before the others: at the end of a
# suite, one process would work on a file while the others have nothing to do.
LONG = {f"test_{name}" for name in (
    # test/EndToEnd
    "cuda_kernels", "determinism", "emulated_gpu", "faults", "forms_are_texts", "gpu_programs", "mpi",
    "optimum", "resume", "sums", "training",
    # python-bindings/test
    "auto", "collective_pieces", "cuda_plans", "deferred_collectives", "distributed", "models",
    "moe_training", "moves", "parallelism", "pipelines", "random_pipelines", "report_page", "verify",
    "elementwise_against_jax", "gradients_against_jax", "jax_training", "models_against_jax",
    "numpy_against_jax", "pipelines_from_jax", "random_functions_against_jax",
    "random_programs_from_jax", "reductions_against_jax", "spatial_splits_against_jax", "stages_from_jax",
    "third_party_steps_from_jax", "whole_batches_from_jax",
    # test/Examples and test/Import
    "gpt_parallelism", "numbers")}


def ctest(folder, name, *flags, jobs=PROCESSES, timeout=600):
    return ["ctest", "--test-dir", str(folder), "-j", str(jobs), *flags,
            "--output-on-failure", "--no-tests=error", "--timeout", str(timeout),
            "--progress", "--output-junit", str(RESULTS / f"{name}.xml")]


def pytest(paths, name, python=PYTHON, dist="loadfile", jobs=PROCESSES):
    # By file: what a module sets up once is set up in one process.
    files = [file for path in map(ROOT.joinpath, paths)
             for file in ([path] if path.is_file() else sorted(path.glob("test_*.py")))]
    files.sort(key=lambda file: file.stem not in LONG)
    return [python, "-m", "pytest", "-q", "-n", str(jobs), "--dist", dist,
            "--no-loadscope-reorder", *map(str, files), f"--junitxml={RESULTS / name}.xml"]


def suites(property_flags):
    """(name, command, environment) of each runner that writes <name>.xml: first what waits for deadlines, then by length."""
    # The package as the build made it, and the allocator that the tools are linked with.
    package = {"PYTHONPATH": str(BUILD / "python")}
    if allocator := ctypes.util.find_library("mimalloc"):
        package["LD_PRELOAD"] = " ".join([allocator, *os.environ.get("LD_PRELOAD", "").split()])
        # Compilations free much of what the next one takes again. Kept, and in large pages, it costs a tenth less time.
        package |= {"MIMALLOC_ALLOW_DECOMMIT": "0", "MIMALLOC_LARGE_OS_PAGES": "1"}
    yield "waits", ctest(BUILD, "waits", "-L", "waits", jobs=8), {}
    yield "end-to-end", pytest(["test/EndToEnd"], "end-to-end"), package
    # What wants JAX runs in its environment.
    python, jax = [], []
    for path in sorted((ROOT / "python-bindings" / "test").glob("test_*.py")):
        (jax if "jax" in path.stem else python).append(str(path.relative_to(ROOT)))
    # A part of it compares with optax, which comes with JAX.
    jax.append("python-bindings/test/test_optim.py")
    yield "jax", pytest([*jax, "test/Conformance", "test/Import/test_compare_xla.py",
                         "test/Import/test_numbers.py"], "jax", JAX_PYTHON), package
    yield "python", pytest(python, "python"), package
    if property_flags:
        yield ("property", [str(BUILD / "unit" / "ShardingPropertyTests"),
                            *property_flags,
                            f"--gtest_output=xml:{RESULTS / 'property.xml'}"], {})
    yield "unit", ctest(BUILD, "unit", "-LE", "waits"), {}
    # Pages share nothing.
    yield "docs", pytest(["test/Docs"], "docs", dist="worksteal"), package
    yield "examples", pytest(["test/Examples"], "examples"), package
    yield ("lit", ["ninja", "-C", str(BUILD), "check-weft"],
           {"LIT_OPTS": f"--xunit-xml-output={RESULTS / 'lit.xml'}"})
    yield ("import", pytest(["test/Import/test_fixtures.py",
                             "test/Import/test_hlo_collectives.py",
                             "test/Import/test_mutations.py"], "import"), package)


def sanitizers():
    """Runners of the runtime and of shard-run as sanitizers instrument them."""
    for sanitizer in ("asan", "tsan"):
        build = ROOT / "build" / f"runtime-{sanitizer}"
        # Tests fork, and start threads in the child.
        yield build.name, ctest(build, build.name, timeout=1800), {"TSAN_OPTIONS": "die_after_fork=0"}
        # Beside the other tools, which make plans.
        tools = RESULTS / f"bin-{sanitizer}"
        tools.mkdir()
        for folder in (build / "bin", BUILD / "bin"):
            for file in folder.iterdir():
                if not (tools / file.name).exists():
                    (tools / file.name).symlink_to(file)
        for name, paths in RUNS.items():
            name = f"{name}-{sanitizer}"
            yield name, pytest(paths, name, jobs=1), {
                "WEFT_BIN": str(tools), "PYTHONPATH": str(BUILD / "python"), **reporting(name)}


def reports_of(name):
    """Where the sanitizers of a suite report: its tests expect that some runs fail, and a report
    must not pass for that."""
    return RESULTS / f"{name}-reports"


def reporting(name):
    """GCC's UndefinedBehaviorSanitizer has no file for what it says; what it aborts with is reported by
    AddressSanitizer."""
    reports_of(name).mkdir()
    report, suppressions = f"log_path={reports_of(name)}/report", ROOT / "runtime" / "test" / "comm"
    return {"ASAN_OPTIONS": f"{report}:fast_unwind_on_malloc=0:intercept_tls_get_addr=0:handle_abort=2",
            "UBSAN_OPTIONS": f"{report}:abort_on_error=1",
            "LSAN_OPTIONS": f"print_suppressions=0:suppressions={suppressions}/mpi-lsan.supp",
            "TSAN_OPTIONS": f"{report}:die_after_fork=0:suppressions={suppressions}/mpi-tsan.supp",
            "UCX_MEM_EVENTS": "n"}  # MPICH's UCX would take functions from the sanitizers


def checks():
    """(name, command) of each check that is one test."""
    yield "layers", [PYTHON, "scripts/check-layers.py"]
    yield "messages", [PYTHON, "scripts/check-messages.py"]
    yield "machine constants", [PYTHON, "scripts/check-machine-constants.py"]
    yield "generated docs", ["scripts/generate-docs.sh", "--check"]
    yield "format", ["scripts/format.sh", "--check"]


# Several tests at a time: threads of NumPy's BLAS would wait for cores, busily.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def run(name, command, environment):
    """Runs a command in the repository root and prints what it has printed; whether it succeeded."""
    print(f"=== {name}: running", flush=True)
    started = time.monotonic()
    environment = {**os.environ, **CACHES, **ONE_THREAD, "WEFT_BIN": str(BUILD / "bin"), **environment}
    log = RESULTS / f"{name.replace(' ', '-')}.log"
    with open(log, "w") as output:
        try:
            status = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=output).returncode
        except OSError as error:
            print(f"error: {error}", file=output)
            status = 127
    print(f"{log.read_text(errors='replace')}\n=== {name}: {'ok' if status == 0 else f'status {status}'}, "
          f"{time.monotonic() - started:.0f} s", flush=True)
    return status == 0


def cases(report):
    """The test cases of a JUnit file. In the place of a process of unit tests are those that it reports itself; it is one of
    them where it failed for another reason than these."""
    processes = {own.stem: own for own in UNIT_RESULTS.glob("*.xml")}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.get("name") not in processes:
            yield case
            continue
        tests = list(ElementTree.parse(processes[case.get("name")]).getroot().iter("testcase"))
        yield from tests
        if case.find("failure") is not None and not any(test.find("failure") is not None for test in tests):
            yield case


def count(report):
    """(passed, failed, skipped) of a JUnit file; zeros if there is none."""
    if not report.exists():
        return 0, 0, 0
    passed = failed = skipped = 0
    for case in cases(report):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sanitize", action="store_true",
                        help="also the runtime and shard-run under ASan and TSan")
    parser.add_argument("--sanitize-only", action="store_true", help="nothing but these")
    parser.add_argument("--property-cases", type=int, metavar="N",
                        help="also run N random programs of the sharding "
                             "property test")
    parser.add_argument("--property-seed", type=int, metavar="N",
                        help="seed of the first of them")
    args = parser.parse_args()
    property_flags = []
    for flag, number in (("--cases", args.property_cases),
                         ("--seed", args.property_seed)):
        if number is not None:
            property_flags += [flag, str(number)]

    shutil.rmtree(RESULTS, ignore_errors=True)
    shutil.rmtree(UNIT_RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)

    def run_suite(name, command, environment):
        """Its row of the table."""
        if command[0] == JAX_PYTHON and not (JAX / "requirements.txt").exists():
            print(f"=== {name}: skipped, there is no build/venv-jax; scripts/setup.sh makes it", flush=True)
            return name, 0, 0, 1
        succeeded = run(name, command, environment)
        passed, failed, skipped = count(RESULTS / f"{name}.xml")
        for report in sorted(reports_of(name).glob("*")):
            print(f"{report}:\n{report.read_text(errors='replace')}", flush=True)
            failed += 1
        if failed == 0 and (passed == 0 or not succeeded):
            failed = 1
        return name, passed, failed, skipped

    def run_check(name, command):
        succeeded = run(name, command, {})
        return name, int(succeeded), int(not succeeded), 0

    def run_everything():
        waits, *others = suites(property_flags)
        with ThreadPoolExecutor(1) as beside, ThreadPoolExecutor(SUITES_AT_A_TIME) as pool:
            # It waits for deadlines while others work.
            rows = [beside.submit(run_suite, *waits),
                    *(pool.submit(run_suite, *suite) for suite in others),
                    *(pool.submit(run_check, *check) for check in checks())]
        return [row.result() for row in rows]

    rows = [] if args.sanitize_only else run_everything()
    if args.sanitize or args.sanitize_only:
        rows += [run_suite(*suite) for suite in sanitizers()]

    print(f"\n{'':16}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for name, *numbers in rows:
        print(f"{name:16}" + "".join(f"{number:8}" for number in numbers))
    passed, failed, _ = (sum(column) for column in list(zip(*rows))[1:])
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
