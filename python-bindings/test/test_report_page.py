# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of `weft.report` in a browser: what is on it, and what it does when it is used."""

import sys

import pytest
import reported
from browser import PROGRAM, Page, share

import weft
from weft.report.classes import MEMORY, TIMES

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium; scripts/setup.sh installs it")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


def opened(folder, name, report, **size):
    report.save(folder / name)
    return Page(folder / name, **size)


@pytest.fixture(scope="module")
def mlp(folder):
    with opened(folder, "mlp.html", weft.report(reported.mlp(), "dgx-h100", tokens=1000)) as page:
        yield page


@pytest.fixture(scope="module")
def pipeline(folder):
    with opened(folder, "pipeline.html", weft.report(reported.pipelined(), "dgx-h100")) as page:
        yield page


@pytest.fixture(params=["mlp", "pipeline"])
def page(request):
    page = request.getfixturevalue(request.param)
    page.run("look(0, data.step)")
    page.settle()
    return page


def bars(page):
    """By name of its class, how many bars there are in the timeline."""
    return page.run("Object.fromEntries([...document.querySelectorAll('#timeline .trace.bars')].map("
                    "trace => [trace.__data__[0].trace.name, trace.querySelectorAll('.point').length]))")


def window(page, figure):
    return page.run(f"document.getElementById('{figure}').layout.xaxis.range")


def choose(page, select, value):
    page.run(f"(s => {{ s.value = '{value}'; s.onchange(); }})(document.getElementById('{select}'))")
    page.settle()


def test_nothing_goes_wrong_and_nothing_is_fetched(page):
    assert page.errors == []
    assert page.requests == [page.address]


def test_all_figures_are_drawn(page):
    figures = {figure: page.run(f"document.querySelectorAll('#{figure} .trace').length")
               for figure in ("times", "timeline", "memory", "bytes", "scaling")}
    assert all(figures.values()), figures
    # In their places, one below the other, and within the page.
    tops = [page.place(f"#{figure}") for figure in figures]
    assert [top[1] for top in tops] == sorted(top[1] for top in tops)
    assert page.run("document.documentElement.scrollWidth") == 1400


def test_the_colours_of_the_timeline_are_seen(mlp, pipeline):
    choose(pipeline, "timeline-rows", "all")
    seen = {page: {name for name, colour in TIMES.items() if share(page.screenshot("#timeline"), colour) > 2e-4
                   and name != "input gradients"}  # these look like the backward pass that they are
            for page in (mlp, pipeline)}
    assert seen[mlp] == {"GEMM", "other kernels", "hidden communication", "exposed communication"}
    assert seen[pipeline] == {*TIMES} - {"convolution", "input gradients", "weight gradients"}


def test_where_the_time_goes_is_seen_in_proportion(mlp):
    pixels = mlp.screenshot("#times")
    step = weft.report(reported.mlp(), "dgx-h100").step["roles"][0]
    assert share(pixels, TIMES["GEMM"]) / share(pixels, TIMES["other kernels"]) == pytest.approx(
        step["gemm_seconds"] / step["other_kernel_seconds"], rel=0.25)


def test_memory_is_seen(page):
    pixels, shown = page.screenshot("#memory"), page.run("data.purposes.map(purpose => purpose.name)")
    assert share(pixels, MEMORY["parameters"]) > 0.01 and share(pixels, MEMORY["activations"]) > 0.01
    assert "peak" in page.run("document.querySelector('#memory .annotation-text').parentNode.parentNode.textContent + "
                              "[...document.querySelectorAll('#memory .annotation-text')].map(a => a.textContent).join()")
    assert {"parameters", "activations"} <= set(shown)


def test_labels_do_not_overlap(page):
    """Of the rows, and of the legend."""
    boxes = "[...document.querySelectorAll('#timeline {}')].map(e => (r => [r.x, r.y, r.right, r.bottom])(e.getBoundingClientRect()))"
    for selector in (".ytick text", ".legendtext"):
        found = page.run(boxes.format(selector))
        assert found
        for i, (left, top, right, bottom) in enumerate(found):
            assert right > left >= 0
            for other in found[:i]:
                assert right <= other[0] or other[2] <= left or bottom <= other[1] + 2 or other[3] <= top + 2


