# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions of plans for GPUs, on emulated devices (emulator/)."""

import functools
import os
import pathlib
import socket
import subprocess
import sys
import warnings

import cnn
import numpy as np
import pytest
from tiny_models import MODELS, adamw

import weft
from weft import _runtime, tree

EMULATOR = pathlib.Path(_runtime.__file__).parents[2] / "emulator/lib"
TARGET = "cuda:sm_90"

pytestmark = pytest.mark.skipif(
    not (EMULATOR / "libcublasLt.so.13").exists(),
    reason="no emulated device was built; it needs the CUDA toolkit")


@pytest.fixture(autouse=True)
def device_in_software(monkeypatch):
    monkeypatch.setenv("WEFT_CUDA_LIBRARIES", str(EMULATOR))
    monkeypatch.setenv("WEFT_CUDA_TUNE", "off")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_trains_as_on_the_host(name):
    model, optimizer = MODELS[name], adamw()
    step = weft.jit(model.train_step(optimizer), donate_argnums=0)
    state, batches = model.state(optimizer), model.batches(4, rows=2)
    lowered = step.lower(state, tree.map(lambda steps: steps[0], batches))
    losses = {}
    for target in ("cpu", TARGET):
        compiled, current, losses[target] = lowered.compile(target), state, []
        for i in range(4):
            current, loss = compiled(current, tree.map(lambda steps: steps[i], batches))
            losses[target].append(loss)
    np.testing.assert_allclose(losses[TARGET], losses["cpu"], rtol=1e-5)


def test_a_convolutional_network_trains_as_on_the_host():
    rng = np.random.default_rng(0)
    params = cnn.resnet_init(rng)
    state = {"params": params, "momentum": tree.map(np.zeros_like, params)}
    batch = rng.normal(size=(4, 4, 4, 3)).astype(np.float32), rng.integers(0, 10, 4).astype(np.int32)
    loss = functools.partial(cnn.resnet_loss, x=weft)
    lowered = weft.jit(cnn.momentum_step(loss, weft.value_and_grad, tree.map)).lower(state, batch)
    (host, _), (device, _) = (lowered.compile(target)(state, batch) for target in ("cpu", TARGET))
    for a, b in zip(tree.leaves(host), tree.leaves(device)):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


def doublings(count=40):
    """As many kernels as rows: every sum is a kernel of its own."""
    def function(x):
        for _ in range(count):
            x = x / x.sum() + x.max()
        return x
    x = np.linspace(1, 2, 64, dtype=np.float32)
    return weft.jit(function).lower(x).compile(TARGET), x


def enqueues(compiled, x, runs, **options):
    session, entry = compiled.session(**options), compiled.entry
    session.set_input(entry.name, entry.inputs[0].name, x)
    times, results = [], []
    for _ in range(runs):
        session.run(entry.name)
        times.append(session.last_run)
        results.append(session.output(entry.outputs[0].name))
    return times, results


def test_orders_and_scatters_are_those_of_the_host():
    def function(x, long, i):
        return (weft.numpy.argsort(long), *weft.lax.top_k(x, 2), weft.numpy.sort(x, 0, descending=True),
                x.at[i].set(x[::-1]), x.at[:, i].multiply(2), weft.lax.cummax(x, 1))
    random = np.random.default_rng(0)
    x, long = (random.integers(0, 9, shape).astype(np.float32) for shape in ((4, 6), (40,)))
    lowered = weft.jit(function).lower(x, long, np.array([2, 0, 2, 9], np.int32))
    expected, actual = (lowered.compile(target)(x, long, np.array([2, 0, 2, 9], np.int32)) for target in ("cpu", TARGET))
    np.testing.assert_array_equal(expected[0], np.argsort(long, stable=True))
    for a, b in zip(actual, expected):
        np.testing.assert_array_equal(a, b)


def test_graphs_compute_what_steps_do():
    compiled, x = doublings()
    graphs, expected = enqueues(compiled, x, 10)
    steps, actual = enqueues(compiled, x, 10, cuda_graphs=False)
    np.testing.assert_array_equal(expected, actual)
    for times in graphs + steps:
        assert 0 < times.enqueue < times.total


