# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in several processes: the numbers of one, and what happens when one of them fails."""

import json
import signal
import socket
import subprocess
import sys
import time

import pytest

import weft
from launchers import run

PROGRAM = """
import sys
import numpy as np
import weft
from weft import P

weft.distributed.initialize()
mesh = weft.make_mesh((4,), ("data",))
step = weft.jit(lambda w, x: ((x @ w).sum(), x @ w), mesh=mesh, in_shardings=(P(), P("data")), out_shardings=(P(), P("data")))
random = np.random.default_rng(0)
w, x = random.random((8, 6), np.float32), random.random((16, 8), np.float32)
loss, y = step(w, x)
y = weft.distributed.process_allgather(y)
out = open(f"{sys.argv[1]}/{weft.process_index()}", "w") if len(sys.argv) == 2 and "/" in sys.argv[1] else sys.stdout
print("process", weft.process_index(), "of", weft.process_count(),
      [*weft.distributed.local_ranks(4)], float(loss).hex(), y.tobytes().hex()[:64], flush=True, file=out)
if "raise" in sys.argv:
    if weft.process_index() == 1:
        raise ValueError("planted")
    while True:
        step(w, x)
"""

def test_two_processes_have_the_numbers_of_one(mpirun, tmp_path):
    alone = run([sys.executable, "-c", PROGRAM])
    assert alone.returncode == 0, alone.stderr
    # A file for each: launchers may mix up what processes print at one time.
    both = run([*mpirun, "-n", 2, sys.executable, "-c", PROGRAM, tmp_path])
    assert both.returncode == 0, both.stderr
    numbers = alone.stdout.partition("[0, 1, 2, 3]")[2]
    assert (tmp_path / "0").read_text() == f"process 0 of 2 [0, 1]{numbers}"
    assert (tmp_path / "1").read_text() == f"process 1 of 2 [2, 3]{numbers}"


def test_an_exception_in_one_process_stops_the_others(mpirun):
    both = run([*mpirun, "-n", 2, sys.executable, "-c", PROGRAM, "raise"])
    assert both.returncode != 0
    assert "ValueError: planted" in both.stderr


HOSTS = """
import os
import sys

# A process on each of two hosts, as launchers say it.
os.environ.update(OMPI_COMM_WORLD_LOCAL_SIZE="1", OMPI_COMM_WORLD_LOCAL_RANK="0", MPI_LOCALNRANKS="1", MPI_LOCALRANKID="0",
                  MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1])
import numpy as np
import weft

weft.distributed.initialize()
step = weft.jit(lambda x: (x * 2).sum(), mesh=weft.make_mesh((4,), ("data",)), in_shardings=weft.P("data"))
plan = step.lower(np.ones(4 << 16, np.float32)).compile().plan
arenas = weft.Session(plan).arena_bytes
weft.Session(plan, memory_limit=int(sum(arenas) * float(sys.argv[2])))
"""


@pytest.mark.parametrize("share, accepted", [(1.5, True), (0.5, False)])
def test_a_host_needs_memory_for_its_own_ranks(mpirun, share, accepted):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = run([*mpirun, "-n", 2, sys.executable, "-c", HOSTS, port, share])
    assert (both.returncode == 0) is accepted, both.stderr
    assert accepted or "2 ranks need arenas of" in both.stderr


STOPS = """
import os
import signal
import sys
import numpy as np
import weft

weft.distributed.initialize()
step = weft.jit(lambda x: x.sum(), mesh=weft.make_mesh((4,), ("data",)), in_shardings=weft.P("data"))
for _ in range(3):
    step(np.ones(4, np.float32))
if weft.process_index() == int(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGSTOP)
step(np.ones(4, np.float32))
"""


@pytest.mark.parametrize("process", [0, 1])
def test_a_stopped_process_stops_the_others(mpirun, process):
    begin = time.monotonic()
    both = run([*mpirun, "-n", 2, sys.executable, "-c", STOPS, process])
    assert both.returncode != 0 and time.monotonic() - begin < 20, both.stderr
    assert (f"weft.ExecutionError: process {process} (ranks {2 * process}, {2 * process + 1}) has not answered for 3 s; it is "
            f"stopped or its machine hangs; rank {2 - 2 * process} is in step ") in both.stderr


