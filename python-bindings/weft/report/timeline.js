// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The timeline: a row for each queue of each role. Drawn anew for each stretch of time that is
// looked at; what would be narrower than two pixels is drawn together.

"use strict";

const data = JSON.parse(document.getElementById("timeline-data").textContent);
const classOf = Object.fromEntries(data.classes.map((each, number) => [each.name, number]));
const unit = data.step >= 1e9 ? {name: "s", ns: 1e9} : data.step >= 1e6 ? {name: "ms", ns: 1e6} : {name: "µs", ns: 1e3};
/** What is looked at, in nanoseconds, and what wants to know of it. */
const view = {begin: 0, end: data.step, listeners: []};

function timeText(ns) {
  if (ns >= 1e9) return (ns / 1e9).toFixed(3) + " s";
  return ns >= 1e6 ? (ns / 1e6).toFixed(3) + " ms" : (ns / 1e3).toFixed(2) + " µs";
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; bytes >= 1024 && i + 1 < units.length; ++i) bytes /= 1024;
  return (i === 0 ? bytes : bytes.toPrecision(3)) + " " + units[i];
}

function escapeText(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/** Lines of at most 90 characters, the first 12 of them. */
function wrap(text) {
  const lines = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(" ")) {
      if (line && line.length + word.length > 90) {
        lines.push(line);
        line = "  ";
      }
      line += (line.trim() ? " " : "") + word;
    }
    lines.push(line);
  }
  const rest = lines.length - 12;
  return lines.slice(0, 12).map(escapeText).join("<br>") + (rest > 0 ? `<br>… ${rest} more lines` : "");
}

/** The first of what is in order of time that ends after `time`. */
function firstAfter(list, time, end) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle][end] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Collects the bars of a row. */
class Row {
  constructor(bars, y, height, shortest) {
    Object.assign(this, {bars, y, height, shortest, pending: null});
  }

  /** `times` by class; `hover` and `text` are made for what is drawn on its own. */
  add(begin, end, times, count, hover, text) {
    begin = Math.max(begin, view.begin - (view.end - view.begin));
    end = Math.min(end, view.end + (view.end - view.begin));
    const bar = {begin, end, times, count, hover, text};
    if (end - begin >= this.shortest) {
      this.flush();
      this.draw(bar);
    } else if (this.pending && begin - this.pending.end <= this.shortest &&
               end - this.pending.begin <= 2 * this.shortest) {
      this.pending.end = end;
      this.pending.count += count;
      this.pending.times = this.pending.times.concat(times);
      this.pending.hover = null;
    } else {
      this.flush();
      this.pending = bar;
    }
  }

  flush() {
    if (this.pending) this.draw(this.pending);
    this.pending = null;
  }

  draw(bar) {
    const sums = summedUp(bar.times), into = this.bars[sums[0][0]];
    into.base.push(bar.begin / unit.ns);
    into.x.push((bar.end - bar.begin) / unit.ns);
    into.y.push(this.y);
    into.width.push(this.height);
    into.text.push(bar.hover && bar.text && bar.end - bar.begin > 5 * this.shortest ? bar.text : "");
    into.hovertext.push(bar.hover ? bar.hover() : describeSum(bar) + "<br><i>zoom in to see each</i>");
  }
}

