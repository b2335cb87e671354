# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans and sessions: arrays in and out, whole and as shards."""

import json
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import weft
from programs import STEP, TWO_ENTRIES, identity
from weft.lowered import Source


def plan_of(text, target="cpu"):
    return weft.Plan(Source(text, "model.mlir").compile(target))


@pytest.fixture(scope="module")
def step():
    return plan_of(STEP)


def test_a_plan_says_what_it_takes(step):
    (entry,) = step.entries
    assert entry.name == "step"
    w, x = entry.inputs
    assert (w.name, w.type, w.local_shape, w.is_state) == ("params['w']", "float32[8, 8]", (8, 4), True)
    assert (x.name, x.type, x.local_shape, x.is_state) == ("x", "float32[16, 8]", (8, 8), False)
    mesh = weft.AbstractMesh((2, 2), ("data", "model"), (weft.AxisType.Explicit,) * 2)
    assert w.sharding == weft.NamedSharding(mesh, weft.P(None, "model"))
    assert x.sharding == weft.NamedSharding(mesh, weft.P("data"))
    assert [output.name for output in entry.outputs] == ["params['w']", "loss"]
    assert (step.ranks, step.mesh, step.has_machine_code) == (4, mesh, True)
    assert "step; 4 ranks" in repr(step)
    assert step.as_text("states").startswith("states 1\n")
    assert step.as_text().startswith("plan version")


def test_a_session_keeps_states():
    plan = plan_of(TWO_ENTRIES)
    session = weft.Session(plan)
    assert session.unset_inputs("step") == ["w", "x"]
    session.run("init")
    assert session.unset_inputs("step") == ["x"]
    session.set_input("step", "x", np.arange(4, dtype=np.float32))
    session.run("step")
    session.run("step")
    np.testing.assert_array_equal(session.state("w"), 0.5 + 2 * np.arange(4))
    session.set_state("w", np.ones(4, np.float32))
    session.run("step")
    np.testing.assert_array_equal(session.output("w"), 1 + np.arange(4))


def layer(x, w):
    y = weft.nn.gelu(x @ w)
    return weft.nn.softmax(y), (y * y).sum(axis=0), y.max(), y.T


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(700, 300)).astype("f4"), rng.normal(size=(300, 500)).astype("f4")
    compiled = weft.jit(layer).lower(x, w).compile()
    results = []
    for count in (1, threads):
        session = compiled.session(threads=count)
        for info, value in zip(compiled.entry.inputs, (x, w), strict=True):
            session.set_input(compiled.entry.name, info.name, value)
        session.run(compiled.entry.name)
        results.append([session.output(info.name) for info in compiled.entry.outputs])
    for one, several in zip(*results, strict=True):
        np.testing.assert_array_equal(one, several)
    np.testing.assert_allclose(results[0][0].sum(axis=1), 1, rtol=1e-5)


def test_the_first_runs_are_traced(tmp_path):
    session = weft.Session(plan_of(TWO_ENTRIES), trace_runs=2)
    session.run("init")
    session.set_input("step", "x", np.arange(4, dtype=np.float32))
    for _ in range(3):
        session.run("step")
    session.write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    entries = [event["args"]["entry"] for event in events if event["ph"] == "X"]
    assert {"init", "step"} == set(entries)