ENDS = """
import sys
import time
import numpy as np
import weft

weft.distributed.initialize()
if sys.argv[1] == "before" and weft.process_index() == int(sys.argv[2]):
    sys.exit("planted")
step = weft.jit(lambda x: x.sum(), mesh=weft.make_mesh((4,), ("data",)), in_shardings=weft.P("data"))
step(np.ones(4, np.float32))
if sys.argv[1] == "between" and weft.process_index() == int(sys.argv[2]):
    sys.exit("planted")
try:
    step(np.ones(4, np.float32))
    if sys.argv[1] == "last" and weft.process_index() == int(sys.argv[2]):
        time.sleep(4) # Its own end may be long.
except weft.ExecutionError as error:
    open(sys.argv[3], "w").write(str(error))
    raise
"""


@pytest.mark.parametrize("process", [0, 1])
@pytest.mark.parametrize("when", ["before", "between"])
def test_a_process_that_ends_early_stops_the_others(mpirun, when, process, tmp_path):
    begin = time.monotonic()
    both = run([*mpirun, "-n", 2, sys.executable, "-c", ENDS, when, process, tmp_path / "told"])
    assert both.returncode != 0 and "planted" in both.stderr
    # Two interpreters and a compilation among them.
    assert time.monotonic() - begin < 20, both.stderr
    told = (tmp_path / "told").read_text() if when == "between" else both.stderr
    assert f"process {process}" in told and "has come to the end of its program" in told
    if when == "between":
        first, second = 2 * process, 2 * process + 1
        assert f"ranks {first}, {second} will not arrive" in told and " on rank " in told


@pytest.mark.parametrize("process", [0, 1])
def test_the_end_of_one_process_may_be_long(mpirun, process, tmp_path):
    both = run([*mpirun, "-n", 2, sys.executable, "-c", ENDS, "last", process, tmp_path / "told"])
    assert both.returncode == 0 and not both.stderr


def test_a_wrapper_between_mpirun_and_python(mpirun, tmp_path):
    both = run([*mpirun, "-n", 2, "timeout", 60, sys.executable, "-c", PROGRAM, tmp_path])
    assert both.returncode == 0, both.stderr
    assert (tmp_path / "1").read_text().startswith("process 1 of 2 [2, 3]")


FORKS = """
import os
import sys
import numpy as np
import weft

weft.distributed.initialize()
if (child := os.fork()) == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
step = weft.jit(lambda x: x.sum(), mesh=weft.make_mesh((4,), ("data",)), in_shardings=weft.P("data"))
assert float(step(np.ones(4, np.float32))) == 4
"""


def test_a_forked_child_is_none_of_the_job(mpirun):
    both = run([*mpirun, "-n", 2, sys.executable, "-c", FORKS])
    assert both.returncode == 0 and not both.stderr


RAISES = """
import sys
import time
import weft

weft.distributed.initialize()
if weft.process_index() == int(sys.argv[1]):
    raise ValueError("planted")
step = weft.jit(lambda x: x.sum(), mesh=weft.make_mesh((4,), ("data",)), in_shardings=weft.P("data"))
try:
    step(weft.numpy.ones(4, "float32"))
except weft.ExecutionError as error:
    open(f"{sys.argv[2]}/{weft.process_index()}", "w").write(str(error))
"""


@pytest.mark.parametrize("process", [0, 2])
def test_all_read_why_the_job_has_failed(mpirun, process, tmp_path):
    """Before process 0, which tells them, is gone."""
    run([*mpirun, "-n", 4, sys.executable, "-c", RAISES, process, tmp_path])
    told = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert all("ValueError: planted" in text for text in told.values()), told


def test_an_interrupt_at_the_end():
    """While a checkpoint is written or others are waited for."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = ("import sys, time, weft\n"
            f"weft.distributed.initialize('127.0.0.1:{port}', 2, int(sys.argv[1]))\n"
            "print('came', flush=True)\n"
            "time.sleep(30 * int(sys.argv[1]))\n")
    waiting, other = [subprocess.Popen([sys.executable, "-c", code, str(process)], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True) for process in (0, 1)]
    assert waiting.stdout.readline() == other.stdout.readline() == "came\n"
    time.sleep(1)
    waiting.send_signal(signal.SIGINT)
    _, problem = waiting.communicate(timeout=10)
    other.kill()
    other.communicate()
    assert waiting.returncode == 130
    assert problem == "error: interrupted at the end of the program, which waits for checkpoints and other processes\n"


def test_an_interrupt_while_the_others_are_waited_for():
    """Ctrl-C ends `initialize`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = ("import weft\n"
            f"print('waits', flush=True)\nweft.distributed.initialize('127.0.0.1:{port}', 2, 0)\n")
    waiting = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waiting.stdout.readline() == "waits\n"
    time.sleep(1)
    waiting.send_signal(signal.SIGINT)
    _, problem = waiting.communicate(timeout=10)
    assert waiting.returncode != 0 and "KeyboardInterrupt" in problem


