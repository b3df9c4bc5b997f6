// One chart with its legend and its table; it draws only when it is on the screen.
import { clock } from "./format.js";
import { make, table, makeRow, fillRow } from "./dom.js";
import { Part } from "./part.js";

const HEIGHT = 170, TABLE_ROWS = 60, ALONE = 30;
const charts = new Set();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Charts that wait to be drawn, one in a step: many may ask at once, as when they are laid out.
class Drawing extends Part {
  constructor() {
    super();
    this.wake = () => {};
  }

  ask(chart) {
    this.add([chart]);
    this.wake();
  }

  * work() {
    for (const chart of this.taken()) {
      chart.paint();
      yield;
    }
  }
}

export const drawing = new Drawing();

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    entry.target.chart.visible = entry.isIntersecting;
    if (entry.isIntersecting) drawing.ask(entry.target.chart);
  }
}, { rootMargin: "200px" });

const sizer = new ResizeObserver((entries) => {
  for (const entry of entries) entry.target.chart.resize(Math.floor(entry.contentRect.width));
});

export function repaintAll() {
  for (const chart of charts) {
    chart.stale = true;
    chart.dirty = true;
    drawing.ask(chart);
  }
}

// kinds: [{label, colour, dashed, dots}], shown: how a value is written, of: what it is about, for those who hear it
export class Chart {
  constructor(title, kinds, shown, of) {
    this.title = title;
    this.of = of;
    this.kinds = kinds;
    this.shown = shown;
    this.data = null;
    this.plot = null;
    this.width = 0; // as the observer says it: to ask the element would make the browser lay out the page
    this.visible = false;
    this.dirty = false;
    this.stale = false; // its colours are those of the other theme
    this.host = make("div", "plot");
    this.host.setAttribute("role", "img");
    this.host.chart = this;
    const legend = make("ul", "legend");
    for (const kind of kinds) {
      legend.append(make("li", `c-${kind.colour}`, make("span", `key${kind.dots ? " dot" : kind.dashed ? " dashed" : ""}`), kind.label));
    }
    this.details = make("details", "", make("summary", "", `${title} as a table`));
    this.details.firstChild.setAttribute("aria-label", `${title} as a table, of ${of}`);
    this.details.addEventListener("toggle", () => this.fillTable());
    this.element = make("figure", "chart", make("h4", "", title), this.host, legend, this.details);
    watcher.observe(this.host);
    sizer.observe(this.host);
    charts.add(this);
  }

  set(data) {
    this.data = data;
    this.dirty = true;
    if (this.visible || !this.plot) drawing.ask(this);
    if (this.details.open) this.fillTable();
  }

  paint() {
    if (!this.dirty || !this.data || !this.width) return;
    this.dirty = false;
    if (this.stale && this.plot) {
      this.plot.destroy();
      this.plot = null;
    }
    this.stale = false;
    // in a batch it draws now and not in a microtask: the step that asked for it is the one that pays
    if (this.plot) this.plot.batch(() => this.plot.setData(this.data));
    else this.build();
    this.host.setAttribute("aria-label", this.words());
  }

  // A run that is over: nothing of its charts is kept.
  destroy() {
    charts.delete(this);
    watcher.unobserve(this.host);
    sizer.unobserve(this.host);
    this.data = null;
    if (this.plot) this.plot.destroy();
  }

  resize(width) {
    if (!width || width === this.width) return;
    this.width = width;
    if (this.plot) this.plot.setSize({ width, height: HEIGHT });
    else drawing.ask(this);
  }

  build() {
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 } };
    const series = this.kinds.map((kind) => ({
      label: kind.label, stroke: colour(kind.colour), width: kind.dots ? 0 : 1.5,
      dash: kind.dashed ? [6, 4] : undefined, spanGaps: !kind.dots, paths: kind.dots ? () => null : undefined,
      points: kind.dots ? { show: true, size: 5, fill: colour(kind.colour), stroke: colour(kind.colour) } : { show: (plot) => plot.data[0].length < 3 },
    }));
    this.plot = new uPlot({
      width: this.width, height: HEIGHT, legend: { show: false }, cursor: { drag: { x: false, y: false } },
      tzDate: (time) => uPlot.tzDate(new Date(time * 1e3), "Etc/UTC"),
      // one point alone has no range of its own: a minute around it
      scales: { x: { range: (_, low, high) => low === high ? [low - ALONE, high + ALONE] : [low, high] },
        y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.08 : 1] } },
      axes: [{ ...axis, size: 34, space: 74, values: (_, ticks) => ticks.map((t) => clock(t)) },
        { ...axis, size: 62, space: 34, values: (_, ticks) => ticks.map((v) => this.shown(v)) }],
      series: [{}, ...series],
    }, this.data, this.host);
  }

  words() {
    const last = this.kinds.map((kind, at) => {
      const column = this.data[at + 1];
      return `${kind.label} ${this.shown(column[column.length - 1])}`;
    });
    return `${this.title} of ${this.of}, at the end: ${last.join(", ")}`;
  }

  fillTable() {
    if (!this.details.open || !this.data) return;
    if (!this.body) {
      const kinds = this.kinds.map((kind) => [kind.label, "n"]);
      const { box, body } = table(`${this.title} of ${this.of}, newest first`, [["Time", ""], ...kinds]);
      this.body = body;
      this.details.append(box);
    }
    const [times, ...columns] = this.data;
    const most = Math.min(times.length, TABLE_ROWS);
    while (this.body.children.length < most) this.body.append(makeRow(["", ...this.kinds.map(() => "n")]));
    while (this.body.children.length > most) this.body.lastChild.remove();
    for (let at = 0; at < most; at += 1) {
      const from = times.length - 1 - at;
      fillRow(this.body.children[at], [clock(times[from]), ...columns.map((c) => this.shown(c[from]))]);
    }
  }
}