def test_zooming_shows_what_was_drawn_together(pipeline):
    choose(pipeline, "timeline-rows", "0")
    pipeline.run("look(0, data.step)")
    pipeline.run("document.getElementById('timeline').scrollIntoView()")
    whole = window(pipeline, "timeline")
    text = pipeline.run("document.getElementById('timeline').data.flatMap(trace => trace.hovertext || []).join()")
    assert "events</b>" in text and "zoom in to see each" in text
    x, y, width, height = pipeline.run("(r => [r.x, r.y, r.width, r.height])(document.querySelector('#timeline .nsewdrag').getBoundingClientRect())")
    pipeline.drag((x + 0.3 * width, y + 0.5 * height), (x + 0.34 * width, y + 0.5 * height))
    pipeline.until(lambda: window(pipeline, "memory") != whole)
    zoomed = window(pipeline, "timeline")
    part = (zoomed[1] - zoomed[0]) / (whole[1] - whole[0])
    assert 0.03 < part < 0.05
    # The memory shows the same stretch.
    assert window(pipeline, "memory") == pytest.approx(zoomed)
    text = pipeline.run("document.getElementById('timeline').data.flatMap(trace => trace.hovertext || []).join()")
    assert "gpt.py:" in text and "Gflop" in text
    # And back.
    pipeline.run("Plotly.relayout('timeline', {'xaxis.autorange': true}); 0")
    pipeline.until(lambda: window(pipeline, "memory") == pytest.approx(whole))
    assert window(pipeline, "timeline") == pytest.approx(whole) and window(pipeline, "memory") == pytest.approx(whole)
    assert pipeline.errors == []


def hover(page, name, which=0):
    """What the page says over a bar of a class."""
    page.run("document.getElementById('timeline').scrollIntoView()")
    x, y, width, height = page.run(
        f"(r => [r.x, r.y, r.width, r.height])([...document.querySelectorAll('#timeline .trace.bars')].find("
        f"trace => trace.__data__[0].trace.name === '{name}').querySelectorAll('.point')[{which}].getBoundingClientRect())")

    def said():
        page.mouse("mouseMoved", x + width / 2 - 1, y + height / 2)
        page.mouse("mouseMoved", x + width / 2, y + height / 2)
        page.settle(0.1)
        return page.run("[...document.querySelectorAll('#timeline .hoverlayer .hovertext')].map(e => e.textContent).join()")

    page.mouse("mouseMoved", 2, 2)
    page.until(lambda: not page.run("document.querySelectorAll('#timeline .hoverlayer .hovertext').length"))
    return page.until(said)


def test_a_bar_says_what_it_is(mlp):
    mlp.run("look(0, data.step)")
    collective = next(each for each in reported.mlp().collectives() if each.axes == ("model",))
    text = hover(mlp, "exposed communication").replace("\xa0", " ")
    assert "all_reduce" in text and f"{collective.file}:{collective.line}" in text
    assert "over model, a rank sends" in text and "exposed communication:" in text
    assert 'partial sums over "model" of dot_general' in text
    text = hover(mlp, "GEMM")
    assert "gemm" in text and "Gflop" in text and "read and written" in text


def test_a_pass_and_a_bubble_say_what_they_are(pipeline):
    choose(pipeline, "timeline-rows", "passes")
    assert "train_step.0F, micro-batch 0forward of stage 0" in hover(pipeline, "forward").replace("<br>", "")
    assert "waits for gradients of stage 1 for stage 0, micro-batch 0" in hover(pipeline, "bubble")


def test_rows_are_chosen(pipeline):
    def rows(value):
        choose(pipeline, "timeline-rows", value)
        return pipeline.run("[...document.querySelectorAll('#timeline .ytick text')].map(e => e.textContent.trim())")

    assert rows("passes") == ["role 0", "role 1"]
    one = rows("1")
    assert one[0].split() == ["role", "1", "passes"] and one[1:] == ["kernels", "collectives 1", "receives", "sends"]
    assert rows("all")[0].split() == ["role", "0", "passes"] and len(rows("all")) == 10
    assert "GEMM" not in {name for name, count in (rows("passes"), bars(pipeline))[1].items() if count}


def test_the_memory_of_another_role(pipeline):
    choose(pipeline, "memory-role", "1")
    arena = pipeline.run("document.querySelector('#memory .annotation-text').textContent")
    assert pipeline.run("[...document.querySelectorAll('[data-role]')].map(e => e.hidden)") == [True, False]
    choose(pipeline, "memory-role", "0")
    assert pipeline.run("document.querySelector('#memory .annotation-text').textContent") != arena
    assert pipeline.run("[...document.querySelectorAll('[data-role]')].map(e => e.hidden)") == [False, True]


def test_without_a_pipeline_there_is_nothing_to_choose(mlp):
    assert mlp.run("['timeline-rows', 'memory-role'].map(id => document.getElementById(id).parentElement.hidden)") == [True, True]


