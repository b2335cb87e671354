# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`weft.report`: its numbers are those of the plan and of the simulator, whatever is summed up."""

import html
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import reported
from running import BINARIES

import weft
from weft.report import __main__ as command_line
from weft.lowered import Source
from weft.report.classes import TIMES
from weft.report.figures import bytes_figure, scaling_figure, slices_of, times_figure
from weft.report.html_table import folded
from weft.report.page import _timeline
from weft.simulation import simulate

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mlp():
    return reported.mlp()


@pytest.fixture(scope="module")
def pipeline():
    return reported.pipelined()


def test_what_the_compiler_chose_is_listed(mlp):
    first, *lines = mlp.report().partition("choices, ")[2].splitlines()
    assert first == "with times predicted on DGX H100" and any("beside computation, " in line for line in lines)
    listed = html.unescape(re.search("<h2>What the compiler chose</h2>(.*?)</section>", weft.report(mlp, "dgx-h100").html)[1])
    assert "Times are predicted on DGX H100" in listed and all(f"<li>{line.strip()}</li>" in listed for line in lines)


@pytest.fixture(params=["mlp", "pipeline"])
def compiled(request):
    return request.getfixturevalue(request.param)


def text_of(report):
    """The page without its scripts and styles."""
    return re.sub(r"<(script|style).*?</\1>", "", report.html, flags=re.DOTALL)


def data_of(report):
    return json.loads(re.search(r'id="timeline-data">(.*?)</script>', report.html, re.DOTALL)[1])


def seconds_by_class(data, role):
    """What the stream of kernels of a role does."""
    sums = dict.fromkeys(TIMES, 0)
    names = [*TIMES]
    for segment, *_ in data["roles"][role]["runs"]:
        for begin, end, what, *_ in data["segments"][segment]["streams"].get("0", []):
            for number, time in what if isinstance(what, list) else [(what, end - begin)]:
                sums[names[number]] += time / 1e9
    return sums


def events_of(data):
    return sum(len(events) for segment in data["segments"] for events in segment["streams"].values())


def check_times(data, step):
    """Sums of events are what the simulator says, to the nanosecond of each."""
    for role, said in enumerate(step["roles"]):
        drawn = seconds_by_class(data, role)
        waits = data["roles"][role]["waits"]
        collectives = drawn["exposed communication"] + sum(end - since for *_, since, end in waits) / 1e9
        rounding = 1e-9 * (len(waits) + 1 + sum(
            len(data["segments"][run[0]]["streams"].get("0", [])) for run in data["roles"][role]["runs"]))
        for name, key in (("GEMM", "gemm"), ("convolution", "convolution"), ("attention", "attention"), ("other kernels", "other_kernel")):
            assert drawn[name] == pytest.approx(said[f"{key}_seconds"], abs=rounding)
        assert collectives == pytest.approx(sum(c["exposed_seconds"] for c in said["communication"]), abs=rounding)


def test_the_timeline_is_the_step(compiled):
    report = weft.report(compiled, "dgx-h100")
    data = data_of(report)
    assert report.step == simulate(compiled, "dgx-h100")
    assert data["grain"] == 0 and data["step"] == round(report.step["step_seconds"] * 1e9)
    check_times(data, report.step)


def test_it_is_what_shard_sim_says(mlp, tmp_path):
    mlp.save(tmp_path / "mlp.plan")
    ran = subprocess.run([BINARIES / "shard-sim", "plan", tmp_path / "mlp.plan", "--cluster=dgx-h100", "--json"],
                         capture_output=True, check=True)
    said, = json.loads(ran.stdout)
    step = weft.report(mlp, "dgx-h100").step
    assert said.pop("cluster_reason") == "named by --cluster" and step.pop("cluster_reason") == "named by cluster="
    assert step == said


