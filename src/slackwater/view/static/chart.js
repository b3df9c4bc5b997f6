// One chart with its legend and its table; it draws only when it is on the screen.
import { clock } from "./format.js";
import { make, table, makeRow, fillRow } from "./dom.js";

const HEIGHT = 170, TABLE_ROWS = 60;
const charts = new Set();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    entry.target.chart.visible = entry.isIntersecting;
    if (entry.isIntersecting) entry.target.chart.paint();
  }
}, { rootMargin: "200px" });

const sizer = new ResizeObserver((entries) => {
  for (const entry of entries) entry.target.chart.resize(Math.floor(entry.contentRect.width));
});

export function repaintAll() {
  for (const chart of charts) chart.restyle();
}

// kinds: [{label, colour, dashed, dots}], shown: how a value is written
export class Chart {
  constructor(title, kinds, shown) {
    this.title = title;
    this.kinds = kinds;
    this.shown = shown;
    this.data = null;
    this.plot = null;
    this.width = 0; // as the observer says it: to ask the element would make the browser lay out the page
    this.visible = false;
    this.dirty = false;
    this.host = make("div", "plot");
    this.host.setAttribute("role", "img");
    this.host.chart = this;
    const legend = make("ul", "legend");
    for (const kind of kinds) {
      legend.append(make("li", `c-${kind.colour}`, make("span", `key${kind.dots ? " dot" : kind.dashed ? " dashed" : ""}`), kind.label));
    }
    this.details = make("details", "", make("summary", "", `${title} as a table`));
    this.details.addEventListener("toggle", () => this.fillTable());
    this.element = make("figure", "chart", make("h4", "", title), this.host, legend, this.details);
    watcher.observe(this.host);
    sizer.observe(this.host);
    charts.add(this);
  }

  set(data) {
    this.data = data;
    this.dirty = true;
    if (this.visible || !this.plot) this.paint();
    if (this.details.open) this.fillTable();
  }

  paint() {
    if (!this.dirty || !this.data || !this.width) return;
    this.dirty = false;
    if (this.plot) this.plot.setData(this.data);
    else this.build();
    this.host.setAttribute("aria-label", this.words());
  }

  restyle() {
    if (!this.plot) return;
    this.plot.destroy();
    this.plot = null;
    this.dirty = true;
    this.paint();
  }

  resize(width) {
    if (!width || width === this.width) return;
    this.width = width;
    if (this.plot) this.plot.setSize({ width, height: HEIGHT });
    else this.paint();
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
      scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.08 : 1] } },
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
    return `${this.title}, at the end: ${last.join(", ")}`;
  }

  fillTable() {
    if (!this.details.open || !this.data) return;
    if (!this.body) {
      const kinds = this.kinds.map((kind) => [kind.label, "n"]);
      const { box, body } = table(`${this.title}, newest first`, [["Time", ""], ...kinds]);
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