def test_a_click_on_the_legend_hides_a_class(mlp):
    mlp.run("look(0, data.step); document.getElementById('timeline').scrollIntoView()")
    mlp.settle()
    before = share(mlp.screenshot("#timeline"), TIMES["GEMM"])
    x, y, width, height = mlp.run("(r => [r.x, r.y, r.width, r.height])([...document.querySelectorAll('#timeline .legendtoggle')][0].getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        mlp.mouse(kind, x + width / 2, y + height / 2, button="left", clickCount=1)
    assert mlp.until(lambda: share(mlp.screenshot("#timeline"), TIMES["GEMM"]) < 0.1 * before)
    mlp.run("Plotly.restyle('timeline', {visible: true}, [0]); 0")


def test_figures_are_as_wide_as_the_page(folder):
    """Nothing sticks out on a small screen, and a window that becomes larger is filled."""
    def right_ends():
        return {figure: sum(page.place(f"#{figure} .main-svg")[::2]) for figure in ("times", "timeline", "memory", "bytes", "scaling")}

    with opened(folder, "narrow.html", weft.report(reported.mlp(), "dgx-h100"), width=800) as page:
        page.settle()
        assert page.run("document.documentElement.scrollWidth") <= 800
        assert all(700 < end < 800 for end in right_ends().values())
        page.resize(1300, 900)
        assert page.until(lambda: all(end > 1200 for figure, end in right_ends().items() if figure != "times"))
        assert page.run("document.documentElement.scrollWidth") <= 1300
        assert all(page.place(f"#{figure}")[3] > 100 for figure in right_ends())
        assert page.errors == []


@pytest.mark.parametrize("width", [1280, 800, 400])
def test_tables_are_within_their_cards(folder, width):
    """Of a pipeline, whose tables are wider: what has no room scrolls within its card. On a usual screen the table of
    times has all that it needs."""
    with opened(folder, f"pipeline-{width}.html", weft.report(reported.pipelined(), "dgx-h100"), width=width) as page:
        page.settle()
        assert page.run("document.documentElement.scrollWidth") <= width
        beyond = page.run("[...document.querySelectorAll('section')].filter(card => card.scrollWidth > card.clientWidth)"
                          ".map(card => card.querySelector('h2').textContent)")
        assert beyond == []
        scrolls = page.run("[...document.querySelectorAll('.whole')].map(e => e.scrollWidth > e.clientWidth)")
        assert len(scrolls) == 3 and any(scrolls) == (width == 400)


def test_a_notebook_shows_several(folder):
    """As Jupyter puts the output of cells into its page."""
    reports = [weft.report(reported.mlp(), "dgx-h100"), weft.report(reported.pipelined(), "dgx-h100")]
    cells = "".join(f"<div>{report._repr_html_()}</div>" for report in reports)
    (folder / "notebook.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><link rel=icon href='data:,'><body>{cells}</body>")
    with Page(folder / "notebook.html") as page:
        drawn = ("[...document.querySelectorAll('iframe')].map(frame => "
                 "frame.contentDocument.querySelectorAll('#timeline .point').length > 10)")
        page.until(lambda: page.run(drawn) == [True, True])
        assert page.run(drawn) == [True, True] and page.errors == []
        titles = page.run("[...document.querySelectorAll('iframe')].map(frame => frame.contentDocument.title)")
        assert titles == ["step on DGX H100", "train_step on DGX H100"]


def test_sums_of_the_file_say_so(folder, monkeypatch):
    """They are no finer when one zooms in."""
    monkeypatch.setattr(sys.modules["weft.report.timeline"], "MOST_EVENTS", 50)
    with opened(folder, "sums.html", weft.report(reported.pipelined(), "dgx-h100")) as page:
        page.run("look(data.step * 0.3, data.step * 0.35)")
        sums = page.run("document.getElementById('timeline').data.flatMap(trace => trace.hovertext || [])"
                        ".filter(text => text.includes('events</b>') && !text.includes('zoom in'))")
        assert sums and "GEMM: " in "".join(sums)
        assert page.run("data.grain") > 0 and page.errors == []


def test_names_may_be_anything(folder):
    """They are text, never markup."""
    name = "</script><b>x</b>&\"<!--"
    jitted = weft.jit(lambda tree: tree[name] @ tree[name], mesh=weft.Mesh((2,), ("x",)), in_shardings=({name: weft.P(None, "x")},))
    compiled = jitted.lower({name: weft.ShapeDtypeStruct((8, 8), "float32")}).compile(None)
    with opened(folder, "names.html", weft.report(compiled, "dgx-h100")) as page:
        assert page.errors == []
        assert name in page.run("document.querySelector('main').textContent")
        assert page.run("document.querySelectorAll('b').length") == 0