def test_bubbles_are_those_of_the_step(pipeline):
    report = weft.report(pipeline, "dgx-h100")
    data = data_of(report)
    for role, said in zip(data["roles"], report.step["roles"]):
        waited = sum(since - begin for _, _, begin, since, _ in role["waits"])
        done = max(role["runs"][-1][3], role["waits"][-1][4])
        assert (waited + data["step"] - done) / 1e9 == pytest.approx(said["bubble_seconds"], abs=1e-7)


def test_memory_over_time_has_the_peak_of_the_plan(compiled):
    data, memory = data_of(weft.report(compiled, "dgx-h100")), compiled.memory()
    for role, known in zip(data["roles"], memory.roles or (memory,)):
        fixed = sum(role["fixed"]) + role["reserved"]
        highest = max(sum(bytes_) for segment, *_ in role["runs"] for _, *bytes_ in data["segments"][segment]["memory"])
        assert fixed + highest == sum(known.at_peak.values()) <= role["arena"]
        assert all(0 <= sum(in_use) <= role["reserved"] for _, *in_use in role["slots"])
    if memory.roles:
        first = data["roles"][0]
        assert max(sum(in_use) for _, *in_use in first["slots"]) > 0.9 * first["reserved"]
        assert sum(first["slots"][-1][1:]) == 0


def test_every_collective_is_there_with_its_cause(compiled):
    text = text_of(weft.report(compiled, "dgx-h100"))
    assert compiled.collectives()
    for each in compiled.collectives():
        assert all(html.escape(line) in text for line in each.cause.split("\n"))
        assert f"{each.file}:{each.line}" in text
    for message in compiled.messages():
        assert message.label in text


def test_what_collectives_take_adds_up(compiled):
    """The columns of the table are those of the simulator."""
    report = weft.report(compiled, "dgx-h100")
    rows = re.findall(r'<tr><td class="code">\w+</td>.*?</tr>', text_of(report).split("their causes</h3>")[1].split("</table>")[0],
                      re.DOTALL)
    assert len(rows) == len(compiled.collectives())
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    pipe = {each["axes"] for each in report.step["roles"][0]["communication"]} & {"pipeline"}
    for column, keys in ((4, ("exposed_seconds", "hidden_seconds")), (5, ("exposed_seconds",))):
        shown = sum(seconds(row[column]) for row in cells)
        said = sum(c[key] for role in report.step["roles"] for c in role["communication"] for key in keys
                   if c["axes"] not in pipe)
        assert shown == pytest.approx(said, rel=0.01)


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[unit]


def test_shardings_have_the_names_of_the_user(mlp, pipeline):
    text = text_of(weft.report(mlp, "dgx-h100"))
    row = re.search(r"<tr><td[^>]*>params\[&#x27;w1&#x27;\].*?</tr>", text)[0]
    assert "P(None, &#x27;model&#x27;)" in row and "bfloat16[4096, 16384]" in row and "bfloat16[4096, 2048]" in row
    assert re.search(r">x</td><td>argument</td>.*?P\(&#x27;data&#x27;,\)", text)
    # Layers that are alike are one row.
    text = text_of(weft.report(pipeline, "dgx-h100"))
    assert "[&#x27;blocks&#x27;][{0..3}][&#x27;attn&#x27;][&#x27;wq&#x27;]" in text and "4 x 2.00 MiB" in text


def test_the_tensors_at_the_peak(mlp):
    text = text_of(weft.report(mlp, "dgx-h100"))
    for tensor in mlp.memory().peak:
        assert html.escape(tensor.name) in text and html.escape(tensor.type) in text


def test_many_tensors_are_summed_up(pipeline, monkeypatch):
    monkeypatch.setattr(sys.modules["weft.report.tables"], "MOST_TENSORS", 2)
    rest = pipeline.memory().peak[2:]
    assert f"in {len(rest)} more" in text_of(weft.report(pipeline, "dgx-h100"))


