// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory over time of one role, at the stretch of time that the timeline shows. Of each pixel the
// point at which the most is in use.

"use strict";

const hasSlots = data.roles.some(role => role.reserved > 0);
const purposes = [...data.purposes, ...(hasSlots ? [{name: "slots not in use", colour: "#e4e7ed"}] : [])];

/** [time, bytes of each of `purposes`] whenever they change. */
function memoryOf(role) {
  const {runs, fixed, slots, reserved} = data.roles[role];
  const none = fixed.map(() => 0), changes = [];
  for (const run of runs) {
    for (const [time, ...bytes] of data.segments[run[0]].memory) changes.push([run[2] + time, "run", bytes]);
    changes.push([run[3], "run", none]);
  }
  for (const [time, ...bytes] of slots) changes.push([time, "slots", bytes]);
  changes.sort((a, b) => a[0] - b[0]);
  const now = {run: none, slots: none}, points = [];
  for (const [time, which, bytes] of [[0, "run", none], ...changes, [data.step, "run", none]]) {
    now[which] = bytes;
    const used = now.slots.reduce((a, b) => a + b, 0);
    points.push([time, ...fixed.map((size, i) => size + now.run[i] + now.slots[i]), ...(hasSlots ? [reserved - used] : [])]);
  }
  return points;
}

function sumOf(point) {
  let sum = 0;
  for (let i = 1; i < point.length; ++i) sum += point[i];
  return sum;
}

/** The highest points of stretches of the time that is looked at, and what holds before it. */
function highest(points, stretches) {
  const width = (view.end - view.begin) / stretches, best = new Map();
  let before = points[0];
  for (const point of points) {
    if (point[0] <= view.begin) before = point;
    if (point[0] < view.begin || point[0] > view.end) continue;
    const stretch = Math.floor((point[0] - view.begin) / width), other = best.get(stretch);
    if (!other || sumOf(point) > sumOf(other)) best.set(stretch, point);
  }
  const found = [[view.begin, ...before.slice(1)], ...best.values()];
  return [...found, [view.end, ...found[found.length - 1].slice(1)]];
}

const memory = {
  element: document.getElementById("memory"),
  role: 0,
  points: [],

  choose(role) {
    this.role = role;
    this.points = memoryOf(role);
    this.peak = this.points.reduce((a, b) => sumOf(b) > sumOf(a) ? b : a);
    document.querySelectorAll("[data-role]").forEach(each => { each.hidden = Number(each.dataset.role) !== role; });
    return this.draw();
  },

  draw() {
    const {arena} = data.roles[this.role];
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, arena)) / 10));
    const scale = 1024 ** power, name = units[power];
    const points = highest(this.points, Math.max(300, this.element.clientWidth - 130));
    const x = points.map(point => point[0] / unit.ns);
    const traces = purposes.map((purpose, i) => ({
      type: "scatter", mode: "lines", stackgroup: "memory", name: purpose.name, x,
      y: points.map(point => point[i + 1] / scale), line: {shape: "hv", width: 0},
      fillcolor: purpose.colour, customdata: points.map(point => bytesText(point[i + 1])), hovertemplate: "%{customdata}",
    }));
    const isPeakShown = this.peak[0] >= view.begin && this.peak[0] <= view.end;
    return Plotly.react(this.element, traces, {
      height: 380, width: this.element.clientWidth, hovermode: "x unified", dragmode: "zoom", margin: {l: 110, r: 44, t: 10, b: 50}, modebar: {orientation: "v"},
      paper_bgcolor: "#fff", plot_bgcolor: "#fafbfc", font: {family: fontFamily, size: 12, color: "#2b3240"},
      xaxis: {range: [view.begin / unit.ns, view.end / unit.ns], title: {text: `time, ${unit.name}`},
              gridcolor: "#e4e7ed", zeroline: false, unifiedhovertitle: {text: `%{x:.6~g} ${unit.name}`}},
      yaxis: {range: [0, 1.22 * arena / scale], title: {text: name}, gridcolor: "#e4e7ed", fixedrange: true},
      legend: {orientation: "h", y: 1, yanchor: "bottom", x: 0, traceorder: "normal"},
      hoverlabel: {bgcolor: "#fff", bordercolor: "#7d8594", font: {family: fontFamily, color: "#2b3240"}}, uirevision: "memory",
      shapes: [{type: "line", xref: "paper", x0: 0, x1: 1, y0: arena / scale, y1: arena / scale,
                line: {color: "#2b3240", width: 1, dash: "dash"}}],
      annotations: [
        // On the side where the peak is not.
        {xref: "paper", ...(2 * this.peak[0] > view.begin + view.end ? {x: 0, xanchor: "left"} : {x: 1, xanchor: "right"}),
         y: arena / scale, yanchor: "bottom", showarrow: false, text: `arena ${bytesText(arena)}`},
        ...(isPeakShown ? [{x: this.peak[0] / unit.ns, y: sumOf(this.peak) / scale, text: `peak ${bytesText(sumOf(this.peak))}`,
                            ax: 0, ay: -38, arrowhead: 2, arrowwidth: 1, bgcolor: "rgba(255,255,255,0.85)"}] : []),
      ],
    }, config);
  },
};

{
  const select = document.getElementById("memory-role");
  data.roles.forEach((_, role) => select.add(new Option(`role ${role}`, role)));
  const largest = Number(select.dataset.largest);
  select.value = largest;
  select.parentElement.hidden = data.roles.length === 1;
  select.onchange = () => memory.choose(Number(select.value));
  memory.choose(largest).then(() => follow(memory.element));
  view.listeners.push(() => memory.draw());
}