/** [class, time] of each class, that with the most time first. */
function summedUp(times) {
  const sums = new Map();
  for (const [number, time] of times) sums.set(number, (sums.get(number) || 0) + time);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function describeSum({begin, end, times, count}) {
  return `<b>${count} events</b>, ${timeText(begin)} to ${timeText(end)}<br>` +
    summedUp(times).map(([number, time]) => `${data.classes[number].name}: ${timeText(time)}`).join("<br>");
}

function describe(instruction, number, begin, end, whole) {
  const each = data.instructions[instruction];
  const lines = [`<b>${escapeText(each.name)}</b>` + (each.location ? `, ${escapeText(each.location)}` : "") +
                   (each.recomputes ? ", recomputed" : ""),
                 `${data.classes[number].name}: ${timeText(end - begin)}, from ${timeText(begin)} to ${timeText(end)}`];
  if (whole) lines.push(`part of ${timeText(whole[1] - whole[0])}`);
  if (each.axes !== undefined) lines.push(`over ${escapeText(each.axes)}, a rank sends ${bytesText(each.bytes || 0)}`);
  else {
    const work = [each.flops ? `${(each.flops / 1e9).toPrecision(3)} Gflop` : "",
                  each.bytes ? `${bytesText(each.bytes)} read and written` : ""].filter(Boolean);
    if (work.length) lines.push(work.join(", "));
  }
  if (each.cause && each.axes !== undefined) lines.push(wrap(each.cause));
  return lines.join("<br>");
}

function visitRuns(role, begin, end, visit) {
  const runs = data.roles[role].runs;
  for (let i = firstAfter(runs, begin, 3); i < runs.length && runs[i][2] < end; ++i) visit(runs[i]);
}

function addStream(row, role, stream, begin, end) {
  visitRuns(role, begin, end, run => {
    const events = data.segments[run[0]].streams[stream] || [];
    const base = run[2];
    for (let i = firstAfter(events, begin - base, 1); i < events.length && events[i][0] + base < end; ++i) {
      const [from, to, what, which, ...whole] = events[i];
      if (Array.isArray(what))  // the file has no more of them than their sum
        row.add(from + base, to + base, what, which,
                () => describeSum({begin: from + base, end: to + base, times: what, count: which}));
      else
        row.add(from + base, to + base, [[what, to - from]], 1,
                () => describe(which, what, from + base, to + base, whole.length ? whole : null));
    }
  });
}

/** The time by class of a run. */
function timesOf(segment) {
  segment.times ??= summedUp((segment.streams[0] || []).flatMap(
    ([begin, end, what]) => Array.isArray(what) ? what : [[what, end - begin]]));
  return segment.times;
}

function addPasses(row, role, begin, end) {
  const {runs, waits} = data.roles[role];
  const marks = [];
  visitRuns(role, begin, end, run => {
    const segment = data.segments[run[0]];
    const number = segment.pass === undefined ? classOf["once a step"] : segment.pass;
    const isOnce = number === classOf["once a step"];
    marks.push([run[2], run[3], number, () =>
      `<b>${escapeText(segment.name)}</b>` + (isOnce ? "" : `, micro-batch ${run[1]}`) +
      `<br>${data.classes[number].name}` + (segment.stage === undefined ? "" : ` of stage ${segment.stage}`) +
      `: ${timeText(run[3] - run[2])}, from ${timeText(run[2])} to ${timeText(run[3])}<br>` +
      timesOf(segment).map(([which, time]) => `${data.classes[which].name} ${timeText(time)}`).join("<br>"),
      isOnce ? "" : String(run[1])]);
  });
  for (let i = firstAfter(waits, begin, 4); i < waits.length && waits[i][2] < end; ++i) {
    const [message, microbatch, first, from, last] = waits[i];
    const what = () => `waits for ${escapeText(data.messages[message].label)}, micro-batch ${microbatch}`;
    if (from > first)
      marks.push([first, from, classOf.bubble, () => `<b>bubble</b> of ${timeText(from - first)}<br>${what()}`]);
    if (last > from)
      marks.push([from, last, classOf["exposed communication"],
                  () => `<b>exposed communication</b> of ${timeText(last - from)}<br>${what()}`]);
  }
  const done = Math.max(runs.length ? runs[runs.length - 1][3] : 0, waits.length ? waits[waits.length - 1][4] : 0);
  if (done < data.step && done < end)
    marks.push([done, data.step, classOf.bubble, () => `<b>bubble</b> of ${timeText(data.step - done)}<br>other roles are not done`]);
  marks.sort((a, b) => a[0] - b[0]);
  for (const [first, last, number, hover, text] of marks)
    row.add(first, last, [[number, last - first]], 1, hover, text);
}

/** What a role receives or sends; exposed as far as it waits for it. */
function addMessages(row, role, side, begin, end) {
  const waits = new Map(data.roles[role].waits.map(wait => [`${wait[0]} ${wait[1]}`, wait]));
  const transfers = data.transfers.filter(each => data.messages[each[0]][side] === role && each[3] > begin && each[2] < end);
  for (const [message, microbatch, from, to] of transfers.sort((a, b) => a[2] - b[2])) {
    const wait = waits.get(`${message} ${microbatch}`);
    const exposed = wait && wait[4] === to ? Math.max(from, Math.min(to, wait[3])) : to;
    const {label, source, destination, bytes, location} = data.messages[message];
    const parts = [[from, exposed, classOf["hidden communication"]], [exposed, to, classOf["exposed communication"]]];
    for (const [first, last, number] of parts)
      if (last > first)
        row.add(first, last, [[number, last - first]], 1, () =>
          `<b>${escapeText(label)}</b>, micro-batch ${microbatch}` + (location ? `, ${escapeText(location)}` : "") +
          `<br>${data.classes[number].name}: ${timeText(last - first)}, from ${timeText(first)} to ${timeText(last)}` +
          `<br>role ${source} sends ${bytesText(bytes)} to role ${destination}`);
  }
}

const isPipeline = data.roles.length > 1 || data.messages.length > 0;

/** How many queues of collectives a role has. */
function queuesOf(role) {
  const streams = new Set(data.roles[role].runs.flatMap(run => Object.keys(data.segments[run[0]].streams)));
  return Math.max(0, ...[...streams].map(Number));
}

/** The rows that are shown: "passes", "all", or the number of a role. */
function rowsOf(shown) {
  const rows = [];
  data.roles.forEach((_, role) => {
    if (typeof shown === "number" && shown !== role) return;
    const add = (name, height, fill) => rows.push({role, name, height, fill});
    if (isPipeline) add("passes", 0.86, (row, begin, end) => addPasses(row, role, begin, end));
    if (isPipeline && shown === "passes") return;
    add("kernels", 0.8, (row, begin, end) => addStream(row, role, 0, begin, end));
    for (let queue = 1; queue <= queuesOf(role); ++queue)
      add(`collectives ${queue}`, 0.62, (row, begin, end) => addStream(row, role, queue, begin, end));
    if (isPipeline) {
      add("receives", 0.62, (row, begin, end) => addMessages(row, role, "destination", begin, end));
      add("sends", 0.62, (row, begin, end) => addMessages(row, role, "source", begin, end));
    }
  });
  return rows;
}

function barsOf(rows, pixels) {
  const bars = data.classes.map(() => ({base: [], x: [], y: [], width: [], text: [], hovertext: []}));
  const width = view.end - view.begin;
  rows.forEach((each, y) => {
    // Where there are many rows, fewer bars in each.
    const row = new Row(bars, y, each.height, width / pixels * Math.max(2, rows.length / 12));
    each.fill(row, view.begin - width / 4, view.end + width / 4);
    row.flush();
  });
  return bars;
}

function layoutOf(rows) {
  const shapes = [];
  rows.forEach((row, y) => {
    if (y && row.role !== rows[y - 1].role)
      shapes.push({type: "line", xref: "paper", x0: 0, x1: 1, y0: y - 0.5, y1: y - 0.5,
                   line: {color: "#c3c8d2", width: 1}});
  });
  const height = rows.length > 40 ? 14 : rows.length > 16 ? 20 : 26;
  return {
    barmode: "overlay", bargap: 0, height: Math.max(240, rows.length * height + 130), dragmode: "zoom", hovermode: "closest",
    margin: {l: 110, r: 44, t: 10, b: 50}, modebar: {orientation: "v"}, paper_bgcolor: "#fff", plot_bgcolor: "#fafbfc",
    font: {family: fontFamily, size: 12, color: "#2b3240"},
    xaxis: {range: [view.begin / unit.ns, view.end / unit.ns], title: {text: `time, ${unit.name}`},
            gridcolor: "#e4e7ed", zeroline: false, showspikes: true, spikemode: "across", spikethickness: 1,
            spikecolor: "#7d8594", spikedash: "dot"},
    yaxis: {range: [rows.length - 0.5, -0.5], fixedrange: true, tickvals: rows.map((_, y) => y), showgrid: false,
            zeroline: false, tickfont: {size: rows.length > 40 ? 9 : 11},
            ticktext: rows.map((row, y) => isPipeline && (!y || row.role !== rows[y - 1].role)
              ? `<b>role ${row.role}</b>` + (rows.some(each => each.name !== row.name) ? `  ${row.name}` : "") : row.name)},
    legend: {orientation: "h", y: 1, yanchor: "bottom", x: 0, traceorder: "normal"},
    hoverlabel: {align: "left", bgcolor: "#fff", bordercolor: "#7d8594", font: {family: fontFamily, color: "#2b3240", size: 12}},
    uniformtext: {minsize: 8, mode: "hide"}, uirevision: "timeline", shapes,
  };
}

/** Which classes are anywhere in the step, for the legend. */
function usedClasses(shown) {
  const used = new Set();
  const add = number => used.add(number);
  for (const role of data.roles) {
    if (role.waits.some(wait => wait[3] > wait[2])) add(classOf.bubble);
    if (role.waits.some(wait => wait[4] > wait[3])) add(classOf["exposed communication"]);
  }
  if (data.transfers.length && shown !== "passes") add(classOf["hidden communication"]);
  for (const segment of data.segments) {
    if (isPipeline) add(segment.pass === undefined ? classOf["once a step"] : segment.pass);
    if (!isPipeline || shown !== "passes")
      for (const events of Object.values(segment.streams))
        for (const event of events) {
          if (Array.isArray(event[2])) event[2].forEach(([number]) => add(number));
          else add(event[2]);
        }
  }
  return used;
}

const fontFamily = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif";
const config = {displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"]};

const timeline = {
  element: document.getElementById("timeline"),
  shown: "passes",

  draw() {
    const rows = rowsOf(this.shown);
    const pixels = Math.max(300, this.element.clientWidth - 130);
    const bars = barsOf(rows, pixels), used = usedClasses(this.shown);
    const layout = {...layoutOf(rows), width: this.element.clientWidth};
    const traces = data.classes.map(({name, colour}, number) => ({
      type: "bar", orientation: "h", name, showlegend: used.has(number), visible: used.has(number),
      marker: {color: colour, line: {width: 0}}, hoverinfo: "text", textposition: "inside",
      insidetextanchor: "middle", textangle: 0, insidetextfont: {size: 10, color: "#2b3240"}, ...bars[number],
      ...(bars[number].x.length ? {} : {x: [null], y: [null], base: [null], width: [0.5]}),
    }));
    return Plotly.react(this.element, traces, layout, config);
  },
};

/** Looks at another stretch of time. */
function look(begin, end) {
  if (begin === view.begin && end === view.end) return;
  Object.assign(view, {begin, end});
  for (const listener of view.listeners) listener();
}

/** Follows the zoom of a figure. */
function follow(element) {
  element.on("plotly_relayout", change => {
    if (change["xaxis.autorange"]) look(0, data.step);
    else if (change["xaxis.range[0]"] !== undefined)
      look(change["xaxis.range[0]"] * unit.ns, change["xaxis.range[1]"] * unit.ns);
  });
}

{
  const select = document.getElementById("timeline-rows");
  const all = isPipeline ? data.roles.reduce((sum, _, role) => sum + 4 + queuesOf(role), 0) : 1;
  if (isPipeline) {
    const options = [["passes", "passes of all roles"]];
    if (all <= 100) options.push(["all", "all queues of all roles"]);
    data.roles.forEach((_, role) => options.push([String(role), `all queues of role ${role}`]));
    for (const [value, text] of options) select.add(new Option(text, value));
    timeline.shown = all <= 24 ? "all" : "passes";
    select.value = timeline.shown;
    select.onchange = () => {
      timeline.shown = /^\d+$/.test(select.value) ? Number(select.value) : select.value;
      timeline.draw();
    };
  } else {
    timeline.shown = 0;
    select.parentElement.hidden = true;
  }
  timeline.draw().then(() => follow(timeline.element));
  view.listeners.push(() => timeline.draw());
}