def test_short_events_of_large_plans_are_summed_up(compiled, monkeypatch):
    timeline = sys.modules["weft.report.timeline"]
    report = weft.report(compiled, "dgx-h100")
    whole = data_of(report)
    assert "were summed up" not in text_of(report)
    monkeypatch.setattr(timeline, "MOST_EVENTS", events_of(whole) // 2)
    monkeypatch.setattr(timeline, "MOST_MEMORY", 60)
    report = weft.report(compiled, "dgx-h100")
    data = data_of(report)
    assert 0 < events_of(data) <= events_of(whole) // 2
    assert "were summed up" in text_of(report)
    check_times(data, report.step)
    # Of memory the highest points are left.
    for role in range(len(data["roles"])):
        peaks = [max(sum(point[1:]) for segment, *_ in each["roles"][role]["runs"]
                     for point in each["segments"][segment]["memory"]) for each in (whole, data)]
        assert peaks[0] == peaks[1]


def test_a_plan_of_thousands_of_actions_is_a_page_of_a_few_megabytes():
    """GPT-3 with half of its layers, on 8 ranks of a pipeline in 64 micro-batches."""
    compiled = reported.pipelined(layers=48, hidden=12288, heads=96, vocabulary=51200, sequence=2048, tensor=8, pipeline=8,
                                  chunks=3, data=2, global_batch=128, sequence_parallel=True)
    report = weft.report(compiled, "dgx-h100")
    data = data_of(report)
    assert sum(len(role["runs"]) for role in data["roles"]) > 3000
    assert sum(len(events) for role in data["roles"] for segment, *_ in role["runs"]
               for events in data["segments"][segment]["streams"].values()) > 100_000
    assert events_of(data) < 20_000 and len(report.html) < 8e6


def test_it_says_what_is_missing(mlp):
    data = data_of(weft.report(mlp, "dgx-h100"))
    assert data["isWhole"] and "is missing" not in _timeline(data)
    assert "The end of what has more than a million events is missing." in _timeline(data | {"isWhole": False})


def test_long_causes_are_folded():
    assert folded("a\n<b>") == "a\n&lt;b&gt;"
    assert folded("7 collectives in one:\n" + "\n".join("1234567")) == (
        "<details><summary>7 collectives in one:</summary>1\n2\n3\n4\n5\n6\n7</details>")


def test_the_page_has_all_it_needs(mlp):
    report = weft.report(mlp, "dgx-h100")
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=\"(?!data:)", report.html)
    assert "plotly.js v" in report.html


def test_figures_are_what_plotly_takes(compiled):
    """`Figure` refuses what it does not know."""
    graph = pytest.importorskip("plotly.graph_objects")
    step = simulate(compiled, "dgx-h100", scale=("data", (2, 4)))
    made = [times_figure(slices_of(step)), bytes_figure(compiled.collectives(), compiled.messages(), "pipeline"),
            scaling_figure({"data": step["scale"]})]
    for figure in made:
        assert graph.Figure(figure).data
    assert bytes_figure([], [], "") is None and scaling_figure({}) is None


def test_a_plan_that_communicates_nothing():
    alone = weft.jit(lambda x: x + 1).lower(weft.ShapeDtypeStruct((8,), "float32")).compile(None)
    assert "The plan communicates nothing." in text_of(weft.report(alone, "dgx-h100"))


# Options

def test_rates(mlp):
    assert "per second" not in text_of(weft.report(mlp, "dgx-h100"))
    report = weft.report(mlp, "dgx-h100", samples=32768, tokens=100)
    assert report.step["samples_per_second"] == pytest.approx(32768 / report.step["step_seconds"])
    assert "samples per second" in text_of(report) and "tokens per second" in text_of(report)


def test_the_cluster(mlp):
    assert weft.report(mlp).step["cluster_reason"] == "the default of plans for none; cluster= names another"
    assert weft.report(mlp, "dgx-a100").step["cluster"] == "DGX A100"
    assert weft.report(mlp, ROOT / "clusters" / "dgx-a100.toml").step["cluster"] == "DGX A100"
    lowered = weft.jit(lambda x: x + 1).lower(weft.ShapeDtypeStruct((8,), "float32"))
    assert weft.report(lowered.compile(None, cluster="dgx-a100")).step["cluster"] == "DGX A100"


