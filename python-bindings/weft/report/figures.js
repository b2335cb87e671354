// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Figures that stay as they are, but for their width.

"use strict";

const figures = Object.entries(JSON.parse(document.getElementById("figures-data").textContent));
const widthOf = name => document.getElementById(name).clientWidth;

for (const [name, {data: traces, layout}] of figures)
  Plotly.newPlot(name, traces, {...layout, width: widthOf(name)}, {...config, displayModeBar: false});

{
  let redraw = null;
  addEventListener("resize", () => {
    clearTimeout(redraw);
    redraw = setTimeout(() => {
      timeline.draw();
      memory.draw();
      for (const [name] of figures) Plotly.relayout(name, {width: widthOf(name)});
    }, 200);
  });
}