MEMORY = """
import sys
import numpy as np
import weft

weft.distributed.initialize()
step = weft.jit(lambda x: x.sum(), mesh=weft.make_mesh((4,), ("data",)), in_shardings=weft.P("data"))
for _ in range(3):
    step(np.ones(4, np.float32))
if weft.process_index() == int(sys.argv[1]):
    np.ones(2**46, np.float32)
try:
    step(np.ones(4, np.float32))
except weft.ExecutionError as error:
    open(sys.argv[2], "w").write(str(error))
    raise
"""


@pytest.mark.parametrize("process", [0, 1])
def test_a_process_without_memory_stops_the_others(mpirun, process, tmp_path):
    both = run([*mpirun, "-n", 2, sys.executable, "-c", MEMORY, process, tmp_path / "told"])
    assert both.returncode != 0
    assert (tmp_path / "told").exists(), both.stderr
    assert (tmp_path / "told").read_text().startswith(f"process {process}: MemoryError: Unable to allocate 256. TiB")


def test_a_mesh_that_the_processes_do_not_divide(mpirun):
    code = ("import numpy as np, weft\nfrom weft import P\nweft.distributed.initialize()\n"
            "weft.device_put(np.ones(6), weft.NamedSharding(weft.make_mesh((3,), ('data',)), P('data')))\n")
    both = run([*mpirun, "-n", 2, sys.executable, "-c", code])
    assert both.returncode != 0
    assert "ValueError: 3 ranks cannot be shared equally by 2 processes; take a mesh whose size they divide" in both.stderr


def test_a_heartbeat_that_is_none():
    code = "import weft; weft.distributed.initialize(heartbeat=0.5)"
    assert "heartbeat must be 0 or from 1 to 1e9 seconds, got 0.5" in run([sys.executable, "-c", code]).stderr


PIPELINE = """
import hashlib
import sys
import numpy as np
import weft

weft.distributed.initialize()
with open(f"{sys.argv[1]}/{weft.process_index()}", "w") as out:
    for plan in sys.argv[2:]:
        session = weft.Session(weft.Plan.load(plan))
        entry, random = session.plan.entries[0], np.random.default_rng(0)
        for value in entry.inputs:
            if np.issubdtype(value.dtype, np.integer):
                session.set_input(entry.name, value.name, random.integers(0, 2, value.shape))
            else:
                session.set_input(entry.name, value.name, np.abs(0.02 * random.standard_normal(value.shape, np.float32)))
        for _ in range(3):
            session.run(entry.name)
        states = hashlib.sha256()
        for value in entry.outputs:
            states.update(session.value(value.name).tobytes())
        print(states.hexdigest(), file=out)
"""


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory):
    """Plans of three schedules."""
    plans = []
    for schedule, chunks in (("1f1b", 1), ("interleaved", 2), ("zb-h1", 1)):
        step = weft.models.gpt(layers=4, hidden=32, heads=2, vocabulary=64, sequence=16, dtype="float32", pipeline=2,
                               data=2, schedule=schedule, chunks=chunks, micro_batch=1, global_batch=8)
        plans.append(tmp_path_factory.mktemp("plans") / schedule)
        step.lower().compile().plan.save(plans[-1])
    return plans


PIPELINE_ENDS = """
import sys
import numpy as np
import weft

weft.distributed.initialize()
session = weft.Session(weft.Plan.load(sys.argv[1]))
entry = session.plan.entries[0]
for value in entry.inputs:
    session.set_input(entry.name, value.name, np.zeros(value.shape, value.dtype))
for _ in range(1 if weft.process_index() == int(sys.argv[2]) else 2):
    session.run(entry.name)
"""


@pytest.mark.parametrize("process", [0, 1])
def test_a_stage_that_ends_early_stops_the_others(mpirun, pipelines, process):
    begin = time.monotonic()
    both = run([*mpirun, "-n", 2, sys.executable, "-c", PIPELINE_ENDS, pipelines[0], process])
    assert both.returncode != 0 and time.monotonic() - begin < 20
    assert ("its process has come to the end of its program" in both.stderr
            or f"in process {process}, which has come to the end of its program" in both.stderr), both.stderr


def test_pipelines_have_the_bits_of_one_process(mpirun, pipelines, tmp_path):
    """Messages between stages that are in other processes, or in the same one."""
    found = set()
    for processes in (1, 2, 4):
        folder = tmp_path / str(processes)
        folder.mkdir()
        start = [] if processes == 1 else [*mpirun, "-n", processes]
        result = run([*start, sys.executable, "-c", PIPELINE, folder, *pipelines])
        assert result.returncode == 0, result.stdout + result.stderr
        assert len([*folder.iterdir()]) == processes
        found |= {path.read_text() for path in folder.iterdir()}
    assert len(found) == 1 and len(found.pop().split()) == len(pipelines)


