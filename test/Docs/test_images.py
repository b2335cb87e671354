# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/images/fsdp-step.svg is the FSDP step of docs/Tour.md, drawn by scripts/draw-plan.py;
docs/images/report.png a page of weft.report in a browser, decisions.png what such a page of docs/Explain.md says of
collectives, notebook.png what a notebook shows, and terminal.png what commands print in a terminal of 80 columns.

`python3 test/Docs/test_images.py --update` draws them anew.
"""

import html
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from PIL import Image, PngImagePlugin
from test_docs import ROOT, binaries, environment_of

sys.path.insert(0, str(ROOT / "python-bindings" / "test"))
from browser import PROGRAM, Page  # noqa: E402

IMAGE = ROOT / "docs" / "images" / "fsdp-step.svg"
STEP = """
import functools
import numpy as np, weft
from weft import P
import mlp

state, x = mlp.init(), np.zeros((mlp.BATCH, mlp.WIDTH), "float32")
layout = weft.Layout(weft.Mesh((4,), ("data",)), rest=P("data"), compute=P())
specs = {"params": layout.parameter_specs(state["params"]),
         "optimizer": layout.optimizer_specs(state["optimizer"], state["params"])}
step = functools.partial(mlp.train_step, layer=weft.checkpoint(mlp.layer))
jitted = weft.jit(step, layout=layout, in_shardings=(specs, P("data")), donate_argnums=0)
jitted.lower(state, x).compile(None).save("fsdp.plan")
"""


PAGE = ROOT / "docs" / "images" / "report.png"
REPORT = """
import weft
step = weft.models.gpt(layers=8, hidden=4096, heads=32, vocabulary=51200, sequence=2048, tensor=4, pipeline=2, data=2,
                       global_batch=16, sequence_parallel=True)
weft.report(step.lower().compile(None, cluster="dgx-h100"), tokens=16 * 2048).save("report.html")
"""


DECISIONS = ROOT / "docs" / "images" / "decisions.png"
OF_DECISIONS = """
import sys
sys.argv = ["mlp.py", 'P(None, "model")', "transposed.plan"]
import weft
from mlp import compiled
weft.report(compiled, cluster="dgx-h100").save("report.html")
"""

NOTEBOOK = ROOT / "docs" / "images" / "notebook.png"
CELLS = ["""import weft
from weft import P
weft.visualize(P("data", "model"), (1024, 4096), weft.Mesh((2, 4), ("data", "model")))""",
         """weft.visualize(P("model"), (4096, 1024), weft.Mesh((2, 4), ("data", "model")))"""]


TERMINAL = ROOT / "docs" / "images" / "terminal.png"
# The files that the commands below ask about.
ASKED = """
import sys
sys.argv = ["mlp.py", 'P("model", None)', "mlp.plan"]
import mlp
arguments = mlp.params, mlp.array(512, 1024), mlp.array(512, 1024)
for name, jitted in (("mlp", mlp.jitted), ("plain", mlp.weft.jit(mlp.step, donate_argnums=0))):
    open(f"{name}.mlir", "w").write(jitted.lower(*arguments).as_text())
for name, w2 in (("transposed", mlp.P(None, "model")), ("whole", mlp.P())):
    specs = {"w1": mlp.specs["w1"], "w2": w2}, mlp.P("data"), mlp.P("data")
    mlp.weft.jit(mlp.step, mesh=mlp.mesh, in_shardings=specs, donate_argnums=0).lower(*arguments).compile(None).save(f"{name}.plan")
"""
COMMANDS = ["why transposed.plan 'all_gather over model'", "lint whole.plan", "lock mlp.plan -o mlp.lock",
            "check mlp.plan mlp.lock", "diff transposed.plan mlp.plan", "try mlp.mlir --mesh data=4,model=1 --mesh data=1,model=4",
            "auto plain.mlir --devices=4", "specs mlp.plan", "verify small.mlir", "report mlp.plan -o mlp.html"]


def _model(page, name="mlp.py"):
    """A file of a page."""
    return re.search(rf"<!-- file: {name} -->\n```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)[1]


def drawn():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "mlp.py").write_text(_model("Tour.md"))
        environment = environment_of(sys.executable)
        environment["PYTHONPATH"] += ":" + folder
        pathlib.Path(folder, "train.py").write_text(STEP)
        subprocess.run([sys.executable, "train.py"], cwd=folder, env=environment, check=True)
        dump = subprocess.run([binaries() / "shard-run", "--dump", "fsdp.plan"], cwd=folder, stdout=subprocess.PIPE, check=True)
    return subprocess.run([sys.executable, ROOT / "scripts" / "draw-plan.py"], input=dump.stdout, stdout=subprocess.PIPE,
                          check=True).stdout.decode()


def photographed():
    """The page down to its picture of the memory."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", REPORT], cwd=folder, env=environment_of(sys.executable), check=True)
        with Page(pathlib.Path(folder, "report.html"), width=1240) as page:
            page.settle(1)
            _, top, _, height = page.place("#memory")
            pixels = page.screenshot()[: int(top + height)]
    return _few_colours(pixels)


