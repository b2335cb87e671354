// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Figures that stay as they are.

"use strict";

for (const [name, figure] of Object.entries(JSON.parse(document.getElementById("figures-data").textContent)))
  Plotly.newPlot(name, figure.data, figure.layout, {...config, displayModeBar: false});