def test_what_falls_back_is_a_warning():
    """The emulated device refuses machine code, where ptxas has made some."""
    compiled, _ = doublings(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled.session()
    first = [str(each.message).split(", because")[0] for each in caught if each.category is RuntimeWarning]
    assert first == ([] if "object 0 bytes" in compiled.as_text() else
                     ["the driver compiled the plan's PTX for device 0 (Emulated H200, sm_90)"])


MEASURES = """
import sys
import numpy as np
import weft
x = np.ones((16, 16), np.float32)
compiled = weft.jit(lambda x: x @ x).lower(x).compile(sys.argv[1])
session, entry = compiled.session(deterministic=sys.argv[2] == "True"), compiled.entry
session.set_input(entry.name, entry.inputs[0].name, x)
session.run(entry.name)
np.testing.assert_array_equal(session.output(entry.outputs[0].name), np.full((16, 16), 16, np.float32))
"""


@pytest.mark.parametrize("deterministic", [True, False])
def test_nothing_is_measured_where_bits_must_be_the_same(deterministic, tmp_path):
    """In a process of its own: what sessions of one device share is asked for once."""
    environment = {name: value for name, value in os.environ.items() if name != "WEFT_CUDA_TUNE"}
    subprocess.run([sys.executable, "-c", MEASURES, TARGET, str(deterministic)], check=True,
                   env=environment | {"XDG_CACHE_HOME": str(tmp_path)})
    assert (tmp_path / "weft" / "cublaslt.json").exists() != deterministic


def test_a_cpu_is_given_no_work():
    double = weft.jit(lambda x: 2 * x).lower(np.ones(4, np.float32)).compile()
    session = double.session()
    assert session.last_run == weft.RunTimes(0, 0)
    session.set_input(double.entry.name, "x", np.ones(4, np.float32))
    session.run(double.entry.name)
    assert session.last_run.total > 0 and session.last_run.enqueue == 0


def test_the_device_is_chosen(tmp_path):
    compiled, x = doublings(1)
    with pytest.raises(weft.ExecutionError, match="device 7 is not one of the 1 devices that the driver") as raised:
        compiled.session(device=7)
    assert raised.value.code == "invalid_argument"
    assert len(enqueues(compiled, x, 1, device=0)[1]) == 1


PROCESS = """
import sys
import numpy as np
import weft
from weft import P

weft.distributed.initialize()
mesh = weft.make_mesh((2,), ("data",))

def step(w, x, y):
    loss, gradient = weft.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
    return w - 0.1 * gradient, loss

random = np.random.default_rng(0)
w, x = np.zeros((8, 1), np.float32), random.random((16, 8), np.float32)
train = weft.jit(step, mesh=mesh, in_shardings=(P(*sys.argv[3:]), P("data"), P("data")), donate_argnums=0).lower(
    w, x, x.sum(1, keepdims=True)).compile(sys.argv[2])
for _ in range(4):
    w, loss = train(w, x, x.sum(1, keepdims=True))
print([*weft.distributed.local_ranks(2)], [shard.data.shape for shard in w.addressable_shards])
weft.save(f"{sys.argv[1]}/run", {"w": weft.distributed.process_allgather(w)}, step=4).wait()
np.savez(f"{sys.argv[1]}/{weft.process_index()}.npz", loss=loss, w=weft.distributed.process_allgather(w))
"""


@pytest.mark.parametrize("layout", [[], ["data"]], ids=["replicated", "sharded"])
def test_processes_with_a_device_each(layout, tmp_path):
    """As torchrun starts them, over the library in the place of NCCL."""
    if not (EMULATOR.parent / "nccl" / "libnccl.so.2").exists():
        pytest.skip("the library in NCCL's place was not built; it needs NCCL's header")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    variables = {"WEFT_CUDA_LIBRARIES": f"{EMULATOR}:{EMULATOR.parent / 'nccl'}", "WORLD_SIZE": "2",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NCCL_SOCKET_IFNAME": "lo"}
    jobs = [subprocess.Popen([sys.executable, "-c", PROCESS, tmp_path, TARGET, *layout],
                             env=os.environ | variables | {"RANK": str(rank), "LOCAL_RANK": "0", "NCCL_HOSTID": f"rank-{rank}"},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(2)]
    texts = [job.communicate(timeout=120)[0] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], texts
    shape = (4, 1) if layout else (8, 1)
    assert [text.splitlines()[-1] for text in texts] == [f"[{rank}] [{shape}]" for rank in range(2)]
    alone = tmp_path / "alone"
    alone.mkdir()
    subprocess.run([sys.executable, "-c", PROCESS, alone, "cpu", *layout], check=True, capture_output=True)
    expected = np.load(alone / "0.npz")
    for rank in range(2):
        found = np.load(tmp_path / f"{rank}.npz")
        np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)
        np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-5)
    np.testing.assert_array_equal(weft.restore(tmp_path / "run")["w"], found["w"])