USAGE = """
import json
import sys
import numpy as np
import weft
from weft import P

weft.distributed.initialize()
step = weft.jit(lambda x: (x @ x.T).sum(), mesh=weft.make_mesh((4,), ("data",)), in_shardings=P("data"))
x = np.ones((64, 64), np.float32)
compiled = step.lower(x).compile()
session = compiled.session(trace_runs=2)
session.set_input(compiled.entry.name, "x", x)
for _ in range(2):
    session.run(compiled.entry.name)
usage = session.rank_usage()
session.write_trace(f"{sys.argv[1]}/trace.json")
print(json.dumps(usage), file=open(f"{sys.argv[1]}/{weft.process_index()}", "w"))
"""


def test_all_processes_know_what_all_ranks_did(mpirun, tmp_path):
    both = run([*mpirun, "-n", 2, sys.executable, "-c", USAGE, tmp_path])
    assert both.returncode == 0, both.stdout + both.stderr
    usage = json.loads((tmp_path / "0").read_text())
    assert json.loads((tmp_path / "1").read_text()) == usage and len(usage) == 4
    for role, total, waited, resident in usage:
        assert role == 0 and 0 < waited < total < 60 and resident > 2**20
    # One trace, with what all ranks did by one clock.
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["args"]["name"] for event in events if event["name"] == "process_name"] == [
        f"rank {rank}" for rank in range(4)]
    spans = {rank: [(event["ts"], event["ts"] + event["dur"]) for event in events
                    if event["ph"] == "X" and event["pid"] == rank] for rank in range(4)}
    ends = [max(end for _, end in spans[rank]) for rank in range(4)]
    begins = [min(begin for begin, _ in spans[rank]) for rank in range(4)]
    # All are in the last collective at once.
    assert max(begins) < min(ends)


STEPS = """
import os
import signal
import sys
import numpy as np
import weft
from weft import P

weft.distributed.initialize()
step = weft.jit(lambda x: x.sum(), mesh=weft.make_mesh((2,), ("data",)), in_shardings=P("data"))
before = signal.getsignal(signal.SIGTERM)
with weft.distributed.PreemptionHandler() as preemption:
    for done in range(1, 100000):
        step(np.ones(8, np.float32))
        if done == 3 and weft.process_index() == weft.process_count() - 1:
            if "signal" in sys.argv:
                os.kill(os.getpid(), signal.SIGTERM)
            else:
                preemption.request()
        if preemption.reached_sync_point(done):
            break
assert preemption.is_reached and signal.getsignal(signal.SIGTERM) == before
print("stopped after", done, file=open(f"{sys.argv[1]}/{weft.process_index()}", "w"))
sys.exit(3)
"""


@pytest.mark.parametrize("how", ["signal", "request"])
def test_all_processes_stop_after_the_same_step(mpirun, how, tmp_path):
    both = run([*mpirun, "-n", 2, sys.executable, "-c", STEPS, tmp_path, how])
    assert both.returncode == 3, both.stdout + both.stderr
    assert (tmp_path / "0").read_text() == (tmp_path / "1").read_text()
    assert int((tmp_path / "0").read_text().split()[-1]) >= 3


def test_a_program_alone_stops_after_its_step(tmp_path):
    assert run([sys.executable, "-c", STEPS, tmp_path, "signal"]).returncode == 3
    assert (tmp_path / "0").read_text() == "stopped after 3\n"


def test_the_second_signal_is_not_caught():
    code = ("import os, signal, weft\nwith weft.distributed.PreemptionHandler():\n"
            "    for _ in range(2): os.kill(os.getpid(), signal.SIGTERM)\n    print('alive')")
    result = run([sys.executable, "-c", code])
    assert result.returncode == -15 and not result.stdout


def test_initialize_once():
    code = "import weft; weft.distributed.initialize(); weft.distributed.initialize()"
    result = run([sys.executable, "-c", code])
    assert "RuntimeError: weft.distributed.initialize() was called before; call it once" in result.stderr
    assert weft.process_index() == 0 and weft.process_count() == 1


@pytest.mark.parametrize("given", [{"num_processes": 3}, {"process_id": 0}])
def test_processes_need_a_coordinator(given):
    with pytest.raises(ValueError, match="without coordinator_address; give it as host:port of process 0"):
        weft.distributed.initialize(**given)
    assert not weft.distributed.is_initialized()