def test_scaling(mlp, pipeline):
    def sizes(report):
        figure = json.loads(re.search(r'id="figures-data">(.*?)</script>', report.html, re.DOTALL)[1]).get("scaling")
        return figure and {trace["name"]: trace["customdata"] for trace in figure["data"]}

    # As often doubled as there are devices, and not along the pipeline.
    assert sizes(weft.report(mlp, "dgx-h100"))["along model"] == [8 << i for i in range(10)]
    assert sizes(weft.report(pipeline, "dgx-h100")).keys() == {"along data", "along tensor"}
    report = weft.report(mlp, "dgx-h100", scale={"data": [4, 64]})
    assert sizes(report) == {"along data": [4, 64]}
    assert sizes(weft.report(mlp, "dgx-h100", scale={})) is None


def test_what_does_not_fit(mlp, tmp_path):
    assert 'class="verdict fits"' in weft.report(mlp, "dgx-h100").html
    (tmp_path / "small.toml").write_text('base = "dgx-h100"\nname = "small"\n[device]\nmemory_bytes = 4000000000\n')
    report = weft.report(reported.mlp(rows=1 << 20), tmp_path / "small.toml")
    assert not report.step["memory"]["fits"]
    assert 'class="verdict exceeds"' in report.html and "does not fit: exceeds" in text_of(report)


def test_what_it_looks_like_in_a_shell(mlp):
    report = weft.report(mlp, "dgx-h100")
    assert re.fullmatch(r"Report\(step on DGX H100: step \d+\.\d\d ms, MFU \d+\.\d %\)", repr(report))


# Errors

def test_what_is_wrong(mlp):
    with pytest.raises(ValueError, match="cannot read the cluster file dgx-h101"):
        weft.report(mlp, "dgx-h101")
    with pytest.raises(ValueError, match="the mesh has 32 devices, H100 SXM has 1: it needs a larger cluster"):
        weft.report(mlp, "h100-sxm")
    with pytest.raises(ValueError, match='the mesh has no axis "rows"; its axes are "data"'):
        weft.report(mlp, "dgx-h100", scale={"rows": [2]})
    with pytest.raises(TypeError, match='^cluster must be the name of one, as "dgx-h100", or a file, got 3 of type int$'):
        weft.report(mlp, 3)
    with pytest.raises(TypeError, match="report needs a compiled function, got 'a.plan' of type str; weft.load reads plan files"):
        weft.report("a.plan")
    with pytest.raises(TypeError, match="report needs a compiled function, got 3 of type int$"):
        weft.report(3)


@pytest.mark.parametrize("scale", [{"data": 8}, {"data": ["8"]}, {"data": [8.5]}, {"data": [True]}, {"data": "88"}, {3: [8]},
                                   [8], "data:8", 3], ids=str)
def test_a_scale_of_wrong_types_is_refused(mlp, scale):
    with pytest.raises(TypeError) as error:
        weft.report(mlp, "dgx-h100", scale=scale)
    assert str(error.value) == ('report: scale must have lists of sizes by the names of axes, as {"data": [8, 64]}, '
                                f"got {scale!r}")


@pytest.mark.parametrize("sizes", [[], [8, 0], [-1], [1 << 31]], ids=str)
def test_sizes_to_scale_to_are_in_a_range(mlp, sizes):
    with pytest.raises(ValueError) as error:
        weft.report(mlp, "dgx-h100", scale={"data": sizes})
    assert str(error.value) == f"report: scale needs one or more sizes from 1 to 1073741824, got {sizes} of \"data\""


@pytest.mark.parametrize("number", [-1, float("nan"), float("inf"), "x", None, [1]], ids=str)
@pytest.mark.parametrize("name", ["samples", "tokens"])
def test_amounts_that_are_none_are_refused(mlp, name, number):
    with pytest.raises(ValueError if isinstance(number, (int, float)) else TypeError) as error:
        weft.report(mlp, "dgx-h100", **{name: number})
    assert str(error.value) == f"report: {name} must be a finite number of at least 0, got {number!r}"