def of_decisions():
    """The collectives of a page with their causes."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "mlp.py").write_text(_model("Explain.md"))
        subprocess.run([sys.executable, "-c", OF_DECISIONS], cwd=folder, env=environment_of(sys.executable), check=True)
        with Page(pathlib.Path(folder, "report.html"), width=1100) as page:
            page.settle(1)
            return _few_colours(page.screenshot("section:has(#bytes)"))


def of_notebook():
    """Cells and what they show, as a notebook puts them on its page."""
    names = {}
    shown = []
    for number, cell in enumerate(CELLS, 1):
        *lines, last = cell.split("\n")
        exec("\n".join(lines), names)
        shown.append(f"<code>[{number}]</code><pre>{html.escape(cell)}</pre><span></span>{eval(last, names)._repr_html_()}")
    style = ("body{margin:0;padding:14px;width:780px;display:grid;grid-template-columns:40px 1fr;gap:10px 0}"
             "pre{background:#e6ecf2;padding:8px;margin:0}code{color:#666;padding-top:8px}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "notebook.html")
        path.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style><body>{''.join(shown)}")
        with Page(path, width=820) as page:
            page.settle(1)
            return _few_colours(page.screenshot())


def printed():
    """Each command of `weft` with what it prints."""
    environment = environment_of(sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "mlp.py").write_text(_model("Explain.md"))
        for name, script in (("asked.py", ASKED), ("small.py", _model("Explain.md", "small.py"))):
            pathlib.Path(folder, name).write_text(script.lstrip())
            subprocess.run([sys.executable, name], cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
        return [(command, subprocess.run(f"{sys.executable} -m weft {command}", shell=True, cwd=folder, env=environment, check=True,
                                         stdout=subprocess.PIPE, text=True).stdout) for command in COMMANDS]


def of_terminal():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "terminal.html")
        style = "body{margin:0;background:#fff}pre{width:80ch;white-space:pre-wrap;padding:14px;margin:0;font:13px monospace}"
        shown = "\n".join(f"<b>$ weft {html.escape(command)}</b>\n{html.escape(text)}" for command, text in printed())
        path.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style><pre>{shown}")
        with Page(path, width=700) as page:
            return _few_colours(page.screenshot("pre"))


def _few_colours(pixels):
    return Image.fromarray(pixels).quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


PHOTOGRAPHS = {PAGE: photographed, DECISIONS: of_decisions, NOTEBOOK: of_notebook}


def test_the_picture_is_that_of_the_plan():
    assert drawn() == IMAGE.read_text(), "update it: python3 test/Docs/test_images.py --update"


def test_the_terminal_has_what_commands_print():
    """The picture has its text with it."""
    found = printed()
    assert max(len(line) for _, text in found for line in text.splitlines()) <= 80
    assert repr(found) == Image.open(TERMINAL).text["printed"], "update it: python3 test/Docs/test_images.py --update"


@pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium; scripts/setup.sh installs it")
@pytest.mark.parametrize("picture", PHOTOGRAPHS, ids=lambda picture: picture.stem)
def test_the_picture_is_that_of_the_page(picture):
    """But for the edges of letters, which other fonts and browsers draw otherwise."""
    new, old = (image.convert("L").resize((62, 80), Image.Resampling.BOX)
                for image in (PHOTOGRAPHS[picture](), Image.open(picture)))
    difference = np.abs(np.asarray(new, int) - np.asarray(old, int))
    assert difference.mean() < 4, "update it: python3 test/Docs/test_images.py --update"


if __name__ == "__main__" and sys.argv[1:] == ["--update"]:
    IMAGE.write_text(drawn())
    for picture, photograph in PHOTOGRAPHS.items():
        photograph().save(picture, optimize=True)
    text = PngImagePlugin.PngInfo()
    text.add_text("printed", repr(printed()), zip=True)
    of_terminal().save(TERMINAL, optimize=True, pnginfo=text)
