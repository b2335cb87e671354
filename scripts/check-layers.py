# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that includes follow the arrows between the parts.

    python3 scripts/check-layers.py

    Cost <- Sharding, Optimize, Timeline <- IR <- phases <- Forms, Plan <- Phases <- Search <- Compile <- tools
    Cost, Timeline <- Report <- Simulate: the plan schema and no mlir/, no llvm/
    runtime: no mlir/, no llvm/, and inside of it
        values <- io, comm <- plan <- cpu, launch <- comm/mpi, watch, checkpoint, executor <- cuda <- session <- observe
        cuda: platform <- gemm, attention, comm <- nccl <- rank
    shard-bench is a tool that times the runtime, and knows all of it
    emulator: stands alone, but for the element types of the runtime
    python-bindings: src/compiler is a tool, src/runtime is of the runtime and
    knows the report of a plan, its simulation and pipeline schedules as well

A phase includes no other phase (Forms, which verifies what phases leave, knows the rules of the schedule), and
private headers only of its own folder; Cost, Optimize, Timeline, Report and Simulate
include nothing of LLVM,
Sharding the data structures only; compiler and runtime share the plan schema only. Prints every
include against an arrow and fails if there is one.
"""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

ALGEBRA = {"Sharding", "Cost", "Optimize", "Timeline"}
PHASES = {"Import", "Autodiff", "Propagate", "Partition", "Pipelining", "Schedule", "Codegen"}
PLAN = ALGEBRA | {"IR", "Plan"} | PHASES
SEARCH = PLAN | {"Forms", "Report", "Phases", "Search"}
EVERYTHING = SEARCH | {"Compile", "Simulate"}

# What the headers and sources of a part may include of `weft/<part>`.
MAY_INCLUDE = {
    "Cost": {"Cost"},
    "Optimize": {"Optimize"},
    "Timeline": {"Timeline"},
    "Sharding": ALGEBRA,
    "IR": ALGEBRA | {"IR"},
    **{phase: ALGEBRA | {"IR", phase} for phase in PHASES},
    "Forms": {"Forms", "IR", "Schedule", "Timeline"},
    "Plan": PLAN,
    "Report": {"Report", "Cost", "Timeline"},
    "Simulate": {"Simulate", "Cost", "Report", "Timeline"},
    "Phases": PLAN | {"Forms", "Phases"},
    "Search": SEARCH | {"Timeline"},
    "Compile": EVERYTHING,
    "tools": EVERYTHING,
    "tools/shard-bench": EVERYTHING,
    "python-bindings/src/compiler": EVERYTHING,
}
# What the compiler knows of the runtime: the plan schema, its version, names and types.
SCHEMA = {f"weft/runtime/{name}.h"
          for name in ("plan_generated", "PlanFormat", "PlanNames", "VisitOperation", "DType")}
# What of the runtime the simulator walks plans by.
ORDER = {f"weft/runtime/{name}.h" for name in ("CollectiveQueues", "TimelineSteps")}
PLAN_REPORT = "weft/Report/PlanReport.h"
# What tools read plans with.
PLAN_READER = "weft/runtime/Plan.h"
TIMELINE = "weft/Timeline/"
PYTHON_RUNTIME = "python-bindings/src/runtime"
PYTHON_READS = {PLAN_REPORT, "weft/Simulate/StepReport.h"}
# Times the runtime through its private headers.
BENCH = ("tools", "shard-bench")
# What the emulator, a stand-in for libraries of others, knows of this project.
ELEMENT_TYPES = "weft/runtime/DType.h"

# The parts of the runtime: folders of runtime/src, of cuda those inside, and that of MPI. The
# headers of include/weft/runtime are of the part that has the code behind them;
# those not named here are values: DType.h, Status.h, Array.h, Box.h, CheckpointMemory.h.
PUBLIC_HEADERS = {
    "Npy": "io", "OutputFiles": "io", "Safetensors": "io",
    "Communicator": "comm", "InProcessWorld": "comm",
    "Plan": "plan", "PlanFormat": "plan", "PlanNames": "plan", "VisitOperation": "plan",
    "plan_generated": "plan", "CollectiveQueues": "plan", "TimelineSteps": "plan",
    "Bootstrap": "launch", "Preemption": "launch", "Launch": "launch",
    "Checkpoint": "checkpoint", "SessionOptions": "executor", "Session": "session",
    "CompareValues": "observe",
}
# What a part of the runtime may include beside itself and values.
HOST = {"io", "comm", "plan", "cpu", "launch"}
RUNTIME_MAY_INCLUDE = {
    "values": set(),
    "io": set(),
    "comm": set(),
    "plan": {"io"},
    "cpu": {"comm", "plan"},
    "launch": {"io", "comm", "plan"},
    "watch": {"io", "comm", "plan", "launch"},
    "checkpoint": {"io", "comm", "launch"},
    "comm/mpi": {"comm", "launch"},
    "executor": HOST | {"comm/mpi", "watch"},
    "cuda/platform": HOST,
    "cuda/gemm": HOST | {"cuda/platform"},
    "cuda/attention": HOST | {"cuda/platform"},
    "cuda/comm": HOST | {"cuda/platform"},
    "cuda/nccl": HOST | {"watch", "cuda/platform", "cuda/comm"},
    "cuda/rank": HOST | {"executor", "cuda/platform", "cuda/gemm", "cuda/attention", "cuda/comm",
                         "cuda/nccl"},
    "session": HOST | {"checkpoint", "executor", "watch", "cuda/rank"},
    "observe": HOST | {"session"},
}
# Plain C++, which links where there is no LLVM.
PLAIN_PARTS = {"Cost", "Optimize", "Timeline", "Report", "Simulate"}
# What Sharding may include of LLVM.
PLAIN = re.compile(r"llvm/(ADT|Support)/")

INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')


def part_of(path):
    """The part that a source file belongs to."""
    parts = path.parts
    if parts[0] == "python-bindings":
        return "/".join(parts[:3])
    if parts[0] in ("runtime", "tools", "emulator"):
        if parts[:2] == BENCH:
            return "/".join(BENCH)
        # shard-run is a tool of the runtime and is built with it.
        return "runtime" if parts[:2] == ("tools", "shard-run") else parts[0]
    inside = parts[2:] if parts[0] == "include" else parts[1:]
    return inside[0] if len(inside) > 1 else part_beside(path.stem)


def part_beside(stem):
    """The part of a file beside the folders of the parts."""
    return "Phases" if stem == "Phases" else "Compile"


def part_of_runtime(path):
    """The part of the runtime that a file under runtime/ belongs to, or none:
    a test."""
    parts = path.parts[1:]
    if parts[0] == "include":
        return PUBLIC_HEADERS.get(path.stem, "values")
    if parts[0] != "src":
        return None
    is_divided = parts[1] == "cuda" or parts[1:3] == ("comm", "mpi")
    return "/".join(parts[1:3]) if is_divided else parts[1]


def runtime_problem(path, header):
    """Why a file under runtime/ may not include a header of the runtime, or none."""
    part = part_of_runtime(path)
    top = header.split("/")[0]
    is_own = top == "weft" or (ROOT / "runtime/src" / top).is_dir()
    if part is None or not is_own:
        return None
    if part not in RUNTIME_MAY_INCLUDE:
        return f"{part} is no part of the runtime that scripts/check-layers.py knows"
    folder = "include" if top == "weft" else "src"
    target = part_of_runtime(pathlib.PurePath("runtime", folder, header))
    allowed = RUNTIME_MAY_INCLUDE[part] | {part, "values"}
    return None if target in allowed else f"{part} may include {', '.join(sorted(allowed))}"


def stays_inside(path, header):
    """Whether a header named from its own folder, with "..", is of the same part."""
    target = pathlib.PurePath(os.path.normpath(path.parent / header))
    return path.parts[0] == "lib" and target.parts[:2] == path.parts[:2]


def problem(part, header):
    """Why `part` may not include `header`, or none."""
    top, *rest = header.split("/")
    if part == "emulator":
        if top in ("mlir", "llvm") or top == "weft" and header != ELEMENT_TYPES:
            return "the emulator stands alone"
        return None
    if part in ("runtime", PYTHON_RUNTIME):
        if part == PYTHON_RUNTIME and (header in PYTHON_READS or header.startswith(TIMELINE)):
            return None
        if top in ("mlir", "llvm", "llvm-c", "mlir-c"):
            return "the runtime is built where there is no LLVM"
        if top == "weft" and rest[0] != "runtime":
            return "the runtime knows the plan schema, not the compiler"
        return None
    if part not in MAY_INCLUDE:
        return f"{part} is no part that scripts/check-layers.py knows"
    if top == "..":
        return "a private header is for its own folder"
    if top == "weft":
        if rest[0] == "runtime":
            if part == "/".join(BENCH):
                return None
            if header in SCHEMA and part in ("Plan", "Report", "Simulate", "tools"):
                return None
            if header in ORDER and part == "Simulate":
                return None
            if header == PLAN_READER and part == "tools":
                return None
            return f"of the runtime, Plan and Report know {' and '.join(sorted(SCHEMA))}"
        target = rest[0] if len(rest) > 1 else part_beside(rest[0].removesuffix(".h"))
        if target not in MAY_INCLUDE[part]:
            return f"{part} may include {', '.join(sorted(MAY_INCLUDE[part]))}"
    if part in PLAIN_PARTS and top in ("mlir", "llvm"):
        return f"{part} links where there is no LLVM"
    if part == "Sharding" and (top == "mlir" or top == "llvm" and not PLAIN.match(header)):
        return "Sharding is plain C++ with llvm/ADT and llvm/Support"
    return None


def main():
    checked, failures = 0, []
    for folder in ("include", "lib", "runtime", "emulator", "tools", "python-bindings"):
        for source in sorted((ROOT / folder).rglob("*")):
            if source.suffix not in (".h", ".cpp", ".cu", ".inc"):
                continue
            path = source.relative_to(ROOT)
            for number, line in enumerate(source.read_text().splitlines(), 1):
                include = INCLUDE.match(line)
                if not include:
                    continue
                checked += 1
                header = include.group(1)
                if header.startswith("../") and stays_inside(path, header):
                    continue
                part = part_of(path)
                why = problem(part, header)
                if not why and path.parts[0] == "runtime":
                    why = runtime_problem(path, header)
                if why:
                    failures.append(f"{path}:{number}: includes {header}; {why}")
    print("\n".join([*failures, f"{checked} includes checked, {len(failures)} against the arrows"]))
    return 1 if failures or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