def test_numbers_of_numpy_are_numbers(mlp):
    report = weft.report(mlp, "dgx-h100", tokens=np.float32(8), scale={"data": np.array([16, 64])})
    assert "data" in report.html


def test_ranks_that_share_cores_scale_no_further(mlp):
    assert "MFU" in weft.report(mlp, "cpu-2core").html


def test_without_plotly(mlp, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match="weft.report draws with Plotly, which is not installed: pip install plotly$"):
        weft.report(mlp, "dgx-h100")


# The command line

def test_the_command_line(mlp, tmp_path, capsys):
    plan, page = tmp_path / "mlp.plan", tmp_path / "report.html"
    mlp.save(plan)
    assert command_line.main([str(plan), "-o", str(page), "--cluster=dgx-a100", "--tokens=7", "--samples=5",
                              "--scale=data:4,8", "--scale=model:8,16", "--entry=step"]) == 0
    assert capsys.readouterr().out == ""
    text = page.read_text()
    expected = weft.report(mlp, "dgx-a100", tokens=7, samples=5, scale={"data": [4, 8], "model": [8, 16]})
    assert text == expected.html


def test_an_entry_of_several(tmp_path, capsys):
    function = """func.func @{0}(%x: tensor<8xf32> {{weft.name = "x"}}) -> (tensor<8xf32> {{weft.name = "y"}}) {{
      %y = arith.addf %x, %x : tensor<8xf32>
      return %y : tensor<8xf32>
    }}
    """
    plan, page = tmp_path / "two.plan", tmp_path / "report.html"
    weft.Plan(Source(function.format("f") + function.format("g"), "two.mlir").compile("none")).save(plan)
    assert command_line.main([str(plan), "-o", str(page), "--entry=g"]) == 0
    assert "<h1>g</h1>" in page.read_text()
    assert command_line.main([str(plan), "-o", str(page)]) == 2
    assert capsys.readouterr().err == "error: the plan has several entries; name one of f, g as entry=\n"


def test_as_a_module(mlp, tmp_path):
    mlp.save(tmp_path / "mlp.plan")
    ran = subprocess.run([sys.executable, "-m", "weft.report", "mlp.plan", "-o", "r.html"], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert "DGX H100" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("arguments, expected", [
    (["none.plan", "-o", "r.html"], "error: .*none.plan: .*No such file"),
    (["mlp.plan", "-o", "no/r.html"], "error: cannot open no/r.html: No such file or directory"),
    (["mlp.plan", "-o", "r.html", "--cluster=dgx-h101"], "error: cannot read the cluster file dgx-h101"),
    (["mlp.plan", "-o", "r.html", "--entry=f"], "error: the plan has no entry 'f'; name one of step as entry="),
    (["mlp.plan", "-o", "r.html", "--scale=data:2,x"], "must be AXIS:SIZE,SIZE,... with sizes of at least 1, got 'data:2,x'"),
    (["mlp.plan", "-o", "r.html", "--scale=2"], "must be AXIS:SIZE,SIZE,..."),
    (["mlp.plan", "-o", "r.html", "--scale=data:0"], "must be AXIS:SIZE,SIZE,..."),
    (["mlp.plan", "-o", "r.html", "--tokens=nan"], "error: report: tokens must be a finite number of at least 0, got nan"),
    (["mlp.plan"], "error: name the page: -o FILE, or use --json"),
])
def test_errors_of_the_command_line(mlp, tmp_path, monkeypatch, capsys, arguments, expected):
    mlp.save(tmp_path / "mlp.plan")
    monkeypatch.chdir(tmp_path)
    try:
        status = command_line.main(arguments)
    except SystemExit as exit_:
        status = exit_.code
    assert status == 2 and re.search(expected, capsys.readouterr().err)