def test_shards_go_in_and_come_out(step):
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(8, 8)).astype("f4"), rng.normal(size=(16, 8)).astype("f4")
    whole, parts = weft.Session(step), weft.Session(step)
    for session, cut in ((whole, False), (parts, True)):
        # Rank 2 d + m has columns m of w and rows d of x.
        columns = weft.Shards(w[:, 4 * (r % 2) : 4 * (r % 2) + 4] for r in range(4))
        rows = weft.Shards(x[8 * (r // 2) : 8 * (r // 2) + 8] for r in range(4))
        session.set_input("step", "params['w']", columns if cut else w)
        session.set_input("step", "x", rows if cut else x)
        session.run("step")
    np.testing.assert_array_equal(whole.state("params['w']"), parts.state("params['w']"))
    shards = whole.shards("params['w']")
    assert repr(shards) == "Shards(4 x float32[8, 4])"
    np.testing.assert_array_equal(np.hstack([shards[2], shards[3]]), whole.state("params['w']"))


@pytest.mark.parametrize(
    "mlir, dtype",
    [("f32", "float32"), ("f64", "float64"), ("i8", "int8"), ("i16", "int16"), ("i32", "int32"), ("i64", "int64"),
     ("i1", "bool"), ("bf16", "bfloat16"), ("f16", "float16")],
)
def test_element_types(mlir, dtype):
    dtype = weft.ShapeDtypeStruct((), dtype).dtype
    plan = plan_of(identity(mlir))
    assert plan.entries[0].inputs[0].dtype == dtype
    session = weft.Session(plan)
    values = np.array([0, 1, 1, 0]).astype(dtype)
    session.set_input("f", "x", values)
    session.run("f")
    assert session.output("y").dtype == dtype
    np.testing.assert_array_equal(session.output("y"), values)
    np.testing.assert_array_equal(session.shards("y")[1], values[2:])


def test_any_layout_is_taken(step):
    session = weft.Session(step)
    w = np.arange(64, dtype=np.float32).reshape(8, 8)
    session.set_state("params['w']", w.T)
    np.testing.assert_array_equal(session.state("params['w']"), w.T)
    session.set_state("params['w']", w[::-1])
    np.testing.assert_array_equal(session.state("params['w']"), w[::-1])


def test_results_do_not_change_later(step):
    session = weft.Session(step)
    session.set_state("params['w']", np.ones((8, 8), np.float32))
    before = session.state("params['w']")
    session.set_state("params['w']", np.zeros((8, 8), np.float32))
    assert before.sum() == 64


@pytest.mark.parametrize(
    "act, code, text",
    [
        (lambda s: s.run("step"), "failed_precondition", "inputs that are not set: params['w'], x"),
        (lambda s: s.run("other"), "not_found", 'the plan has no entry "other"; it has: step'),
        (lambda s: s.set_input("step", "y", np.zeros(1, "f4")), "not_found", 'no input "y"'),
        (lambda s: s.set_input("step", "x", np.zeros(3, "f4")), "invalid_argument",
         'input "x" must be f32[16x8], got f32[3]'),
        (lambda s: s.set_input("step", "x", weft.Shards([np.zeros((8, 8), "f4")])),
         "invalid_argument", "a shard for each of the 4 ranks, got 1"),
        (lambda s: s.state("v"), "not_found", 'the plan has no state "v"'),
        (lambda s: s.output("loss"), "not_found", "neither a state of the plan nor an output"),
    ],
)
def test_failures_are_exceptions(step, act, code, text):
    with pytest.raises(weft.ExecutionError) as raised:
        act(weft.Session(step))
    assert raised.value.code == code
    assert text in str(raised.value)


def test_inputs_are_converted_as_arguments_of_a_call():
    plan = plan_of(identity("f32"))
    session = weft.Session(plan)
    for value in (np.arange(4.0), np.arange(4, dtype=">f4"), np.arange(4, dtype="f4")):
        session.set_input("f", "x", value)
        session.run("f")
        assert session.output("y").dtype == np.float32
        np.testing.assert_array_equal(session.output("y"), np.arange(4))
    session.set_input("f", "x", weft.Shards([np.zeros(2), np.ones(2)]))
    session.run("f")
    np.testing.assert_array_equal(session.output("y"), [0, 0, 1, 1])
    wide = weft.Session(plan_of(identity("i32")))
    with pytest.raises(TypeError, match=r"x: expected int32\[4\], got int64\[4\] with 1099511627776"):
        wide.set_input("f", "x", np.full(4, 2**40))


def test_dtypes_that_plans_do_not_have(step):
    with pytest.raises(TypeError, match="no arrays of dtype complex64; they have float32, bfloat16"):
        weft.Session(step).set_state("params['w']", np.zeros((8, 8), np.complex64))


def test_other_threads_run_meanwhile():
    """A run of a fraction of a second, and a thread that counts beside it."""
    plan = plan_of("""\
func.func @f(%x: tensor<1024x1024xf32> {weft.name = "x"}) -> (tensor<1024x1024xf32> {weft.name = "y"}) {
  %a = weft.dot_general %x, %x contracting = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b = weft.dot_general %a, %a contracting = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %b : tensor<1024x1024xf32>
}
""")
    session = weft.Session(plan)
    session.set_input("f", "x", np.zeros((1024, 1024), np.float32))
    started, ended = threading.Event(), threading.Event()
    seen = []

    def count():
        started.set()
        while not ended.is_set():
            seen.append(time.monotonic())
            time.sleep(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # no thread loses the interpreter but by giving it away
    thread = threading.Thread(target=count)
    try:
        thread.start()
        started.wait()
        before = time.monotonic()
        for _ in range(5):
            session.run("f")
        after = time.monotonic()
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert any(before < moment < after for moment in seen)


def test_threads_take_turns(step):
    session = weft.Session(step)
    session.set_state("params['w']", np.zeros((8, 8), np.float32))
    session.set_input("step", "x", np.ones((16, 8), np.float32))
    threads = [
        threading.Thread(target=lambda: [session.run("step") for _ in range(20)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = weft.Session(step)
    alone.set_state("params['w']", np.zeros((8, 8), np.float32))
    alone.set_input("step", "x", np.ones((16, 8), np.float32))
    for _ in range(80):
        alone.run("step")
    np.testing.assert_array_equal(session.state("params['w']"), alone.state("params['w']"))


def test_files(step, tmp_path):
    path = tmp_path / "step.plan"
    step.save(path)
    assert weft.Plan.load(path).contents == step.contents
    assert [entry.name for entry in tmp_path.iterdir()] == ["step.plan"]
    path.write_bytes(step.contents[:100])
    with pytest.raises(weft.ExecutionError, match="step.plan: its container is damaged"):
        weft.Plan.load(path)
    with pytest.raises(weft.ExecutionError, match="cannot open") as raised:
        weft.Plan.load(tmp_path / "none.plan")
    assert raised.value.code == "not_found"
    with pytest.raises(FileNotFoundError):
        step.save(tmp_path / "no-folder" / "step.plan")


def test_a_plan_to_look_at_does_not_run():
    plan = plan_of(STEP, "none")
    assert not plan.has_machine_code
    with pytest.raises(weft.ExecutionError, match="the plan has no machine code"):
        weft.Session(plan)


def long_run(x):
    for _ in range(400):
        x = x @ x
    return x


def test_ctrl_c_stops_a_run():
    x = np.eye(1024, dtype=np.float32)
    function = weft.jit(long_run)
    compiled = function.lower(x).compile()
    session = compiled.session()
    session.set_input(compiled.entry.name, compiled.entry.inputs[0].name, x)
    # Processes of parallel test runs ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            session.run(compiled.entry.name)
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(weft.ExecutionError, match="was interrupted in a run"):
        session.run(compiled.entry.name)


def test_a_jitted_function_runs_again_after_ctrl_c():
    def handler(*_):
        raise KeyboardInterrupt

    x = np.eye(768, dtype=np.float32)
    compiled = weft.jit(long_run).lower(x).compile()
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            compiled(x)
    finally:
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(compiled(x), x)


@pytest.mark.parametrize("deadline", [0, -1, 1e300, float("nan"), -float("inf")])
def test_deadlines_that_are_none(step, deadline):
    with pytest.raises(weft.ExecutionError, match="deadline must be from 0.001 to 1e9 seconds"):
        weft.Session(step, deadline=deadline)


def test_no_deadline(step):
    with pytest.raises(weft.ExecutionError, match="-1 runs to trace"):
        weft.Session(step, trace_runs=-1)
    plan = plan_of(TWO_ENTRIES)
    weft.Session(plan, deadline=float("inf")).run("init")


def test_a_forked_child_calls_what_its_parent_has_called():
    function = weft.jit(lambda x: x + 1)
    function(np.zeros(4, np.float32))
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(int(function(np.full(4, 6, np.float32))[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_plan_is_saved_through_a_link(tmp_path, step):
    (tmp_path / "link").symlink_to("target")
    step.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert weft.Plan.load(tmp_path / "target").ranks == step.ranks


def test_a_plan_is_written_to_what_is_not_a_regular_file(tmp_path, step):
    step.save("/dev/null")
    with pytest.raises(OSError, match="No space left on device"):
        step.save("/dev/full")
    with pytest.raises(IsADirectoryError):
        step.save(tmp_path)
